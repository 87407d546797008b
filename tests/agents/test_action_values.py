"""Learners of action values: targets, exploration, slow copies, and the traps of popular code."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.agents.off_policy.dqn import DQN
from comity.agents.off_policy.pqn import PQN
from comity.core.agent import Context
from comity.core.batch import Drawn
from comity.core.errors import ComityError
from comity.learn.optimisers import Adam
from comity.learn.prioritised import PrioritisedReplay
from comity.learn.replay import UniformReplay
from comity.learn.schedules import Linear
from comity.learn.sequences import Streams
from comity.nets.tabular import Tabular
from comity.returns.td import n_step_returns
from tests.agents.off_policy import TWO, batch_of, learned, spec_of

SETTINGS: dict[str, Any] = {
    "network": Tabular(), "optimiser": Adam(learning_rate=0.05, max_grad_norm=0.0), "target_tau": 0.2,
}  # fmt: skip


def chain(ending: bool) -> Any:
    """Place 0 leads to place 1, which pays 1 and ends: by the game's rules, or by the clock."""
    batch = batch_of([0, 1], [[0, 0], [0, 0]], [0.0, 1.0], [1, 0], [False, ending], 2)
    clock = jnp.broadcast_to(jnp.array([False, not ending]), batch.truncated.shape)
    return batch.replace(truncated=clock)


def table(state: Any) -> np.ndarray:
    return np.asarray(state.nets.q.head.weight)


def test_what_ends_by_the_clock_is_worth_what_would_have_followed() -> None:
    agent = DQN(**SETTINGS, discount=0.5)
    ends = table(learned(agent, chain(True), spec_of(2, 1), 600))
    np.testing.assert_allclose(ends[:, 0], [0.5, 1.0], atol=0.01)
    goes_on = table(learned(agent, chain(False), spec_of(2, 1), 600))  # v0 = v1 / 2, v1 = 1 + v0 / 2
    np.testing.assert_allclose(goes_on[:, 0], [2 / 3, 4 / 3], atol=0.02)


def test_double_values_choose_with_one_network_and_value_with_the_other() -> None:
    batch = batch_of([0], [[0, 0]], [0.0], [1], [False], 2)
    for double, expected in ((True, 3.0), (False, 7.0)):
        agent = DQN(**SETTINGS, discount=1.0, double=double)
        state: Any = agent.init(jax.random.key(0), spec_of(2, 2), TWO)
        online = state.nets.q.head.weight.at[1].set(jnp.array([9.0, 1.0]))
        slow = state.nets.q.head.weight.at[1].set(jnp.array([3.0, 7.0]))
        nets = [eqx.tree_at(lambda nets: nets.q.head.weight, state.nets, weight) for weight in (online, slow)]
        state = state._replace(nets=nets[0], slow=nets[1])
        target = agent.targets(state, batch, batch, agent.streams(batch))
        np.testing.assert_allclose(target, expected)


def test_the_slow_copy_follows_geometrically() -> None:
    agent = DQN(**{**SETTINGS, "optimiser": Adam(learning_rate=1e-12)})
    batch = chain(True)
    state: Any = agent.init(jax.random.key(0), spec_of(2, 1), TWO)
    begun = state.slow._replace(q=jax.tree.map(lambda x: x + 1.0, state.slow.q))
    state = state._replace(slow=begun)
    for _ in range(5):
        state, _ = agent.update(state, batch, Context(jnp.float32(0.0)), jax.random.key(1))
    gap = state.slow.q.head.weight - state.nets.q.head.weight
    np.testing.assert_allclose(gap, 0.8**5, rtol=1e-5)


