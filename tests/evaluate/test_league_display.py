"""Leagues in terminals, notebooks and files of several seeds."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import comity
from comity.cli.league import print_league
from comity.evaluate.league import League
from comity.play.specs import make_agent, make_game

DILEMMA = make_game("prisoners-dilemma", horizon=4)
LONG = "a-player-with-a-name-that-is-as-long-as-this-one"


@pytest.fixture(scope="module")
def league() -> League:
    players = {"fool": "always-cooperate", LONG: "always-defect", "tit-for-tat": "tit-for-tat"}
    return comity.league(DILEMMA, players, episodes=4)


def shown(league: League, width: int) -> str:
    out = Console(file=io.StringIO(), width=width)
    print_league(league, out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_best_are_those_who_cooperate_and_are_not_exploited(league: League) -> None:
    """Tit-for-tat: -1 with itself less 3 / 4; the defector -2; the fool -1 less 3."""
    columns = league.standings()
    assert columns["player"].tolist() == ["tit-for-tat", LONG, "fool"]
    np.testing.assert_allclose(columns["secured"], [-1.75, -2.0, -4.0])
    assert columns["cooperation"].tolist() == [1.0, 0.0, 1.0]


def test_names_are_whole_in_a_narrow_terminal(league: League) -> None:
    for width in (80, 60, 200):
        text = shown(league, width)
        assert max(map(len, text.splitlines())) <= width
        squeezed = "".join(text.replace("│", " ").split())
        for name in league.players:
            assert name in squeezed or all(part in squeezed for part in (name[:10], name[-6:]))
        assert "…" not in text
    assert "2 a-player" in shown(league, 80)  # columns have numbers, which rows explain


def test_rows_of_pairings_and_players(league: League) -> None:
    rows = league.pairings()
    assert len(rows) == 9
    assert rows[5]["player"] == LONG
    assert rows[5]["lead"] == pytest.approx(3 / 4)
    assert len(league.table()) == 9


def test_a_folder_of_seeds_is_one_player_or_several(tmp_path: Path) -> None:
    agent = make_agent("a2c", DILEMMA, network="tabular")
    folder = tmp_path / "learner"
    for seed in (0, 1):
        comity.train(DILEMMA, agent, iterations=1, batch=4, seed=seed, out=folder / f"seed-{seed}")
    shutil.copytree(folder / "seed-1", folder / "seed-10")
    sources = {"learner": str(folder), "foe": "always-defect"}
    each = comity.league(DILEMMA, sources, episodes=20, seeds="each")
    assert each.players == ("learner seed-0", "learner seed-1", "learner seed-10", "foe")
    mean = comity.league(DILEMMA, sources, episodes=20)
    assert mean.players == ("learner", "foe")
    assert mean.mean[0, 1] == pytest.approx(each.mean[:3, 3].mean())
    assert mean.low[0, 1] >= each.mean[:3, 3].min() - 1e-9
    assert mean.mean[0, 0] == pytest.approx(np.diag(each.mean)[:3].mean())
    with pytest.raises(comity.ComityError, match="seeds = 'all' is not possible: it must be mean or each"):
        comity.league(DILEMMA, sources, seeds="all")
    rows = comity.train(DILEMMA, agent, iterations=2, batch=4, chunk=1).metrics
    assert {"outcome/cooperation", "outcome/equality", "outcome/exploitation_gap"} <= set(rows[0])
    assert 0.0 <= rows[0]["outcome/cooperation"] <= 1.0
