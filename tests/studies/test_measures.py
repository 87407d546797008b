"""Studies of several methods: kinds in a league, published tables, thresholds, harvests."""

from pathlib import Path

import numpy as np
import pytest

from comity.api import load_player, scripted_player
from comity.evaluate.league import League, by_kind
from comity.games.commons_harvest import CommonsHarvest
from comity.play.specs import make_game
from comity.play.zoo import zoo_names
from comity.studies import scaling
from comity.studies.coin_league import PUBLISHED, beside_published, play_coin_league
from comity.studies.focal_harvest import harvest

TABLE = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


def test_players_of_a_kind_count_as_one_and_meet_themselves() -> None:
    league = League({"name": "coin"}, 16, 1, 0, ("a", "b", "c"), TABLE, TABLE - 1, TABLE + 1)
    small = by_kind(league, {"x": [0, 1], "y": [2]})
    assert small.players == ("x", "y")
    np.testing.assert_allclose(small.mean, [[3.0, 4.5], [7.5, 9.0]])
    np.testing.assert_allclose(small.low, small.mean - 1)


def test_scripted_players_earn_what_was_published_of_them() -> None:
    game = make_game("coin")
    names = {"AC": "always-cooperate", "AD": "always-defect", "Random": "random"}
    players = {kind: [scripted_player(name, game)] for kind, name in names.items()}
    league = play_coin_league(game, players, 200, 16)
    rows = beside_published(league)
    assert len(rows) == len(PUBLISHED)
    known = [row for row in rows if row.found is not None]
    assert len(known) == 5
    for row in known:
        np.testing.assert_allclose(np.asarray(row.found), np.asarray(row.published), atol=0.04)


def test_thresholds_scale_with_the_grid() -> None:
    row = {"self": 0.06, "against_defect": -0.06}
    assert scaling.reached(row, 3, "medium")
    assert not scaling.reached(row, 3, "strong")
    assert not scaling.reached(row, 4, "strong")
    assert scaling.reached({"self": 0.06, "against_defect": -0.03}, 4, "strong")


@pytest.mark.slow
def test_climbing_stops_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = scaling.grid_experiment("adalign", 3)
    object.__setattr__(tiny, "batch", 16)
    object.__setattr__(tiny, "unroll", 4)
    object.__setattr__(tiny, "iterations", 4)
    monkeypatch.setattr(scaling, "grid_experiment", lambda agent, size: tiny)
    monkeypatch.setattr(scaling, "EVERY", 2)
    monkeypatch.setattr(scaling, "EPISODES", 2)
    monkeypatch.setattr(scaling, "HORIZON", 4)
    monkeypatch.setattr(scaling, "reached", lambda row, size, name: False)
    first = scaling.climb("adalign", 3, tmp_path / "run", 1e-6, "a test")
    assert [row["iteration"] for row in first] == [2]
    second = scaling.climb("adalign", 3, tmp_path / "run", 60, "a test")
    assert [row["iteration"] for row in second] == [2, 4]
    assert second[0] == first[0]
    results = scaling.thresholds_reached({("adalign", 3): second})
    assert results["rows"][0]["thresholds"] == {"weak": None, "medium": None, "strong": None}


def test_a_harvest_counts_the_players_own_share() -> None:
    game = make_game("commons-harvest-open", horizon=60)
    assert isinstance(game, CommonsHarvest)
    patient = scripted_player("sustainable", game)
    greedy = tuple(scripted_player("greedy", game, seat) for seat in (5, 6))
    mixed = harvest(game, patient, greedy, 2, 60)
    assert mixed.collective == pytest.approx(5 * mixed.focal + 2 * mixed.others)
    assert mixed.others > mixed.focal
    assert mixed.over_time.shape == (60,)
    alone = harvest(game, patient, (), 2, 60)
    assert alone.bushes == 6.0
    assert alone.apples > mixed.apples


@pytest.mark.long
def test_committed_harvesters_are_as_different_as_claimed() -> None:
    """Alone for 300 steps: PPO eats everything, Proximal AdAlign less fast, summed rewards keep bushes."""
    game = make_game("commons-harvest-open", horizon=300)
    assert isinstance(game, CommonsHarvest)
    found = {}
    for agent in ("proximal-adalign", "ppo", "ppo-sum"):
        names = zoo_names("commons-harvest-open", agent)
        assert len(names) == 3
        found[agent] = [harvest(game, load_player(name), (), 4, 300) for name in names]
    collective = {agent: np.mean([each.collective for each in own]) for agent, own in found.items()}
    assert collective["ppo"] < 80.0
    assert collective["proximal-adalign"] > 1.25 * collective["ppo"]
    assert collective["ppo-sum"] > 1.8 * collective["ppo"]
    assert np.mean([each.bushes for each in found["ppo-sum"]]) > 3.0