@pytest.mark.parametrize("kind", [DQN, PQN])
def test_exploration_falls_with_progress_and_is_off_in_evaluation(kind: Any) -> None:
    agent = kind(network=Tabular(), epsilon=Linear(start=1.0, end=0.2, over=0.5))
    state = agent.init(jax.random.key(0), spec_of(2, 4), TWO)
    obs, carry = jnp.int32(0), agent.initial_carry(agent.policy(state))
    for progress, share in ((0.0, 1.0), (0.25, 0.6), (0.5, 0.2), (1.0, 0.2)):
        params = agent.behaviour(state, jnp.float32(progress))
        chances = np.sort(np.asarray(agent.action_probabilities(params, carry, obs, 4)))
        np.testing.assert_allclose(chances[:3], share / 4, rtol=1e-5)
    player = agent.policy(state)
    assert np.sort(np.asarray(agent.action_probabilities(player, carry, obs, 4))).tolist() == [0, 0, 0, 1]
    keys = jax.random.split(jax.random.key(1), 200)
    actions = jax.vmap(lambda key: agent.act(player, carry, obs, key).action)(keys)
    assert len(np.unique(np.asarray(actions))) == 1


def test_n_step_returns_against_a_slow_loop() -> None:
    draws = np.random.default_rng(0)
    for _ in range(20):
        length, steps, discount = 9, int(draws.integers(1, 6)), 0.9
        reward, value = draws.normal(size=(2, length)).astype(np.float32)
        terminated = draws.random(length) < 0.2
        ended = terminated | (draws.random(length) < 0.2)
        expected = []
        for t in range(length):
            total, k = 0.0, t
            while True:
                total += discount ** (k - t) * reward[k]
                if ended[k] or k == length - 1 or k - t == steps - 1:
                    break
                k += 1
            expected.append(total + discount ** (k - t + 1) * (0.0 if terminated[k] else value[k]))
        one, following, over, last = (jnp.asarray(x) for x in (reward, value, terminated, ended))
        found = n_step_returns(one, following, over, last, discount, steps)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


def test_importance_weights_reach_the_loss_and_surprises_the_memory() -> None:
    agent = DQN(**SETTINGS, memory=PrioritisedReplay(capacity=64, batch=2, learning_starts=0))
    batch = chain(True)
    state = agent.init(jax.random.key(0), spec_of(2, 1), TWO)
    losses = []
    for weights in ([1.0, 1.0], [1.0, 0.0]):
        drawn = Drawn(jnp.arange(2), jnp.array(weights))
        _, metrics = agent.update(
            state, batch.replace(drawn=drawn), Context(jnp.float32(0.0)), jax.random.key(0)
        )
        losses.append(float(metrics["loss"]))
        assert metrics["priorities"].shape == (2,)
        assert float(metrics["priorities"][1]) > 0.5  # the step that pays is the surprise
    assert losses[1] < losses[0]


def test_a_team_that_acts_by_numbers_is_told_what_to_use() -> None:
    with pytest.raises(ComityError, match="use ppo"):
        DQN().check(comity.make_game("probe-target").spec, (0,))
    with pytest.raises(ComityError, match="n_step = 4"):
        DQN(n_step=4, memory=UniformReplay(length=2)).check(spec_of(2, 2), TWO)


def test_lambda_returns_of_pqn_against_the_recursion() -> None:
    """G_t = r_t + gamma ((1 - lambda) V(s_t+1) + lambda G_t+1): one step off, and rewards count twice."""
    draws = np.random.default_rng(1)
    length, games, discount, trace = 9, 40, 0.9, 0.65
    shape = (length, 1, games)
    reward, value = draws.normal(size=(2, *shape)).astype(np.float32)
    beyond = draws.normal(size=shape).astype(np.float32)  # what the true successor is worth at an end
    terminated = draws.random(shape) < 0.15
    ended = terminated | (draws.random(shape) < 0.15)
    last = np.arange(length)[:, None, None] == length - 1
    following = np.where(ended | last, beyond, np.concatenate([value[1:], value[-1:]]))
    expected = np.zeros(shape)
    for t in reversed(range(length)):
        then = following[t] if t == length - 1 else (1 - trace) * following[t] + trace * expected[t + 1]
        goes_on = np.where(ended[t], following[t], then)
        expected[t] = reward[t] + discount * np.where(terminated[t], 0.0, goes_on)
    paid, over, cut = (jnp.asarray(x) for x in (reward, terminated, ended))
    always = jnp.ones(shape, jnp.bool_)
    streams = Streams(paid, over, cut, always, always.astype(jnp.float32))
    found = streams.td_lambda(jnp.asarray(value), jnp.asarray(following), discount, trace)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
