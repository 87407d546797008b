"""Social outcomes in leagues, and leagues of several seeds."""

import json
from pathlib import Path

import numpy as np
import pytest

from comity.api import scripted_player
from comity.evaluate.league import League, average_seeds, by_kind, play_league, read_league
from comity.play.specs import make_game

DILEMMA = make_game("prisoners-dilemma")
NAMES = ("tit-for-tat", "always-defect", "random")


@pytest.fixture(scope="module")
def league() -> League:
    players = {name: scripted_player(name, DILEMMA) for name in NAMES}
    return play_league(DILEMMA, players, episodes=200, horizon=10)


def test_cooperation_of_each_pairing(league: League) -> None:
    """Tit-for-tat cooperates once in ten steps with a defector, and after every random cooperation."""
    found = league.outcomes["cooperation"]
    np.testing.assert_allclose(found.mean[:2, :2], [[1.0, 0.1], [0.0, 0.0]], atol=1e-6)
    assert found.mean[0, 2] == pytest.approx((1 + 9 * 0.5) / 10, abs=0.02)
    for expected, pair in ((0.5, (2, 0)), (0.55, (0, 2))):
        assert found.low[pair] - 0.01 < expected < found.high[pair] + 0.01
        assert 0 < found.high[pair] - found.low[pair] < 0.1
    assert (found.low[:2, :2] == found.high[:2, :2]).all()
    np.testing.assert_allclose(found.by_seat[:, 0, 1], 0.1, atol=1e-6)


def test_welfare_equality_and_lead(league: League) -> None:
    expected = {"utilitarian_welfare": -3.9, "egalitarian_welfare": -2.1, "equality": 1 - 0.3 / 3.9}
    for name, value in expected.items():
        for pair in ((0, 1), (1, 0)):
            assert league.outcomes[name].mean[pair] == pytest.approx(value, abs=1e-5)
    assert league.outcomes["nash_welfare"].mean[0, 0] == pytest.approx(1.0)  # -1 each, 1 above the maximin
    lead = league.outcomes["lead"].mean
    assert lead[1, 0] == pytest.approx(0.3, abs=1e-5)
    np.testing.assert_allclose(lead, league.mean - league.mean.T, atol=1e-6)


def test_a_crowd_is_led_by_who_defects_in_it() -> None:
    """One defector among three who give: the pot of 3, doubled, is shared by four."""
    game = make_game("public-goods", players=4, horizon=3)
    players = {name: scripted_player(name, game) for name in ("always-cooperate", "always-defect")}
    found = play_league(game, players, episodes=2)
    assert found.outcomes["lead"].mean[1, 0] == pytest.approx(1.0)
    assert found.outcomes["lead"].mean[0, 1] == pytest.approx(-1.0)
    assert found.outcomes["cooperation"].mean.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert found.outcomes["utilitarian_welfare"].mean[1, 0] == pytest.approx(3.0)


def test_nobody_has_a_choice() -> None:
    """With nothing dearer to the other there is nothing to leave to it."""
    game = make_game("negotiation", low=2.0, high=2.0)
    players = {"random": scripted_player("random", game)}
    assert "cooperation" not in play_league(game, players, episodes=2, horizon=1).outcomes


def test_outcomes_survive_their_file(league: League, tmp_path: Path) -> None:
    unknown = league.outcomes["cooperation"].mean.copy()
    unknown[0, 0] = np.nan
    path = tmp_path / "league.json"
    changed = dict(league.outcomes, cooperation=league.outcomes["cooperation"]._replace(mean=unknown))
    data = {**league.to_data(), "outcomes": {name: own.to_data() for name, own in changed.items()}}
    path.write_text(json.dumps(data, allow_nan=False))
    again = read_league(path)
    assert set(again.outcomes) == set(league.outcomes)
    np.testing.assert_array_equal(again.outcomes["cooperation"].mean, unknown)
    np.testing.assert_array_equal(again.outcomes["equality"].by_seat, league.outcomes["equality"].by_seat)
    del data["outcomes"]
    path.write_text(json.dumps(data))
    assert read_league(path).outcomes == {}


def test_seeds_are_averaged_with_intervals_over_seeds(league: League) -> None:
    kinds = {"both": [0, 1], "random": [2]}
    merged, over_episodes = average_seeds(league, kinds), by_kind(league, kinds)
    np.testing.assert_array_equal(merged.mean, over_episodes.mean)
    assert merged.mean[0, 0] == pytest.approx((-1.0 - 2.0) / 2)  # each with itself
    assert merged.mean[0, 1] == pytest.approx(league.mean[:2, 2].mean())
    assert (merged.low[0, 0], merged.high[0, 0]) == (-2.0, -1.0)  # both seeds drawn twice, at the ends
    row = league.mean[:2, 2]
    assert (merged.low[0, 1], merged.high[0, 1]) == (row.min(), row.max())
    assert merged.low[1, 1] == league.low[2, 2]  # a single player keeps its episodes' interval
    shares = merged.outcomes["cooperation"]
    assert (shares.mean[0, 0], shares.low[0, 0], shares.high[0, 0]) == (0.5, 0.0, 1.0)


def test_what_is_not_a_number_is_left_out_of_means(league: League) -> None:
    table = np.asarray([[np.nan, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, np.nan]])
    outcome = league.outcomes["lead"]._replace(mean=table, low=table, high=table)
    changed = League(**{**vars(league), "outcomes": {"lead": outcome}})
    merged = average_seeds(changed, {"two": [0, 1], "last": [2]}).outcomes["lead"]
    np.testing.assert_array_equal(merged.mean, [[4.0, 3.5], [6.5, np.nan]])
