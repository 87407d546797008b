"""Reciprocity computed exactly: strategies whose answer is known, and simulated play beside it."""

import numpy as np
import pytest

import comity
from comity.core.errors import ComityError
from comity.evaluate.policy_game import policy_game
from comity.evaluate.reciprocity import (
    against,
    histories,
    history_table,
    largest_lead,
    repair,
    slipping_self_play,
    table_of,
)


def table(rule, window=1):
    return table_of([rule(state) for state in histories(window)], window)


def tit_for_tat(state):
    return 1.0 if state[-1] in (0, 1, 3) else 0.0


def contrite(state):
    """Tit-for-tat that takes one defection after its own that followed mutual cooperation."""
    accident = state[-3:] == (1, 3, 2) or state == (0, 3, 2)
    return 1.0 if accident else tit_for_tat(state)


TFT = table(tit_for_tat)
CONTRITE = table(contrite, window=3)


def test_the_largest_lead_over_known_strategies() -> None:
    """Tit-for-tat is led by one temptation at most; a cooperator by 5 in every round."""
    assert largest_lead(TFT) == pytest.approx(5 / 200)
    assert largest_lead(table(lambda state: 1.0)) == pytest.approx(5.0)
    assert largest_lead(table(lambda state: 0.0)) == 0.0
    generous = table(lambda state: 1.0 if state[-1] in (0, 1, 3) else 0.1)
    assert largest_lead(generous) == pytest.approx((1 + 199 * 0.1) * 5 / 200)
    # Whoever goes back to cooperation after DD (win-stay, lose-shift) is led in every second round.
    assert largest_lead(table(lambda state: float(state[-1] in (0, 1, 4)))) == pytest.approx(2.5)
    assert largest_lead(CONTRITE) == pytest.approx(5 / 200)
    assert largest_lead(TFT, 10, (-1.0, -3.0, 0.0, -2.0)) == pytest.approx(3 / 10)


def test_an_accident_is_echoed_or_repaired() -> None:
    assert repair(TFT, 5).tolist() == [0.0] * 8
    assert repair(CONTRITE, 5).tolist() == [0.0] + [1.0] * 7
    assert repair(CONTRITE, 0).tolist() == [0.0] + [1.0] * 7
    assert slipping_self_play(TFT, 0.0) == 3.0
    # Accidents lead to mutual defection sooner or later, and none leads out of it.
    assert slipping_self_play(TFT) == pytest.approx(1.239, abs=1e-3)
    assert slipping_self_play(CONTRITE) == pytest.approx(1.729, abs=1e-3)


def test_what_is_computed_is_what_is_played() -> None:
    game = comity.make_game(
        "prisoners-dilemma", horizon=200, reward=3.0, sucker=0.0, temptation=5.0, punishment=1.0
    )
    own = comity.load_player("tit-for-tat", game)
    found = history_table(own, 1)
    np.testing.assert_allclose(found.cooperates, TFT.cooperates, atol=1e-6)
    strategy = (0.3, 0.8, 0.4, 0.6, 0.2)
    settings = dict(zip(("first", "after_cc", "after_cd", "after_dc", "after_dd"), strategy, strict=True))
    agent = comity.make_agent("memory-one", game, **settings)
    other = comity.Player(agent, agent.policy(agent.init(comity_key(), game.spec, (1,))), game.spec, 1)
    played = policy_game(game, ({"own": own}, {"other": other}), episodes=400).game.payoffs.ravel()
    np.testing.assert_allclose(against(found, strategy), played, atol=0.03)


def comity_key():
    import jax

    return jax.random.key(0)


def test_who_remembers_longer_has_no_table() -> None:
    game = comity.make_game("prisoners-dilemma", horizon=5)
    with pytest.raises(ComityError, match="looks back further than 2 rounds"):
        history_table(comity.load_player("grim-trigger", game), 2)
    with pytest.raises(ComityError, match="between 1 and 5"):
        history_table(comity.load_player("tit-for-tat", game), 9)
    pennies = comity.make_game("rock-paper-scissors")
    with pytest.raises(ComityError, match="actions C and D"):
        history_table(comity.load_player("random", pennies), 1)
