"""Leagues: entry [i][j] is what player i earns per step against player j, seats averaged."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.agents.scripted.base import Scripted
from comity.api import scripted_player
from comity.core.agent import Act, Player
from comity.core.errors import ComityError
from comity.core.files import write_json
from comity.core.game import Environment, Seat
from comity.evaluate.empirical import empirical_game
from comity.evaluate.league import League, by_kind, play_league, read_league
from comity.games.matrix import MatrixGame
from comity.games.transforms import SharedReward
from comity.play.outcomes import MEASURES
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

DILEMMA = make_game("prisoners-dilemma")
TABULAR_NETWORK: dict[str, Any] = {"network": "tabular"}
SMALL_NETWORK: dict[str, Any] = {"network.width": 8}
RATES = {"slow": 1e-4, "fast": 1e-2}
DAMAGE: list[tuple[dict[str, Any], str]] = [
    ({"kind": "something"}, "is not a league"),
    ({"version": 3}, "written by a newer Comity"),
    ({"mean": [[1.0]]}, "its tables do not fit its 4 players"),
    ({"players": ["one"]}, "its tables do not fit its 1 players"),
    ({"mean": "much"}, "is damaged"),
    ({"low": [[9.0] * 4] * 4}, "low up to high"),
    ({"episodes": -3}, "at least one step and episode"),
    ({"horizon": None}, "is damaged"),
    ({"game_settings": {}}, "is damaged"),
    ({"seats": 3}, "lists of seats and roles"),
    ({"roles": ["one"]}, "1 roles for 2 seats"),
    ({"symmetric": 1}, "two truth values"),
    ({"by_seat": [[1.0]]}, "one finite table for each of its seats"),
    ({"by_seat": "much"}, "one finite table for each of its seats"),
    ({"outcomes": {"equality": {"mean": [[1.0]]}}}, "its outcomes do not fit"),
    ({"outcomes": [1]}, "its outcomes do not fit"),
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


def test_a_table_by_hand_is_a_league_too(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    mean = np.asarray([[3.0, 0.0], [5.0, 1.0]])
    limits = {"low": (mean - 1).tolist(), "high": (mean + 1).tolist()}
    path.write_text(json.dumps({"mean": mean.tolist(), **limits, "players": ["C", "D"]}))
    found = empirical_game(read_league(path))
    np.testing.assert_array_equal(found.game.payoffs, [mean, mean.T])
    np.testing.assert_array_equal(found.low, np.stack([mean, mean.T]) - 1)
    assert found.game.actions == (("C", "D"), ("C", "D"))
    path.write_text('{"mean": [[1, 2], [3, 4]]}')
    certain = empirical_game(read_league(path))
    np.testing.assert_array_equal(certain.low, certain.high)
    assert certain.game.actions == (("1", "2"), ("1", "2"))


HUGE = "1" + "0" * 400
BY_HAND = [
    ('{"payoffs": []}', "is not a league"),
    ('{"mean": [[1, 2], [3]]}', "square tables"),
    ('{"mean": [[1, 2]]}', "tables do not fit its 1 players"),
    ('{"mean": [[1, 2], [3, NaN]]}', "finite tables"),
    ('{"mean": [[1]], "low": [[2]], "high": [[3]]}', "low <= mean <= high would work"),
    ('{"mean": [[1]], "players": ["a", "b"]}', "do not fit its 2 players"),
    ('{"mean": [[1]], "names": ["a"]}', "has names; a league by hand has mean, low, high, players only"),
    ('{"mean": 5, "players": ["a"]}', "do not fit its 1 players"),
    (f'{{"mean": [[{HUGE}, 1], [2, 3]]}}', "square tables and whole numbers would work"),
]


@pytest.mark.parametrize(("text", "sentence"), BY_HAND)
def test_bad_tables_by_hand(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(ComityError, match=sentence):
        read_league(path)


def test_every_field_of_a_league_survives_its_file(tmp_path: Path) -> None:
    tables = np.arange(16.0).reshape(4, 2, 2)
    league = League(
        {"name": "coin", "height": 4},
        *(7, 5, 3, ("a", "b"), tables[0], tables[0] - 1, tables[0] + 1),
        seats=("one", "two", "three"),
        roles=("hunter", "hunter", "prey"),
        symmetric=False,
        by_seat=tables[1:],
        deterministic=True,
    )
    league.save(tmp_path / "league.json")
    again = read_league(tmp_path / "league.json")
    for field in dataclasses.fields(League):
        assert np.array_equal(getattr(again, field.name), getattr(league, field.name)), field.name
    assert {role: table.tolist() for role, table in again.unlike_roles.items()} == {
        "hunter": tables[1:3].mean(axis=0).tolist(),
        "prey": tables[3].tolist(),
    }
    assert dataclasses.replace(league, symmetric=True).unlike_roles == {}


def test_a_league_of_version_1_is_read_without_its_seats(league: League, tmp_path: Path) -> None:
    new = ("seats", "roles", "symmetric", "by_seat", "deterministic")
    old = {name: value for name, value in league.to_data().items() if name not in new}
    write_json(tmp_path / "old.json", {**old, "version": 1})
    found = read_league(tmp_path / "old.json")
    assert found.mean.tolist() == league.mean.tolist()
    assert found.by_role == {}


def test_seats_that_see_and_do_different_things() -> None:
    """Everybody plays in every seat as one can there; the results by seat say who earned what."""
    game = make_game("probe-odd-seats")
    agents = {
        name: make_agent("ppo", **SMALL_NETWORK, **{"optimiser.learning_rate": rate})
        for name, rate in RATES.items()
    }
    everyone: dict[str, Any] = {
        name: tuple(make_player(agent, game, seat, seed) for seat in range(3))
        for seed, (name, agent) in enumerate(agents.items())
    }
    everyone["random"] = tuple(scripted_player("random", game, seat) for seat in range(3))
    found = play_league(game, everyone, episodes=200, horizon=3)
    assert found.seats == found.roles == ("walker", "guest", "dial")
    assert not found.symmetric
    assert found.by_seat is not None
    np.testing.assert_allclose(found.by_seat.mean(axis=0), found.mean, rtol=1e-6)
    # Random play: a third of 1, a half once in three steps, a half; whoever else sits there.
    expected = np.asarray([1 / 3, 1 / 6, 1 / 2])
    np.testing.assert_allclose(found.by_seat[:, 2], expected[:, None] * np.ones(3), atol=0.06)
    alone = play_league(game, {"random": everyone["random"]}, episodes=200, horizon=3)
    np.testing.assert_allclose(list(alone.by_role.values()), expected[:, None, None], atol=0.06)


def test_results_by_seat_are_those_of_the_seat() -> None:
    table = np.zeros((2, 2, 2))
    table[0] = [[1.0, 2.0], [3.0, 4.0]]
    table[1] = [[10.0, 20.0], [30.0, 40.0]]
    lopsided = MatrixGame.from_tensor(table)
    found = play_league(lopsided, scripted(lopsided, "always-cooperate", "always-defect"), episodes=2)
    assert found.by_seat is not None
    assert found.by_seat[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.by_seat[1].tolist() == [[10.0, 30.0], [20.0, 40.0]]
    merged = by_kind(found, {"both": [0, 1]})
    assert merged.by_seat is not None
    assert merged.by_seat[:, 0, 0].tolist() == [2.5, 25.0]


class Wavering(Scripted):
    """Draws one of two actions, and says that the second is the more likely."""

    def check_seat(self, seat: Seat) -> None:
        """Any seat will do."""

    def read_seat(self, seat: Seat) -> tuple[()]:
        return ()

    def rule(self, params: Any, carry: Any, obs: Any, key: Any) -> tuple[Any, Any]:
        return jax.random.bernoulli(key, 0.6).astype(jnp.int32), carry

    def most_likely(self, params: Any, carry: Any, obs: Any, key: Any) -> Act:
        return Act(jnp.int32(1), carry, ())


def test_everybody_may_do_what_is_most_likely() -> None:
    players = {"wavering": make_player(Wavering(), DILEMMA)}
    drawn = play_league(DILEMMA, players, episodes=50)
    assert -1.9 < drawn.mean[0, 0] < -1.4
    sure = play_league(DILEMMA, players, episodes=2, deterministic=True)
    assert sure.mean.tolist() == [[-2.0]]
    assert (drawn.deterministic, sure.deterministic) == (False, True)


def test_csv_by_role(tmp_path: Path) -> None:
    pennies = make_game("matching-pennies")
    play_league(pennies, scripted(pennies, "always-cooperate"), episodes=2).save_csv(tmp_path / "l.csv")
    rows = list(csv.reader((tmp_path / "l.csv").read_text().splitlines()))
    names = [seat.name for seat in pennies.seats]
    assert rows[0][:7] == [
        "player",
        "opponent",
        "mean",
        "low",
        "high",
        *(f"mean as {name}" for name in names),
    ]
    assert [float(x) for x in rows[1][5:7]] == [1.0, -1.0]
    assert rows[0][7:] == [*MEASURES, "lead"]  # nothing in this game is cooperative


def test_csv(league: League, tmp_path: Path) -> None:
    league.save_csv(tmp_path / "league.csv")
    rows = list(csv.DictReader((tmp_path / "league.csv").open()))
    assert len(rows) == 16
    assert rows[6] == {
        "player": "always-defect", "opponent": "tit-for-tat", "mean": "-1.800000", "low": "-1.800000",
        "high": "-1.800000", "utilitarian_welfare": "-3.900000", "egalitarian_welfare": "-2.100000",
        "nash_welfare": "0.000000", "equality": "0.923077", "lead": "0.300000", "cooperation": "0.000000",
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
    assert play_league(endless, players, episodes=1).horizon == 500
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
    assert found.mean.tolist() == [[-1.0, -3.0], [0.0, -2.0]]  # a league shows the game's own reward
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
