"""Populations grown by learned best responses, in games whose answer is known."""

from typing import Any

import numpy as np
import pytest

import comity
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.training.best_response import best_response


def learner():
    settings: dict[str, Any] = {
        "network": "tabular",
        "critic.network": "tabular",
        "optimiser.learning_rate": 0.1,
        "entropy_coef": 0.0,
    }
    return comity.make_agent("a2c", **settings)


def one_shot(name, **settings):
    return comity.make_game(name, horizon=1, **settings)


def test_rock_paper_scissors_grows_until_it_cannot_be_exploited():
    game = one_shot("rock-paper-scissors")
    rock = (["always-cooperate"], ["always-cooperate"])  # the first action
    result = comity.psro(game, learner(), initial=rock, rounds=4, tolerance=0.05, iterations=100, batch=64)
    assert result.gains[0] > 0.9  # paper beats rock
    assert result.gains[-1] < 0.05
    assert [len(population) for population in result.populations] == [3, 3]
    assert all(isinstance(player, Player) for population in result.populations for player in population)
    for strategy in result.strategies:
        np.testing.assert_allclose(strategy, 1 / 3, atol=0.03)


def test_a_fresh_best_response_gains_all_there_is():
    found = comity.exploit(
        one_shot("rock-paper-scissors"), "always-cooperate", learner(), iterations=100, batch=64
    )
    assert found.payoff == (0.0, 0.0)
    assert found.mean.mean == pytest.approx(1.0, abs=0.05)
    assert found.largest > 0.95
    assert found.mean.low <= found.mean.mean <= found.mean.high
    assert len(found.gain) == len(found.responses) == 2


def test_a_best_response_answers_the_mixture_and_not_its_likeliest_member():
    """Against rock 0.4 and paper 0.6, paper earns 0.4 and scissors, which beat paper, only 0.2."""
    game = one_shot("rock-paper-scissors")
    rock = comity.load_player("always-cooperate", game)
    paper = best_response(game, learner(), 0, {1: [(1.0, rock)]}, iterations=100, batch=64)
    answer = best_response(game, learner(), 1, {0: [(0.4, rock), (0.6, paper)]}, iterations=100, batch=64)
    assert answer.probabilities(0)[1] > 0.9


@pytest.mark.slow
def test_the_dilemma_ends_where_both_defect():
    game = one_shot("prisoners-dilemma")
    trusting = (["always-cooperate"], ["always-cooperate"])
    result = comity.psro(
        game, learner(), initial=trusting, rounds=3, tolerance=0.05, iterations=100, batch=64
    )
    np.testing.assert_allclose(result.game.expected_payoffs(result.strategies), -2.0, atol=0.05)
    assert len(result.gains) == 2
    assert result.gains[-1] <= 0.05


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seat": 2}, "seat = 2 is not possible"),
        ({"opponents": {}}, r"given for the seats \[1\]"),
        ({"share": 0.5}, "add up to 1"),
        ({"batch": 30}, "multiple of the 16 groups"),
        ({"agent": "tit-for-tat"}, "does not learn"),
    ],
)
def test_best_responses_refuse_what_cannot_be(settings, words):
    game = one_shot("prisoners-dilemma")
    other = comity.load_player("always-defect", game)
    agent = comity.make_agent(settings["agent"]) if "agent" in settings else learner()
    opponents = settings.get("opponents", {1: [(settings.get("share", 1.0), other)]})
    with pytest.raises(ComityError, match=words):
        best_response(
            game, agent, settings.get("seat", 0), opponents, batch=settings.get("batch", 32), iterations=1
        )
