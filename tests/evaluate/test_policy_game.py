"""Policies as actions: measured payoffs against exact ones, and what a leader commits to."""

import json

import numpy as np
import pytest

import comity
from comity.cli import run
from comity.core.errors import ComityError
from comity.evaluate.policy_game import policy_game
from comity.theory.equilibria.leader import pure_commitment
from comity.theory.equilibria.stackelberg import stackelberg
from comity.theory.normal_form import NormalFormGame

STRATEGIES = ("always-cooperate", "always-defect", "tit-for-tat")


def test_measured_payoffs_are_the_exact_ones_of_repeated_play() -> None:
    """Ten rounds among three sure strategies: tit-for-tat loses only the first round to a defector."""
    game = comity.make_game("prisoners-dilemma", horizon=10)
    own = {name: comity.load_player(name, game) for name in STRATEGIES}
    found = policy_game(game, (own, own), episodes=2)
    row = np.array([[-1.0, -3.0, -1.0], [0.0, -2.0, (0 - 2 * 9) / 10], [-1.0, (-3 - 2 * 9) / 10, -1.0]])
    np.testing.assert_allclose(found.game.payoffs, [row, row.T], atol=1e-6)
    np.testing.assert_allclose(found.low, found.game.payoffs, atol=1e-6)  # nothing is left to chance
    assert found.game.actions == (STRATEGIES, STRATEGIES)


def test_intervals_hold_what_chance_leaves_open() -> None:
    game = comity.make_game("matching-pennies", horizon=4)
    players = {"random": comity.load_player("random", game)}
    found = policy_game(game, (players, players), episodes=400)
    assert (found.low <= 0.0).all()
    assert (found.high >= 0.0).all()
    assert (found.high - found.low).max() < 0.25


def test_three_seats_with_policies_of_their_own() -> None:
    game = comity.make_game("public-goods", players=3, horizon=2)
    good, bad = (comity.load_player(f"always-{what}", game) for what in ("cooperate", "defect"))
    both = {"good": good, "bad": bad}
    found = policy_game(game, (both, {"good": good}, both), episodes=2).game
    assert found.num_actions == (2, 1, 2)
    assert found.payoffs.shape == (3, 2, 1, 2)
    assert found.payoffs[0, 1, 0, 0] > found.payoffs[0, 0, 0, 0]  # who gives nothing keeps more
    assert found.payoffs[:, 0, 0, 0].sum() > found.payoffs[:, 1, 0, 1].sum()


def test_a_leader_commits_to_what_the_others_answer_best() -> None:
    """Von Stengel and Zamir's example: committing to the dominated row is worth 3 instead of 2."""
    game = NormalFormGame.from_bimatrix([[2.0, 4.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 2.0]])
    best = pure_commitment(game, 0)
    assert (best.action, best.payoffs.tolist()) == (1, [3.0, 2.0])
    assert stackelberg(game, 0).leader_payoff >= 3.0  # a mixed commitment is worth at least as much
    # Three players: followers coordinate on what the leader names, and it likes the second place best.
    payoffs = np.zeros((3, 2, 2, 2))
    for place in (0, 1):
        payoffs[1:, place, place, place] = 1.0
        payoffs[0, place, place, place] = 1.0 + place
    best = pure_commitment(NormalFormGame(payoffs), 0)
    assert best.action == 1
    assert best.payoffs.tolist() == [2.0, 1.0, 1.0]
    assert best.regret == 0.0
    with pytest.raises(ValueError, match="0 to 1"):
        pure_commitment(game, 2)


def test_followers_without_a_pure_equilibrium_mix() -> None:
    """The leader watches two others at matching pennies."""
    payoffs = np.zeros((3, 1, 2, 2))
    payoffs[1, 0] = [[1.0, -1.0], [-1.0, 1.0]]
    payoffs[2, 0] = -payoffs[1, 0]
    payoffs[0, 0] = [[4.0, 0.0], [0.0, 0.0]]
    best = pure_commitment(NormalFormGame(payoffs), 0)
    np.testing.assert_allclose(best.strategies[1], 0.5, atol=1e-6)
    assert best.payoffs[0] == pytest.approx(1.0, abs=1e-6)


def test_the_command_says_what_theory_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["analyse", "prisoners-dilemma", *STRATEGIES, "--game.horizon", "10", "--episodes", "2"]
    assert run([*words, "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["optimum"]["welfare"] == pytest.approx(-2.0)
    assert report["price"]["anarchy"] is None or report["price"]["optimum"] == pytest.approx(-2.0)
    assert {leader["commits_to"] for leader in report["leaders"]} == {"tit-for-tat"}
    assert len(report["payoffs"]) == 9
    for found in report["equilibria"]:
        assert found["regret_interval"] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert run([*words]) == 0
    assert "tit-for-tat" in capsys.readouterr().out
    assert run(["analyse", "prisoners-dilemma", "random", "/", "random", "/", "random"]) == 2
    assert "2 seats" in capsys.readouterr().err


def test_what_cannot_be_measured_is_refused() -> None:
    game = comity.make_game("prisoners-dilemma", horizon=2)
    player = {"a": comity.load_player("random", game)}
    with pytest.raises(ComityError, match="one mapping per seat"):
        policy_game(game, (player,))
    with pytest.raises(ComityError, match="at least one"):
        policy_game(game, (player, {}))
    with pytest.raises(ComityError, match="no fixed length"):
        policy_game(comity.make_game("prisoners-dilemma", horizon=None), (player, player))
    many = {str(i): player["a"] for i in range(65)}
    with pytest.raises(ComityError, match="at most 4,096"):
        policy_game(game, (many, many))
