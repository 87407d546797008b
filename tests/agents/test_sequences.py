"""Sequences from a replay: they end with their episode, burn-in takes no gradient, runs go on bit by bit."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from comity.agents.off_policy.dqn import DQN
from comity.agents.off_policy.vdn import VDN
from comity.core.agent import Context
from comity.core.batch import TeamBatch
from comity.core.game import GameSpec, Seat
from comity.core.spaces import Box, Discrete
from comity.learn.replay import UniformReplay
from comity.learn.sequences import after_burn_in
from comity.nets.gru import GRU
from comity.play.specs import make_agent, make_game
from comity.training.experiment import make_experiment
from comity.training.folder import RunFolder
from comity.training.loop import RunState, advance, start
from tests.learn.test_replay import GAMES, LENGTH, rollout

SEEN = (Box((), -jnp.inf, jnp.inf), Box((2,)))
SPEC = GameSpec((Seat("player", SEEN, Discrete(7)),) * 6, None, None, "test", True)
NOW = Context(jnp.float32(0.0))


def small_numbers(batch: TeamBatch) -> TeamBatch:
    """The batch with observations and rewards of a size that networks like."""
    obs, next_obs = (
        jax.tree.map(lambda x: jnp.sin(x.astype(jnp.float32)), x) for x in (batch.obs, batch.next_obs)
    )
    return batch.replace(obs=obs, next_obs=next_obs, reward=jnp.cos(batch.reward))


def sampled(memory: UniformReplay, rollouts: int = 4) -> TeamBatch:
    state = memory.init(jax.eval_shape(lambda: rollout(0)))
    for number in range(rollouts):
        state = memory.add(state, rollout(number * LENGTH))
    return small_numbers(memory.sample(state, jax.random.key(0)))


@pytest.mark.parametrize("kind", [DQN, VDN])
def test_nothing_is_learned_from_beyond_the_end_of_an_episode(kind: Any) -> None:
    """Whatever was seen, done and paid there, the step of the optimiser is the same, bit by bit."""
    memory = UniformReplay(
        capacity=12 * GAMES, batch=16, length=4, burn_in=2, learning_starts=0, states=False
    )
    agent = kind(network=GRU(width=8), memory=memory, n_step=3)
    batch = sampled(memory)
    beyond = ~batch.alive
    assert 0.1 < float(beyond.mean()) < 0.9
    elsewhere = batch.replace(
        obs=jax.tree.map(lambda x: _where(beyond, 9.0, x), batch.obs),
        next_obs=jax.tree.map(lambda x: _where(beyond, -9.0, x), batch.next_obs),
        reward=jnp.where(beyond, 1e3, batch.reward),
        action=jnp.where(beyond, 0, batch.action),
        terminated=batch.terminated | beyond,
    )
    state = agent.init(jax.random.key(1), SPEC, (1, 4))
    update = eqx.filter_jit(agent.update)
    (after, one), (again, two) = (update(state, x, NOW, jax.random.key(2)) for x in (batch, elsewhere))
    assert eqx.tree_equal(after, again)
    assert float(one["loss"]) == float(two["loss"])
    paid = update(state, batch.replace(reward=batch.reward + 1.0), NOW, jax.random.key(2))[0]
    assert not eqx.tree_equal(after, paid)


def _where(flag: Array, value: float, x: Array) -> Array:
    return jnp.where(flag.reshape(flag.shape + (1,) * (x.ndim - flag.ndim)), value, x)


def test_burn_in_fills_the_memory_and_takes_no_gradient() -> None:
    memory = UniformReplay(capacity=12 * GAMES, batch=16, length=3, burn_in=2, learning_starts=0)
    agent = DQN(network=GRU(width=8), memory=memory)
    batch = sampled(memory)
    net = agent.init(jax.random.key(1), SPEC, (1, 4)).nets.q

    def total(seen: Array, net: Any) -> Array:
        given = batch.replace(obs=(seen, batch.obs[1]))
        return jnp.asarray(net.along(after_burn_in(net.torso, given, 2)).sum())

    seen = batch.obs[0]
    slope = np.asarray(jax.grad(total)(seen, net))
    assert (slope[:2] == 0.0).all()
    assert np.abs(slope[2:]).max() > 0.0
    # It is felt all the same, where the episode of the burn-in goes on.
    assert float(total(seen, net)) != float(total(seen.at[:2].add(1.0), net))
    # And the memory after it is that of the whole sequence.
    whole, _ = net.torso.unroll(net.torso.initial_carries(seen.shape[1:]), batch.obs, batch.resets)
    tail = after_burn_in(net.torso, batch, 2)
    part, _ = net.torso.unroll(tail.carry, tail.obs, tail.resets)
    np.testing.assert_allclose(part, whole[2:], rtol=1e-5, atol=1e-6)


def test_a_rollout_that_does_not_go_on_cuts_the_episode_before_it() -> None:
    """As where a team learns from several rollouts at once, or third-party environments begin anew."""
    memory = UniformReplay(capacity=6 * GAMES, batch=200, length=3, learning_starts=0)
    state = memory.init(jax.eval_shape(lambda: rollout(0)))
    other = rollout(100 + LENGTH, episode=1000)
    state = memory.add(state, rollout(1, episode=1000))
    state = memory.add(state, other.replace(resets=other.resets.at[0].set(True)))
    batch = memory.sample(state, jax.random.key(0))
    time = np.asarray(batch.reward).astype(int) // 100
    over = np.diff(time, axis=0) != 1  # the next step is of another game
    assert 0.2 < over.mean() < 0.8
    np.testing.assert_array_equal(batch.truncated[:-1], over)
    np.testing.assert_array_equal(batch.alive[1:], ~np.logical_or.accumulate(over))
    np.testing.assert_array_equal(batch.age, time[0, 0] % 1000)
    agent = DQN(n_step=3, memory=memory, discount=1.0)
    found = agent.streams(batch).n_step(jnp.zeros_like(batch.reward), 1.0, 3)
    expected = np.asarray(batch.reward)[0] + np.where(over[0], 0.0, np.asarray(batch.reward)[1])
    expected += np.where(over[0] | over[1], 0.0, np.asarray(batch.reward)[2])
    np.testing.assert_allclose(found[0], expected)


SMALL = {"capacity": 24, "batch": 4, "updates": 3, "learning_starts": 8}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("qmix", {"network": "tabular", "memory": {"name": "uniform-replay", **SMALL, "states": True}}),
        ("dqn", {"network": "gru", "network.width": 4, "n_step": 2, "memory": {
            "name": "prioritised-replay", **SMALL, "length": 2, "burn_in": 1}}),
    ],
)  # fmt: skip
def test_a_run_goes_on_bit_by_bit_with_its_full_replay(name: str, settings: Any, tmp_path: Path) -> None:
    experiment = make_experiment(
        make_game("two-step"), make_agent(name, **settings), iterations=12, batch=4, unroll=3, chunk=6
    )
    run = eqx.filter_jit(advance)
    half, _ = run(experiment, eqx.filter_jit(start)(experiment), 6)
    assert int(_ring(half).stored) == 6  # 24 steps of 4 games: it is full, and goes round after this
    folder = RunFolder.create(tmp_path / "run", experiment, {"command": ""})
    folder.save(experiment, half, keep=1)
    folder.release()
    found, complaints = RunFolder.open(tmp_path / "run").restore(experiment)
    assert complaints == []
    assert found is not None
    assert eqx.tree_equal(*(_plain(x) for x in (found, half)))
    whole, again = (run(experiment, x, 6)[0] for x in (half, found))
    assert eqx.tree_equal(*(_plain(x) for x in (whole, again)))
    assert not eqx.tree_equal(*(_plain(x) for x in (whole, half)))


def _ring(state: RunState) -> Any:
    memory = state.memories[0]
    return getattr(memory, "ring", memory)


def _plain(state: RunState) -> Any:
    return jax.tree.map(
        lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x, state
    )
