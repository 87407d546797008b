"""Gradients of Advantage Alignment: those of its equations, and of nothing else."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import Array, PyTree

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.base import LearnerState
from comity.agents.on_policy.ppo import PPO
from comity.agents.shaping.adalign import AdvantageAlignment, Alignment
from comity.agents.shaping.base import ShapingAgent
from comity.agents.shaping.proximal_adalign import ProximalAdvantageAlignment
from comity.core.agent import Context
from comity.core.batch import Trajectory, team_batch
from comity.learn.schedules import Decay
from comity.play.specs import make_game
from comity.returns.dice import loaded_dice_objective, loaded_dice_values
from tests.agents.shaped import (
    NOW,
    Played,
    find,
    largest,
    pieces,
    plain,
    plain_learner,
    played,
    quick_jit,
    shaken,
    slow_advantages,
)

PLAIN_ALIGNMENT = plain(weight=0.6)


@pytest.fixture(scope="module")
def dilemma() -> Played:
    return played(make_game("prisoners-dilemma", horizon=4), plain())


def update(agent: ShapingAgent, state: LearnerState, joint: Trajectory, seats: tuple[int, ...]) -> Any:
    """The gradients that an update applies, read off Adam's memory (a tenth of them after one step)."""
    learn = quick_jit(lambda s, j: agent.update(s, team_batch(j, seats), NOW, jax.random.key(0))[0])
    after = learn(state, joint)
    memories = (after.optimiser, after.critic_optimiser)
    return tuple(jax.tree.map(lambda m: 10.0 * m, optax.tree.get(memory, "mu")) for memory in memories)


@pytest.fixture(scope="module")
def learned(dilemma: Played) -> Any:
    """The gradients of policy and critic in an update of the plain agent."""
    return update(PLAIN_ALIGNMENT, dilemma.state, dilemma.joint, (0, 1))


def table_log_prob(weight: Array, obs: Array, action: Array) -> Array:
    return jax.nn.log_softmax(weight)[obs, action]


def dice_gradient(
    agent: AdvantageAlignment, played: Played, value_discount: float, timed: bool = False
) -> Array:
    """Of the mean over all streams of the loaded-DiCE objective, by the table of the policy."""
    joint, state = played
    discount, term = agent.learner.discount, agent.term
    own, past, others = (
        slow_advantages(discount, state, joint, share)
        for share in (agent.learner.gae_lambda, term.past_lambda, term.opponent_lambda)
    )
    ended = joint.step.terminated | joint.step.truncated
    time = np.zeros(ended.shape, np.float32)
    for t in range(1, len(time)):
        time[t] = np.where(ended[t - 1], 0, time[t - 1] + 1)
    outer = jnp.asarray(discount**time if timed else np.ones_like(time))

    def stream(lp: Array, mine: Array, earlier: Array, theirs: Array, end: Array, start: Array) -> Array:
        shaped = loaded_dice_values(lp, theirs, end, value_discount)
        alone = loaded_dice_objective(lp, mine, end, discount if timed else 1.0)
        return alone + term.weight * discount * (start * earlier * shaped).sum()

    def objective(weight: Array) -> Array:
        total = jnp.float32(0.0)
        for seat in range(2):
            log_prob = table_log_prob(weight, joint.obs[seat], joint.action[seat])
            parts = [jnp.asarray(x, jnp.float32) for x in (own[:, seat], past[:, seat], others[:, 1 - seat])]
            total += jax.vmap(stream, in_axes=1)(log_prob, parts[0], parts[1], parts[2], ended, outer).sum()
        return -total / (2 * ended.size)

    gradient: Array = quick_jit(jax.grad(objective))(state.policy.head.linear.weight)
    return gradient


def test_gradient_is_that_of_the_loaded_dice_objective(dilemma: Played, learned: Any) -> None:
    """Equation 10 as it is used: own advantages times what the other's action will be worth to it."""
    policy, _ = learned
    expected = dice_gradient(PLAIN_ALIGNMENT, dilemma, 0.9)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(policy.head.linear.weight, expected, rtol=1e-3, atol=1e-5)
    alone = dice_gradient(plain(weight=0.0), dilemma, 0.9)
    assert np.abs(np.asarray(alone) - expected).max() > 0.01  # the alignment term is felt


