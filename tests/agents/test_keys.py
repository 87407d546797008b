"""Keys are used once, and pools of past selves hold copies."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, PyTree

from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.game import Environment, GameSpec, PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.play.matchmaking import PastSelves, SelfPlay
from comity.training import loop
from comity.training.experiment import make_experiment
from tests.agents.shaped import quick_jit


class WitnessState(NamedTuple):
    """How often it learned, and the keys that it saw being used, [iteration, ...]."""

    learnings: Array
    acted: Array
    stepped: Array
    learned: Array


class WitnessGame(Environment):
    """Its state holds the key of the last step, or of the start."""

    horizon: int | None = 3
    family = "probe"
    symmetric = True

    @property
    def seats(self) -> PerSeat[Seat]:
        return tuple(Seat(name, Discrete(2), Discrete(2)) for name in "ab")

    def reset(self, key: Array) -> tuple[PyTree, PerSeat[PyTree]]:
        return (jax.random.key_data(key), jnp.int32(0)), (jnp.int32(0),) * 2

    def step(self, key: Array, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        time = state[1] + 1
        no, yes = jnp.bool_(False), jnp.bool_(True)
        step = TimeStep((jnp.int32(0),) * 2, (jnp.float32(0.0),) * 2, no, time >= 3, (yes, yes))
        return (jax.random.key_data(key), time), step


class Witness(Agent):
    """Writes down all keys; its parameters say how often it has learned."""

    iterations: int = 4

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        pass

    def init(self, key: Array, spec: GameSpec, seats: tuple[int, ...]) -> WitnessState:
        shape = (self.iterations, 5, 2, 4, 2)
        zeros = jnp.zeros(shape, jnp.uint32)
        return WitnessState(jnp.int32(0), zeros, zeros[:, :, 0], jnp.zeros((self.iterations, 2), jnp.uint32))

    def policy(self, state: WitnessState) -> PyTree:
        return state.learnings

    def initial_carry(self, params: PyTree) -> PyTree:
        return ()

    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Array) -> Act:
        return Act(jnp.int32(0), carry, jax.random.key_data(key))

    def update(
        self, state: WitnessState, batch: TeamBatch, context: Context, key: Array
    ) -> tuple[WitnessState, Metrics]:
        joint, now = batch.joint, state.learnings
        return WitnessState(
            now + 1,
            state.acted.at[now].set(jnp.stack(joint.extras, axis=1)),
            state.stepped.at[now].set(joint.state[0]),
            state.learned.at[now].set(jax.random.key_data(key)),
        ), {"count": now.astype(jnp.float32)}


@pytest.mark.parametrize("matchmaker", [SelfPlay(), PastSelves(capacity=8, every=1, groups=2)])
def test_keys_are_never_reused_and_buffers_hold_copies(matchmaker: Any) -> None:
    experiment = make_experiment(
        WitnessGame(), Witness(), matchmaker=matchmaker, iterations=4, batch=4, unroll=5
    )
    state = quick_jit(lambda: loop.start(experiment))()
    state, _ = quick_jit(lambda s: loop.advance(experiment, s, 4))(state)
    seen = state.learners[0]
    assert int(seen.learnings) == 4
    # Every iteration, step, seat and game acts with a key of its own, and so do games and updates. A game's
    # key is seen in its state; the last state of a rollout is the first of the next.
    acted, learned = np.asarray(seen.acted).reshape(-1, 2), np.asarray(seen.learned)
    stepped = np.asarray(seen.stepped)
    for keys in (acted, learned, np.concatenate([stepped[:1, :1], stepped[:, 1:]], axis=None).reshape(-1, 2)):
        assert len(np.unique(keys, axis=0)) == len(keys)
    assert len(np.unique(np.concatenate([acted, learned]), axis=0)) == len(acted) + len(learned)
    if isinstance(matchmaker, PastSelves):
        # The start and the parameters after each iteration, not five times the present ones.
        assert np.asarray(state.pool.past[0]).tolist() == [0, 1, 2, 3, 4, 0, 0, 0]
