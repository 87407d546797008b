"""MAAC: what its critic attends to, the soft target, and soft policies with known answers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.off_policy.maac import MAAC, Attention, attended
from comity.core.agent import Context
from comity.core.errors import ComityError
from comity.learn.optimisers import Adam
from comity.nets.attention_critic import AttentionCritic
from comity.nets.tabular import Tabular
from comity.play.specs import make_game
from comity.returns.td import soft_value
from tests.agents.off_policy import TWO, batch_of, learned, spec_of

SMALL: dict[str, Any] = {"network": Tabular(), "attention": Attention(width=8, heads=2)}


def test_a_seat_hears_of_all_others_that_are_there_and_not_of_its_own_action() -> None:
    critic = AttentionCritic(3, 4, 8, 2, jax.random.key(0))
    seen = jax.random.normal(jax.random.key(1), (3, 3))
    action = jax.nn.one_hot(jnp.arange(3), 4, dtype=jnp.float32)
    everybody, without = jnp.ones(3, jnp.bool_), jnp.array([True, True, False])

    def moved(who: int, present: Any) -> np.ndarray:
        """Whose values change if one seat does something else."""
        other = action.at[who].set(jnp.array([0.0, 0.0, 0.0, 1.0]))
        gap = critic(seen, other, present) - critic(seen, action, present)
        return np.asarray(jnp.abs(gap).max(axis=-1) > 1e-6)

    for who in range(3):
        assert moved(who, everybody).tolist() == [seat != who for seat in range(3)]
    assert moved(2, without).tolist() == [False, False, False]
    alone = critic(seen[:1], action[:1], jnp.ones(1, jnp.bool_))
    assert np.isfinite(np.asarray(alone)).all()


def test_attention_weights_are_those_of_the_formula() -> None:
    critic = AttentionCritic(3, 4, 6, 1, jax.random.key(0))
    own, both = jax.random.normal(jax.random.key(1), (2, 3, 6))
    found = critic.attend(own, both, jnp.ones(3, jnp.bool_))
    query, key = own @ critic.query.weight, both @ critic.key.weight
    answer = jax.nn.relu(critic.answer(both))
    for i in range(3):
        others = [j for j in range(3) if j != i]
        score = np.array([float(query[i] @ key[j]) for j in others]) / 6**0.5
        weight = np.exp(score) / np.exp(score).sum()
        expected = sum(w * np.asarray(answer[j]) for w, j in zip(weight, others, strict=True))
        np.testing.assert_allclose(found[i], expected, rtol=1e-4, atol=1e-5)


def test_the_soft_target_is_discounted_as_a_whole_and_ends_with_the_game() -> None:
    """r + gamma (1 - d) (Q' - alpha log pi'): popular code leaves the bonus undiscounted."""
    agent = MAAC(**SMALL, temperature=0.5, discount=0.8)
    place, joint = [0, 1, 0], [[0, 1], [1, 1], [2, 0]]
    batch = batch_of(place, joint, [1.0, 2.0, 3.0], [1, 0, 1], [False, True, False], 2)
    batch = batch.replace(truncated=batch.truncated.at[..., 2].set(True))
    state = agent.init(jax.random.key(0), spec_of(2, 3), TWO)
    weight = jax.random.normal(jax.random.key(1), (2, 3))
    loud = eqx.tree_at(lambda p: p.head.linear.weight, state.policy, weight)
    critic = eqx.tree_at(lambda net: net.out.weight, state.critic, 10.0 * state.critic.out.weight)
    state = state._replace(slow=state.slow._replace(policy=loud, critic=critic))
    key = jax.random.key(5)
    target = agent.targets(state, batch, key)
    logits = loud.head.linear.weight[batch.next_obs]
    drawn = jax.random.categorical(key, logits)
    q = attended(critic, batch.next_obs, drawn, ~batch.terminated, loud)
    log_pi = jax.nn.log_softmax(logits)
    value = (jnp.exp(log_pi) * (q - 0.5 * log_pi)).sum(axis=-1)
    goes_on = jnp.array([[[1.0, 0.0, 1.0]]])  # the clock is no end
    np.testing.assert_allclose(target, batch.reward + 0.8 * goes_on * value, rtol=1e-5)
    assert float(jnp.abs(value).min()) > 0.01
    assert target[0, :, 1].tolist() == [2.0, 2.0]


def test_soft_value_of_a_hand_made_policy() -> None:
    chance = np.array([0.2, 0.8])
    expected = 0.2 * (1.0 - 0.5 * np.log(0.2)) + 0.8 * (3.0 - 0.5 * np.log(0.8))
    found = soft_value(jnp.array([1.0, 3.0]), jnp.log(jnp.asarray(chance, jnp.float32)), 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_policy_of_a_bandit_is_a_softmax_of_its_values() -> None:
    """Each action's own reward, whatever the other does: pi is proportional to exp(Q / alpha)."""
    paid = np.array([0.0, 0.5, 1.0])
    joint = np.array(list(np.ndindex(3, 3)))
    nothing = np.zeros(9, int)
    batch = batch_of(nothing, joint, nothing, nothing, np.ones(9, bool), 1)
    batch = batch.replace(reward=jnp.asarray(paid, jnp.float32)[batch.action])
    fast = Adam(learning_rate=0.01, max_grad_norm=0.0)
    agent = MAAC(**SMALL, temperature=0.5, optimiser=fast, critic_optimiser=fast)
    state = learned(agent, batch, spec_of(1, 3), 1500)
    logits = state.policy.head.linear.weight[0]
    np.testing.assert_allclose(jax.nn.softmax(logits), jax.nn.softmax(jnp.asarray(paid) / 0.5), atol=0.02)


