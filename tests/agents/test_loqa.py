"""LOQA as an agent: its term against slow loops, its relation to Advantage Alignment, and what it refuses."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.agents.shaping.adalign import AdvantageAlignment, Alignment
from comity.agents.shaping.loqa import LOQA, OpponentQ
from comity.agents.shaping.opponent_values import Given, Learned, OpponentValues
from comity.core.errors import ComityError
from comity.play.specs import make_agent, make_game
from comity.training.experiment import make_experiment
from tests.agents.shaped import (
    OWN_VIEW,
    Played,
    critic_loss_of,
    find,
    plain_critic,
    plain_learner,
    played,
    quick_jit,
    slow_advantages,
)

GAMMA = 0.9


def actor(td_lambda: float = 0.0) -> A2C:
    return plain_learner(A2C, critic=plain_critic(kind="action-value", td_lambda=td_lambda))


def loqa(opponent_values: OpponentValues = OWN_VIEW, td_lambda: float = 0.0, **term: Any) -> LOQA:
    settings = OpponentQ(past_lambda=0.0, opponent_lambda=0.5, temperature=0.7, **term)
    return LOQA(actor(td_lambda), settings, opponent_values)


@pytest.fixture(scope="module")
def goods() -> Played:
    """Three players, episodes of three steps in a rollout of seven."""
    return played(make_game("public-goods", players=3, horizon=3), loqa())


@pytest.fixture(scope="module")
def given() -> Played:
    return played(make_game("prisoners-dilemma", horizon=4), loqa(Given()))


def test_the_term_equals_slow_loops_over_all_others(goods: Played) -> None:
    found = find(loqa(), goods, (0, 1))
    past = slow_advantages(GAMMA, goods.state, goods.joint, 0.0, True)
    now = slow_advantages(GAMMA, goods.state, goods.joint, 0.5, True)
    table = np.asarray(goods.state.critic.head.weight)
    policy = np.exp(np.asarray(goods.state.policy.head.linear.weight))
    value = (table * policy).sum(axis=1) / policy.sum(axis=1)
    ended = np.asarray(goods.joint.step.truncated)
    time, games = ended.shape
    expected = np.zeros((time, 2, games))
    for seat, game in ((seat, game) for seat in (0, 1) for game in range(games)):
        for other in {0, 1, 2} - {seat}:
            shaping = 0.0
            for t in range(time):
                expected[t, seat, game] += shaping * now[t, other, game]
                state = int(goods.joint.obs[other][t, game])
                took = int(goods.joint.action[other][t, game])
                values = table[state].copy()
                values[took] = value[state] + now[t, other, game]
                share = np.exp(values / 0.7)[took] / np.exp(values / 0.7).sum()
                shaping = 0.9 * (shaping + past[t, seat, game] * (1 - share) / 0.7)
                if ended[t, game]:
                    shaping = 0.0
    np.testing.assert_allclose(found.term, expected, rtol=2e-3, atol=2e-4)


def test_values_that_are_given_are_those_of_my_critic_if_we_are_the_same(given: Played) -> None:
    for form in ("loaded-dice", "dice", "n-step"):
        totals = [find(loqa(source, form=form), given, (0, 1)).total for source in (Given(), OWN_VIEW)]
        np.testing.assert_allclose(totals[0], totals[1], rtol=1e-4, atol=1e-5)
        assert float(jnp.std(totals[0])) > 0.1


def test_with_a_constant_partition_it_is_advantage_alignment(given: Played) -> None:
    weight = 0.5 / (0.7 * GAMMA)
    aligned = AdvantageAlignment(actor(), Alignment(weight=weight, past_lambda=0.0, opponent_lambda=0.5))
    shaping = loqa(partition="constant", weight=0.5)
    totals = [find(agent, given, (0, 1)).total for agent in (shaping, aligned)]
    np.testing.assert_allclose(totals[0], totals[1], rtol=1e-4, atol=1e-5)


def test_goodwill_adds_the_others_advantage(goods: Played) -> None:
    simple, kind = (find(agent, goods, (0,)).term for agent in (loqa(), loqa(goodwill=0.3)))
    now = slow_advantages(GAMMA, goods.state, goods.joint, 0.5, True)
    np.testing.assert_allclose(kind - simple, 0.3 * (now[:, 1:2] + now[:, 2:3]), rtol=1e-3, atol=1e-4)


def test_the_critics_targets_look_ahead_as_far_as_its_lambda(given: Played) -> None:
    """SARSA(lambda): at 1 the target is the return with the critic's value at the end of the episode."""
    agent = loqa(td_lambda=1.0)
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
        LOQA(term=OpponentQ(temperature=0.0))
    with pytest.raises(ComityError, match="form"):
        make_agent("loqa", None, **{"term.form": "magic"})
    with pytest.raises(ComityError, match="opponent_values"):
        LOQA(opponent_values=Learned())
    with pytest.raises(ComityError, match=r"critic\.kind"):
        LOQA(learner=A2C())
