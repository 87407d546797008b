"""Who helps whom, kinds of episodes, and how fast training comes to rest: known answers."""

import numpy as np
import pytest

from comity.api import scripted_player
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.evaluate.behaviour import proportion_interval
from comity.evaluate.clusters import cluster_episodes, find_clusters, silhouette
from comity.evaluate.convergence import convergence
from comity.evaluate.episodes import play_episodes
from comity.evaluate.influence import AVERAGE, league_influence, seat_influence
from comity.evaluate.league import play_league
from comity.evaluate.replay import replay
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

DILEMMA = make_game("prisoners-dilemma", horizon=10)


def scripted(*names: str) -> tuple[Player, ...]:
    return tuple(scripted_player(name, DILEMMA) for name in names)


def test_tit_for_tat_helps_and_always_defect_harms() -> None:
    """Payoffs -1, -2.1 of tit-for-tat and -1.8, -2 of always-defect, against their means -1.55 and -1.9."""
    names = ("tit-for-tat", "always-defect")
    league = play_league(DILEMMA, dict(zip(names, scripted(*names), strict=True)), episodes=2)
    found = league_influence(league)
    np.testing.assert_allclose(found.effect, [[0.55, 0.1], [-0.55, -0.1]], atol=1e-6)
    assert (found.names, found.baseline) == (names, AVERAGE)
    assert found.certain.all()
    against = league_influence(league, "tit-for-tat")
    np.testing.assert_allclose(against.effect, [[0.0, 0.0], [-1.1, -0.2]], atol=1e-6)
    assert against.certain.tolist() == [[False, False], [True, True]]
    with pytest.raises(ComityError, match="Did you mean tit-for-tat"):
        league_influence(league, "tit-for-tatt")


def test_uncertain_effects_are_not_certain() -> None:
    players = {"one": scripted("random")[0], "two": scripted("random")[0]}
    found = league_influence(play_league(DILEMMA, players, episodes=50))
    assert not found.certain.any()
    assert (found.low < found.high).all()


def test_effects_among_seats() -> None:
    """In place of one who gives, a defector takes half from each of the others: 2 / 4 of its 1."""
    game = make_game("public-goods", players=4, horizon=2)
    gives, takes = (scripted_player(name, game) for name in ("always-cooperate", "always-defect"))
    found = seat_influence(game, (gives, gives, takes, gives), (takes,) * 4, name="defector", episodes=3)
    others = ~np.eye(4, dtype=bool)
    expected = np.where(np.arange(4)[:, None] == 2, 0.0, 0.5) * np.ones((4, 4))
    np.testing.assert_allclose(found.effect[others], expected[others], atol=1e-6)
    assert np.isnan(np.diag(found.effect)).all()
    assert found.certain.sum() == 9


def test_a_mixture_of_two_behaviours_is_found() -> None:
    """A player that repeats its first move, which is drawn: half of the episodes are CC..., half DD...."""
    same = make_agent(
        "memory-one", DILEMMA, first=0.5, after_cc=1.0, after_cd=1.0, after_dc=0.0, after_dd=0.0
    )
    players = (make_player(same, DILEMMA), scripted("tit-for-tat")[0])
    found = cluster_episodes(DILEMMA, players, episodes=60)
    played = play_episodes(DILEMMA, players, episodes=60)
    cooperates = played.actions[0][:, 0] == 0
    assert len(found.clusters) == 2
    assert found.silhouette > 0.9
    for k in range(2):
        assert len(set(cooperates[found.labels == k])) == 1  # no cluster has episodes of both kinds
        cluster = found.clusters[k]
        assert found.labels[cluster.representative] == k
        assert cluster.share == pytest.approx(np.mean(found.labels == k))
        kind = bool(cooperates[found.labels == k][0])
        assert cluster.features["player 1: cooperation"] == float(kind)
        shown = replay(DILEMMA, players, found.seed, episode=cluster.representative).moments
        assert all(int(moment.actions[0]) == (0 if kind else 1) for moment in shown[1:])
    again = cluster_episodes(DILEMMA, players, episodes=60)
    assert again.labels.tolist() == found.labels.tolist()


def test_episodes_of_one_kind_are_one_cluster() -> None:
    found = cluster_episodes(DILEMMA, scripted("tit-for-tat", "tit-for-tat"), episodes=10)
    assert len(found.clusters) == 1
    assert found.clusters[0].share == 1.0
    assert np.isnan(found.silhouette)
    noise = np.random.default_rng(0).normal(size=(200, 6))
    assert find_clusters(noise)[0].max() == 0


def test_three_heaps_are_three_clusters_the_largest_first() -> None:
    random = np.random.default_rng(1)
    middles = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], [5, 20, 10], axis=0)
    labels, score = find_clusters(middles + random.normal(scale=0.1, size=middles.shape))
    assert labels.tolist() == [2] * 5 + [0] * 20 + [1] * 10
    assert score > 0.9


def test_silhouette_by_hand() -> None:
    """Points 0, 1 and 4, 5 of a line: (4.5 - 1) / 4.5 for the outer, (3.5 - 1) / 3.5 for the inner ones."""
    x = np.asarray([0.0, 1.0, 4.0, 5.0])
    found = silhouette(np.abs(x[:, None] - x[None]), np.asarray([0, 0, 1, 1]))
    assert found == pytest.approx((3.5 / 4.5 + 2.5 / 3.5) / 2)


def test_convergence_of_an_exponential() -> None:
    rows = [{"iteration": t, "reward": 1.0 - np.exp(-t / 100)} for t in range(0, 2001, 2)]
    found = convergence(rows)
    assert found is not None
    assert found.rate == pytest.approx(0.01, rel=0.03)
    assert found.half_life == pytest.approx(100 * np.log(2), rel=0.03)
    assert found.settled == pytest.approx(100 * np.log(10), rel=0.03)
    assert found.at_rest
    rising = convergence([{"iteration": t, "reward": float(t)} for t in range(100)])
    assert rising is not None
    assert not rising.at_rest
    assert convergence(rows[:5]) is None
    flat = convergence([{"iteration": t, "reward": 2.0} for t in range(50)])
    assert flat is not None
    assert np.isnan(flat.rate)


def test_intervals_of_shares() -> None:
    """Wilson's interval of 8 of 10 is .490 to .943; trials of an episode that are alike count once."""
    one = np.ones((10, 1))
    low, high = proportion_interval(np.asarray([[1.0]] * 8 + [[0.0]] * 2), one)
    assert (low[0], high[0]) == (pytest.approx(0.4902, abs=1e-3), pytest.approx(0.9433, abs=1e-3))
    alike = proportion_interval(np.asarray([[50.0], [0.0]]), np.asarray([[50.0], [50.0]]))
    assert alike[1][0] - alike[0][0] > 0.7
    sure = proportion_interval(np.asarray([[4.0]]), np.asarray([[4.0]]))
    assert (sure[0][0], sure[1][0]) == pytest.approx((0.5101, 1.0), abs=1e-3)
    never = proportion_interval(np.zeros((3, 1)), np.zeros((3, 1)))
    assert np.isnan(never).all()