def test_the_actor_gradient_is_that_of_the_mean_over_joint_actions() -> None:
    """Over many draws of the other seat's action, beside the sum over all joint actions."""
    agent = MAAC(**SMALL, temperature=0.3, optimiser=Adam(learning_rate=1e8, max_grad_norm=0.0, epsilon=1e8))
    games = 20_000
    nothing = np.zeros(games, int)
    batch = batch_of(nothing, np.zeros((games, 2), int), nothing, nothing, np.ones(games, bool), 1)
    state = agent.init(jax.random.key(0), spec_of(1, 3), TWO)
    weight = jnp.array([[0.5, -0.2, 0.1]])
    policy = eqx.tree_at(lambda p: p.head.linear.weight, state.policy, weight)
    critic = eqx.tree_at(lambda net: net.out.weight, state.critic, 20.0 * state.critic.out.weight)
    state = state._replace(policy=policy, critic=critic, optimiser=agent.optimiser.build().init(policy))
    after, _ = eqx.filter_jit(agent.update)(state, batch, Context(jnp.float32(0.0)), jax.random.key(1))
    step = after.policy.head.linear.weight - weight

    def gain(weight: Any) -> Any:
        one = batch.take(jnp.arange(1))
        log_pi = jax.nn.log_softmax(weight[0])
        total = jnp.float32(0.0)
        for other in range(3):
            action = jnp.full((1, 2, 1), other, jnp.int32)
            values = attended(critic, one.obs, action, one.alive, policy)[0, 0, 0]
            total += jax.lax.stop_gradient(jnp.exp(log_pi[other])) * soft_value(values, log_pi, 0.3)
        return total

    np.testing.assert_allclose(step, jax.grad(gain)(weight), atol=0.02 * float(jnp.abs(step).max()))


def test_continuous_actions_are_refused_with_what_to_use() -> None:
    with pytest.raises(ComityError, match="use mappo"):
        MAAC().check(make_game("simple-spread", continuous=True).spec, (0, 1, 2))
    with pytest.raises(ComityError, match=r"attention\.width = 10"):
        Attention(width=10, heads=4)
