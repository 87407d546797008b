"""Leagues: entry [i][j] is what player i earns per step against player j, seats averaged."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import comity
from comity.api import scripted_player
from comity.core.errors import ComityError
from comity.core.types import Environment, Player
from comity.evaluate.league import League, play_league, read_league
from comity.games.matrix import MatrixGame
from comity.games.transforms import SharedReward
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

DILEMMA = make_game("prisoners-dilemma")
TABULAR_NETWORK: dict[str, Any] = {"network.kind": "tabular"}
SMALL_NETWORK: dict[str, Any] = {"network.width": 8}
DAMAGE: list[tuple[dict[str, Any], str]] = [
    ({"kind": "something"}, "is not a league"),
    ({"version": 2}, "written by a newer Comity"),
    ({"mean": [[1.0]]}, "its tables do not fit its 4 players"),
    ({"players": ["one"]}, "its tables do not fit its 1 players"),
    ({"mean": "much"}, "is damaged"),
    ({"low": [[9.0] * 4] * 4}, "low up to high"),
    ({"episodes": -3}, "at least one step and episode"),
    ({"horizon": None}, "is damaged"),
    ({"game_settings": {}}, "is damaged"),
]


def scripted(game: Environment, *names: str) -> dict[str, Player]:
    return {name: scripted_player(name, game) for name in names}


@pytest.fixture(scope="module")
def league() -> League:
    names = ("always-cooperate", "always-defect", "tit-for-tat", "random")
    return play_league(DILEMMA, scripted(DILEMMA, *names), episodes=300, horizon=10, seed=1)


def test_scripted_pairs_are_exact(league: League) -> None:
    exact = [
        [-1.0, -3.0, -1.0],
        [0.0, -2.0, -18 / 10],
        [-1.0, -21 / 10, -1.0],
    ]
    for table in (league.mean, league.low, league.high):
        np.testing.assert_allclose(table[:3, :3], exact, rtol=1e-6)


def test_random_play_is_within_its_interval(league: League) -> None:
    """Against random, cooperation earns -2 and defection -1; random against random -1.5."""
    expected = np.asarray([-2.0, -1.0, np.nan, -1.5])
    for i in (0, 1, 3):
        assert league.low[i, 3] - 0.02 < expected[i] < league.high[i, 3] + 0.02
    assert (league.low <= league.mean + 1e-12).all()
    assert (league.mean <= league.high + 1e-12).all()
    widths = (league.high - league.low)[:, 3]
    assert (widths > 0.01).all()
    assert (widths < 0.2).all()


def test_the_mean_is_that_of_the_episodes(league: League) -> None:
    assert league.samples is not None
    assert league.samples.shape == (4, 4, 300)
    np.testing.assert_allclose(league.samples.mean(axis=-1), league.mean)


def test_intervals_cover() -> None:
    """Over many small leagues the interval holds the true mean about as often as it promises."""
    players = scripted(DILEMMA, "random", "always-cooperate")
    hits = [
        league.low[1, 0] <= -2.0 <= league.high[1, 0]
        for league in (play_league(DILEMMA, players, episodes=40, horizon=4, seed=s) for s in range(60))
    ]
    assert 0.82 < np.mean(hits) <= 1.0


def test_one_seed_gives_one_league(league: League) -> None:
    names = ("always-cooperate", "always-defect", "tit-for-tat", "random")
    players = scripted(DILEMMA, *names)
    again = play_league(DILEMMA, players, episodes=300, horizon=10, seed=1)
    assert again.to_data() == league.to_data()
    other = play_league(DILEMMA, players, episodes=300, horizon=10, seed=2)
    assert not np.array_equal(other.mean, league.mean)


def test_seats_are_averaged() -> None:
    """In a game whose seats differ, each player sits in both."""
    pennies = make_game("matching-pennies")  # seat 1 wins when the coins match
    players = scripted(pennies, "always-cooperate", "always-defect")
    found = play_league(pennies, players, episodes=2)
    assert found.mean.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    table = np.zeros((2, 2, 2))
    table[0] = [[1.0, 2.0], [3.0, 4.0]]
    table[1] = [[10.0, 20.0], [30.0, 40.0]]
    lopsided = MatrixGame.from_tensor(table)
    found = play_league(lopsided, scripted(lopsided, "always-cooperate", "always-defect"), episodes=2)
    # C against D: seat 1 of (C, D) and seat 2 of (D, C); and so on.
    assert found.mean.tolist() == [[(1 + 10) / 2, (2 + 30) / 2], [(3 + 20) / 2, (4 + 40) / 2]]


def test_more_than_two_seats() -> None:
    """One seat for the row player, all others for the column player."""
    game = make_game("public-goods", players=4, horizon=5)
    found = play_league(game, scripted(game, "always-cooperate", "always-defect", "random"), episodes=50)
    # The pot is doubled and shared by four: C with CCC, C with DDD, D with CCC, D with DDD.
    np.testing.assert_allclose(found.mean[:2, :2], [[2 - 1, 0.5 - 1], [1.5, 0.0]], atol=1e-6)
    assert (found.low[:2, 2] < found.high[:2, 2]).all()


def test_a_league_survives_its_file(league: League, tmp_path: Path) -> None:
    path = tmp_path / "league.json"
    league.save(path)
    data = json.loads(path.read_text())
    assert data["game"] == "prisoners-dilemma"
    assert (data["horizon"], data["episodes"]) == (10, 300)
    assert data["players"] == list(league.players)
    assert data["mean"][1][2] == pytest.approx(-1.8)
    again = read_league(path)
    assert again.to_data() == league.to_data()


def test_csv(league: League, tmp_path: Path) -> None:
    league.save_csv(tmp_path / "league.csv")
    rows = list(csv.DictReader((tmp_path / "league.csv").open()))
    assert len(rows) == 16
    assert rows[6] == {
        "player": "always-defect", "opponent": "tit-for-tat", "mean": "-1.800000", "low": "-1.800000",
        "high": "-1.800000",
    }  # fmt: skip


def test_damaged_files(league: League, tmp_path: Path) -> None:
    path = tmp_path / "league.json"
    whole = league.to_data()
    for change, message in DAMAGE:
        path.write_text(json.dumps({**whole, **change}))
        with pytest.raises(ComityError, match=message):
            read_league(path)
    for text in ("[1, 2]", "{}", "null"):
        path.write_text(text)
        with pytest.raises(
            ComityError, match=r"is not a league: `comity league \.\.\. --json FILE` writes one"
        ):
            read_league(path)
    path.write_text(json.dumps(whole)[:-40])
    with pytest.raises(ComityError, match="cannot be read as a league"):
        read_league(path)


def test_wrong_numbers_and_games() -> None:
    players = scripted(DILEMMA, "random")
    with pytest.raises(ComityError, match="episodes = 0 is not possible: it must be at least 1"):
        play_league(DILEMMA, players, episodes=0)
    with pytest.raises(ComityError, match="horizon = 0 is not possible: it must be at least 1"):
        play_league(DILEMMA, players, horizon=0)
    with pytest.raises(ComityError, match="at least one player"):
        play_league(DILEMMA, {})
    endless = make_game("prisoners-dilemma", horizon=None)
    with pytest.raises(ComityError, match="no fixed length: give the league a horizon"):
        play_league(endless, players)
    with pytest.raises(ComityError, match="not finite numbers in float32"), np.errstate(all="ignore"):
        play_league(make_game("prisoners-dilemma", reward=1e38), scripted(DILEMMA, "always-cooperate"))


def test_a_player_of_another_game_is_refused() -> None:
    tabular = make_player(make_agent("a2c", **TABULAR_NETWORK), DILEMMA)
    for name, message in {
        "coin": "mine cannot play in this game: A tabular network needs a discrete observation",
        "public-goods": "mine was trained in a game of another shape",
        "rock-paper-scissors": "mine was trained in a game of another shape",
    }.items():
        with pytest.raises(ComityError, match=message):
            play_league(make_game(name), {"mine": tabular})
    with pytest.raises(ComityError, match="does not play games of the negotiation family"):
        comity.league(make_game("negotiation"), ["grim-trigger"])


def test_rewards_may_be_shared() -> None:
    both = SharedReward(game=DILEMMA)
    found = play_league(both, scripted(DILEMMA, "always-cooperate", "always-defect"), episodes=2)
    assert found.mean.tolist() == [[-2.0, -3.0], [-3.0, -4.0]]
    assert found.to_data()["game"] == "shared-reward"


def test_from_python() -> None:
    untrained = make_player(make_agent("ppo", **SMALL_NETWORK), DILEMMA)
    found = comity.league(DILEMMA, {"new": untrained, "tit": "tit-for-tat"}, episodes=8, horizon=4)
    assert found.players == ("new", "tit")
    assert found.horizon == 4
    assert found.mean[1, 1] == -1.0
    with pytest.raises(ComityError, match="Did you mean tit-for-tat"):
        comity.league(DILEMMA, ["tit-for-tta"])
    with pytest.raises(ComityError, match="is neither a run folder, nor a player file"):
        comity.league(DILEMMA, ["some/where.safetensors"])
