"""Small batches and networks with known answers for actors that follow critics of actions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.agent import Agent, Context
from comity.core.batch import TeamBatch, Trajectory, team_batch
from comity.core.game import GameSpec, Seat, TimeStep
from comity.core.spaces import Box, Discrete, Space
from comity.nets.network import Network
from comity.nets.torso import Torso, TorsoCarry


class Quadratic(Network):
    """The features x and all products of two of its numbers: linear-quadratic games have such values."""

    def check(self, observation: Space) -> None:
        pass

    def build(self, observation: Space, key: Key) -> "QuadraticTorso":
        return QuadraticTorso(observation)


class QuadraticTorso(Torso):
    observation: Space = eqx.field(static=True)

    @property
    def features(self) -> int:
        count = spaces.flat_size(self.observation)
        return count + count * (count + 1) // 2

    def initial_carry(self) -> TorsoCarry:
        return TorsoCarry()

    def update_statistics(self, obs: PyTree, weight: Float[Array, "time *batch"]) -> "Torso":
        return self

    def step_rows(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Array]:
        x = spaces.encode(self.observation, obs)
        count = x.shape[-1]
        products = [x[..., i] * x[..., j] for i in range(count) for j in range(i, count)]
        return carry, jnp.concatenate([x, jnp.stack(products, axis=-1)], axis=-1)

    def unroll_rows(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time row"], forward: bool
    ) -> tuple[Array, TorsoCarry]:
        return self.step_rows(carry, obs)[1], carry


def spec_for(observation: Space, *actions: Space) -> GameSpec:
    """A game whose seats see alike, each with its own actions."""
    seats = tuple(Seat(f"player-{i}", observation, action) for i, action in enumerate(actions))
    return GameSpec(seats, None, None, "test", False)


def steps_for(
    seats: tuple[int, ...],
    obs: tuple[Any, ...],
    action: tuple[Any, ...],
    reward: tuple[Any, ...],
    next_obs: tuple[Any, ...],
    terminated: Any,
    truncated: Any = None,
) -> TeamBatch:
    """Single steps [1, step] of all seats, as the team in `seats` learns from them."""

    def timed(x: Any) -> Array:
        return jnp.asarray(x)[None]

    over = timed(terminated).astype(jnp.bool_)
    cut = jnp.zeros_like(over) if truncated is None else timed(truncated).astype(jnp.bool_)
    alive = (jnp.ones_like(over),) * len(obs)
    step = TimeStep(tuple(map(timed, next_obs)), tuple(map(timed, reward)), over, cut, alive)
    nothing = ((),) * len(obs)
    joint = Trajectory(
        tuple(map(timed, obs)), alive, tuple(map(timed, action)), nothing, nothing, step, nothing, (), (),
        jnp.zeros(over.shape[1], jnp.int32),
    )  # fmt: skip
    return team_batch(joint, seats)


def bandit(action: Space, actions: Any, reward: Any) -> TeamBatch:
    """One seat, one place, one step that ends."""
    count = len(actions)
    nowhere = jnp.zeros(count, jnp.int32)
    ends = jnp.ones(count, jnp.bool_)
    return steps_for((0,), (nowhere,), (actions,), (jnp.asarray(reward, jnp.float32),), (nowhere,), ends)


ONE_PLACE = Discrete(1)
REAL = Box((1,))


def learn(agent: Agent, spec: GameSpec, batch: TeamBatch, updates: int, seed: int = 0) -> Any:
    """The state after so many updates on one and the same batch."""
    state = agent.init(jax.random.key(seed), spec, batch.seats)

    @eqx.filter_jit
    def run(state: Any, keys: Any) -> Any:
        def step(state: Any, key: Any) -> tuple[Any, None]:
            return agent.update(state, batch, Context(jnp.float32(0.0)), key)[0], None

        return jax.lax.scan(step, state, keys)[0]

    return run(state, jax.random.split(jax.random.key(seed + 1), updates))
