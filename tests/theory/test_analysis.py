"""Analyses as plain data, and figures."""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from comity.theory import (
    NAMED_GAMES,
    EmpiricalGame,
    NormalFormGame,
    TheoryError,
    airport,
    analyse_coalitions,
    analyse_game,
    analyse_league,
    gloves,
    named_game,
    pictures,
    weighted_votes,
)


@pytest.mark.parametrize("name", sorted(NAMED_GAMES))
def test_every_named_game_becomes_json_with_trustworthy_equilibria(name):
    report = analyse_game(named_game(name))
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["equilibria"]
    assert max(e["regret"] for e in report["equilibria"]) < 1e-8
    assert report["correlated"]["regret"] < 1e-8


def test_the_prisoners_dilemma_in_full():
    report = analyse_game(named_game("prisoners-dilemma"))
    (found,) = report["equilibria"]
    assert found["strategies"] == {"player 1": {"defect": 1.0}, "player 2": {"defect": 1.0}}
    assert report["dominance"]["strict"] == {"rounds": 1, "left": [["defect"], ["defect"]]}
    assert report["optimum"] == {"profiles": [["cooperate", "cooperate"]], "welfare": 6.0}
    assert report["price"]["anarchy"] == 3.0
    assert len(report["pareto"]) == 3
    assert report["structure"]["symmetric"]
    assert report["structure"]["potential"]


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("name", ["prisoners-dilemma", "chicken", "battle-of-the-sexes", "public-goods"])
def test_the_unit_of_payoffs_changes_nothing_but_payoffs(name, scale):
    game = named_game(name)
    plain = analyse_game(game)
    moved = analyse_game(NormalFormGame(game.payoffs * scale, game.players, game.actions, game.title))
    for part in ("structure", "dominance"):
        assert moved[part] == plain[part]
    assert [p["profile"] for p in moved["pareto"]] == [p["profile"] for p in plain["pareto"]]
    assert moved["optimum"]["profiles"] == plain["optimum"]["profiles"]
    assert len(moved["equilibria"]) == len(plain["equilibria"])
    assert moved["price"]["anarchy"] == pytest.approx(plain["price"]["anarchy"])
    np.testing.assert_allclose(
        moved["correlated"]["payoffs"], np.array(plain["correlated"]["payoffs"]) * scale
    )
    if "repeated" in plain:
        for region in ("feasible", "individually_rational"):
            corners = {tuple(np.round(np.array(c) / scale, 6)) for c in moved["repeated"][region]}
            assert corners == {tuple(np.round(c, 6)) for c in plain["repeated"][region]}


def test_large_games_are_analysed_with_a_note():
    report = analyse_game(NormalFormGame(np.random.default_rng(0).normal(size=(2, 16, 16))))
    assert max(e["regret"] for e in report["equilibria"]) < 1e-8
    assert any("Lemke-Howson" in note for note in report["notes"])


def test_coalition_reports():
    majority = analyse_coalitions(weighted_votes([1, 1, 1], 2))
    assert majority["core"]["empty"]
    assert majority["core"]["proof"]["weights"]["1,2"] == pytest.approx(0.5)
    np.testing.assert_allclose(majority["nucleolus"], [1 / 3] * 3)
    for game in (gloves(1, 2), airport([1, 2, 3])):
        report = analyse_coalitions(game)
        assert json.loads(json.dumps(report, allow_nan=False)) == report
        assert sum(report["shapley"]) == pytest.approx(report["worth"])


def test_league_reports():
    table = named_game("rock-paper-scissors").payoffs[0]
    report = analyse_league(EmpiricalGame.from_league(table, table - 0.1, table + 0.1, ["r", "p", "s"]), 20)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["ratings"]["cyclic_share"] == pytest.approx(1.0)
    np.testing.assert_allclose(report["alpha_rank"]["distribution"], [1 / 3] * 3)
    assert report["exploitability"]["exploiter"] == ["p", "s", "r"]
    (found,) = report["equilibria"]
    low, high = found["regret_interval"]
    assert low == 0.0
    assert 0.05 < high < 0.25


def drawn(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_every_figure_draws_its_game():
    dilemma, sexes = named_game("prisoners-dilemma"), named_game("battle-of-the-sexes")
    region = pictures.draw_payoff_region(dilemma)
    legend = region.axes[0].get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["feasible", "individually rational", "pure outcomes", "minimax", "equilibria"]
    curves = pictures.draw_best_responses(sexes)
    own, other = (np.asarray(line.get_xydata()) for line in curves.axes[0].get_lines())
    np.testing.assert_allclose(own, [[0.0, 0.0], [0.0, 0.4], [1.0, 0.4], [1.0, 1.0]])
    np.testing.assert_allclose(other, [[0.0, 0.0], [0.6, 0.0], [0.6, 1.0], [1.0, 1.0]])
    portrait = pictures.draw_phase_portrait(named_game("matching-pennies"), starts=3, steps=50)
    assert len(portrait.axes[0].get_lines()) == 9
    simplex = pictures.draw_simplex(named_game("rock-paper-scissors").payoffs[0], ("r", "p", "s"), steps=50)
    assert {"r", "p", "s"} <= {text.get_text() for text in simplex.axes[0].texts}
    for figure in (region, curves, portrait, simplex):
        assert drawn(figure).std() > 5  # not blank


def test_response_curves_with_ties():
    np.testing.assert_allclose(pictures.response_curve(np.array([0.0, 2.0])), [[0, 0], [0, 1], [1, 1]])
    np.testing.assert_allclose(pictures.response_curve(np.array([-1.0, 0.0])), [[0, 0], [1, 0], [1, 1]])
    np.testing.assert_allclose(pictures.response_curve(np.array([1.0, 2.0])), [[0, 1], [1, 1]])
    assert len(pictures.response_curve(np.zeros(2))) == 5


def test_rest_points_of_good_rock_paper_scissors():
    points = pictures.rest_points(named_game("rock-paper-scissors").payoffs[0] + np.eye(3) * 0.1)
    np.testing.assert_allclose(sorted(points.tolist())[0], [0, 0, 1])
    assert any(np.allclose(p, 1 / 3) for p in points)


@pytest.mark.usefixtures("unchecked")
def test_figures_refuse_other_sizes():
    with pytest.raises(TheoryError, match="2 x 2 games"):
        pictures.draw_best_responses(named_game("shapley"))
    with pytest.raises(TheoryError, match="restrict a larger game"):
        pictures.draw_simplex(np.eye(4))


def test_theory_imports_only_arrays():
    """numpy, scipy and jax; matplotlib in pictures only, inside the functions that draw; no other room."""
    allowed = {"numpy", "scipy", "jax", "jaxtyping", "comity"} | set(sys.stdlib_module_names)
    files = sorted(Path(pictures.__file__).parent.rglob("*.py"))
    assert len(files) > 40
    for file in files:
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                lazy = file.name == "pictures.py" and name.startswith("matplotlib") and node not in tree.body
                assert name.split(".")[0] in allowed or lazy, f"{file.name} imports {name}"
                allowed_rooms = (
                    "comity.theory",
                    "comity.core.errors",
                    "comity.core.palette",
                    "comity.core.display",
                )
                assert not name.startswith("comity") or name.startswith(allowed_rooms), f"{file.name}: {name}"