def test_gradient_with_discounted_time_is_equation_8(dilemma: Played) -> None:
    agent = plain(weight=0.6, discount_time=True)
    policy, _ = update(agent, dilemma.state, dilemma.joint, (0, 1))
    expected = dice_gradient(agent, dilemma, 0.9**2, timed=True)
    np.testing.assert_allclose(policy.head.linear.weight, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_proximal_gradient(dilemma: Played, learned: Any, shift: float) -> None:
    """At ratio 1 that of `adalign`; elsewhere equation 9: where the bound is passed, nothing is learned."""
    joint, state = dilemma
    ppo = plain_learner(PPO, epochs=1, minibatches=1, clip_ratio=0.2)
    agent = ProximalAdvantageAlignment(ppo, Alignment(weight=0.6, past_lambda=0.0, opponent_lambda=0.5))
    state = state._replace(policy=shaken(state.policy, 5, shift))
    policy, critic = update(agent, state, joint, (0, 1))
    data = team_batch(joint, (0, 1))
    total = np.asarray(find(PLAIN_ALIGNMENT, Played(joint, state), (0, 1)).total)
    weight = state.policy.head.linear.weight
    ratio = np.asarray(jnp.exp(table_log_prob(weight, data.obs, data.action) - data.extras.log_prob))
    active = np.where(total > 0, ratio <= 1.2, ratio >= 0.8)
    if shift:
        assert 0 < active.sum() < active.size
        assert ((total > 0) & (ratio > 1.2)).any()
        assert ((total < 0) & (ratio < 0.8)).any()
    else:
        np.testing.assert_allclose(ratio, 1.0, rtol=1e-5)
    factor = jnp.asarray(np.where(active, ratio * total, 0.0), jnp.float32)
    expected = jax.grad(lambda w: -(factor * table_log_prob(w, data.obs, data.action)).mean())(weight)
    np.testing.assert_allclose(policy.head.linear.weight, expected, rtol=1e-3, atol=1e-5)
    if not shift:
        simple_policy, simple_critic = learned
        np.testing.assert_allclose(
            policy.head.linear.weight, simple_policy.head.linear.weight, rtol=1e-3, atol=1e-6
        )
        np.testing.assert_allclose(critic.head.weight, simple_critic.head.weight, rtol=1e-4, atol=1e-6)


def test_advantages_are_detached(dilemma: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    def total(learnt: PyTree) -> Array:
        policy, critic = learnt
        state = dilemma.state._replace(policy=policy, critic=critic)
        found = pieces(plain(), (0, 1), state, dilemma.joint)
        return found.own.sum() + found.term.sum() + found.total.sum()

    learnt = (dilemma.state.policy, dilemma.state.critic)
    assert largest(quick_jit(jax.grad(total))(learnt)) == 0.0
    # And this would be seen if they were not.
    monkeypatch.setattr(jax.lax, "stop_gradient", lambda x: x)
    assert largest(quick_jit(jax.grad(total))(learnt)) > 0.1


def test_the_policys_loss_does_not_train_the_critic(dilemma: Played, learned: Any) -> None:
    """The critic's gradient in an update is that of its own loss, to targets that are constants."""
    joint, state = dilemma
    assert state.target is not None
    table, slow = np.asarray(state.critic.head.weight), np.asarray(state.target.head.weight)
    assert not np.allclose(table, slow)  # targets come from the slow copy
    returns = slow_advantages(0.9, state._replace(critic=state.target), joint, 0.9)
    expected = np.zeros_like(table)
    for seat in (0, 1):
        obs = np.asarray(joint.obs[seat])
        error = table[obs, 0] - (slow[obs, 0] + returns[:, seat])
        np.add.at(expected[:, 0], obs, np.clip(error, -1.0, 1.0) / (2 * obs.size))  # of the Huber loss
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(learned[1].head.weight, expected, rtol=1e-3, atol=1e-5)


def test_only_the_critic_learns_at_first(dilemma: Played) -> None:
    agent = plain(plain_learner(A2C, schedule=Decay(critic_only_fraction=0.5)))
    joint, state = dilemma
    state = state._replace(target=state.critic)
    learn = quick_jit(
        lambda s, j, p: agent.update(s, team_batch(j, (0, 1)), Context(p), jax.random.key(0))[0]
    )
    for progress, moves in ((0.4, False), (0.5, True)):
        after = learn(state, joint, jnp.float32(progress))
        assert eqx.tree_equal(after.policy, state.policy) is not moves
        assert not eqx.tree_equal(after.critic, state.critic)
