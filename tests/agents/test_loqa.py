"""LOQA as an agent: its term against slow loops, its relation to Advantage Alignment, and what it refuses."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.shaping.adalign import AdvantageAlignment
from comity.agents.shaping.loqa import LOQA
from comity.core.errors import ComityError
from comity.core.types import Experience
from comity.play.specs import make_agent, make_game
from comity.train.experiment import make_experiment
from tests.agents.test_adalign import NOW, TABLE, Played, critic_loss_of, played, quick_jit, slow_advantages

PLAIN: dict[str, Any] = {
    "network": TABLE, "critic_network": TABLE, "entropy": 0.0, "max_gradient": 1e9, "discount": 0.9,
    "own_trace": 0.8, "past_trace": 0.0, "opponent_trace": 0.5, "temperature": 0.7,
}  # fmt: skip


@pytest.fixture(scope="module")
def goods() -> Played:
    """Three players, episodes of three steps in a rollout of seven."""
    return played(make_game("public-goods", players=3, horizon=3), LOQA(**PLAIN))


@pytest.fixture(scope="module")
def given() -> Played:
    return played(make_game("prisoners-dilemma", horizon=4), LOQA(**PLAIN, opponent_critic="given"))


def test_the_term_equals_slow_loops_over_all_others(goods: Played) -> None:
    agent = LOQA(**PLAIN)
    found = quick_jit(lambda s, j: agent.shaped(s, Experience((0, 1), j, NOW)))(goods.state, goods.joint)
    past = slow_advantages(agent, goods.state, goods.joint, 0.0, True)
    now = slow_advantages(agent, goods.state, goods.joint, agent.opponent_trace, True)
    table = np.asarray(goods.state.critic.head.weight)
    policy = np.exp(np.asarray(goods.state.policy.head.linear.weight))
    value = (table * policy).sum(axis=1) / policy.sum(axis=1)
    ended = np.asarray(goods.joint.step.truncated)
    time, games = ended.shape
    expected = np.zeros((time, 2 * games))
    for column, (seat, game) in enumerate((seat, game) for seat in (0, 1) for game in range(games)):
        for other in {0, 1, 2} - {seat}:
            pull = 0.0
            for t in range(time):
                expected[t, column] += pull * now[other, t, game]
                state = int(goods.joint.obs[other][t, game])
                took = int(goods.joint.action[other][t, game])
                values = table[state].copy()
                values[took] = value[state] + now[other, t, game]
                share = np.exp(values / 0.7)[took] / np.exp(values / 0.7).sum()
                pull = 0.9 * (pull + past[seat, t, game] * (1 - share) / 0.7)
                if ended[t, game]:
                    pull = 0.0
    np.testing.assert_allclose(found.term, expected, rtol=2e-3, atol=2e-4)


def test_values_that_are_given_are_those_of_my_critic_if_we_are_the_same(given: Played) -> None:
    for form in ("loaded-dice", "dice", "n-step"):
        terms = [
            quick_jit(lambda s, j, a=agent: a.shaped(s, Experience((0, 1), j, NOW)).total)(
                given.state, given.joint
            )
            for agent in (
                LOQA(**PLAIN, form=form, opponent_critic="given"),
                LOQA(**PLAIN, form=form, opponent_critic="own-view"),
            )
        ]
        np.testing.assert_allclose(terms[0], terms[1], rtol=1e-4, atol=1e-5)
        assert float(jnp.std(terms[0])) > 0.1


def test_with_a_constant_partition_it_is_advantage_alignment(given: Played) -> None:
    loqa = LOQA(**PLAIN, partition="constant", weight=0.5)
    settings = {name: value for name, value in PLAIN.items() if name != "temperature"}
    adalign = AdvantageAlignment(
        **settings, critic="action-value", past="discounted", weight=0.5 / (0.7 * PLAIN["discount"])
    )
    terms = [
        quick_jit(lambda s, j, a=agent: a.shaped(s, Experience((0, 1), j, NOW)).total)(
            given.state, given.joint
        )
        for agent in (loqa, adalign)
    ]
    np.testing.assert_allclose(terms[0], terms[1], rtol=1e-4, atol=1e-5)


def test_goodwill_adds_the_others_advantage(goods: Played) -> None:
    plain, kind = (
        quick_jit(lambda s, j, a=agent: a.shaped(s, Experience((0,), j, NOW)).term)(goods.state, goods.joint)
        for agent in (LOQA(**PLAIN), LOQA(**PLAIN, goodwill=0.3))
    )
    now = slow_advantages(LOQA(**PLAIN), goods.state, goods.joint, 0.5, True)
    np.testing.assert_allclose(kind - plain, 0.3 * (now[1] + now[2]), rtol=1e-3, atol=1e-4)


def test_the_critics_targets_look_ahead_as_far_as_its_trace(given: Played) -> None:
    """SARSA(lambda): at 1 the target is the return with the critic's value at the end of the episode."""
    agent = LOQA(**PLAIN, critic_trace=1.0)
    table = np.asarray(given.state.critic.head.weight)
    joint, state = given.joint, given.state._replace(target=given.state.critic)
    loss = quick_jit(critic_loss_of(agent, (0, 1)))(state, joint)
    policy = np.exp(np.asarray(state.policy.head.linear.weight))
    value = (table * policy).sum(axis=1) / policy.sum(axis=1)
    ended = np.asarray(joint.step.truncated)
    misses = []
    for seat in (0, 1):
        obs, action, after = (np.asarray(x[seat]) for x in (joint.obs, joint.action, joint.step.obs))
        for game in range(ended.shape[1]):
            target = value[after[-1, game]]
            for t in reversed(range(len(ended))):
                if ended[t, game]:
                    target = value[after[t, game]]
                target = float(joint.step.reward[seat][t, game]) + 0.9 * target
                miss = abs(table[obs[t, game], action[t, game]] - target)
                misses.append(0.5 * miss**2 if miss < 1 else miss - 0.5)
    assert float(loss) == pytest.approx(np.mean(misses), rel=1e-4)


def test_what_it_cannot_do_is_refused_with_the_reason() -> None:
    with pytest.raises(ComityError, match="discrete actions"):
        make_experiment(make_game("negotiation"), make_agent("loqa"), iterations=2, batch=4)
    with pytest.raises(ComityError, match="temperature"):
        LOQA(temperature=0.0)
    with pytest.raises(ComityError, match="form"):
        make_agent("loqa", None, form="magic")
