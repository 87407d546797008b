"""How players stand in a league: by self-play and exploitation, not by the mean against fools."""

import dataclasses

import numpy as np

from comity.evaluate.league import League, Outcome, play_league
from comity.evaluate.standing import best_first, leads, standings
from comity.play.loading import scripted_player
from comity.play.specs import make_game
from comity.report.analysis import analyse
from comity.report.verdicts import league_verdict

PLAYERS = ("defector", "fool", "reciprocator")
MEAN = np.asarray([[-2.0, 0.0, -1.9], [-3.0, -1.0, -1.0], [-2.1, -1.0, -1.0]])
LEAGUE = League({"name": "prisoners-dilemma"}, 16, 10, 0, PLAYERS, MEAN, MEAN - 0.1, MEAN + 0.1)


def test_the_order() -> None:
    table = standings(LEAGUE)
    assert [row.player for row in table] == ["reciprocator", "defector", "fool"]
    best, defector, fool = table
    assert best.self_play == -1.0
    np.testing.assert_allclose(best.exploitation, 0.2)
    assert best.exploiter == "defector"
    np.testing.assert_allclose(best.half, 0.1)
    assert (defector.exploitation, defector.exploiter) == (0.0, "")
    assert (fool.exploitation, fool.secured, fool.worst) == (3.0, -4.0, -3.0)
    assert defector.mean > best.mean  # which is why the mean is not the order


def test_the_verdict_names_who_cooperates_and_who_is_exploited() -> None:
    said = league_verdict(LEAGUE)
    assert said == (
        "reciprocator stands best: it earns -1.000 per step with its own kind, and at worst defector earns "
        "0.200 more than it when they meet. Most exploited is fool: defector earns 3.000 more when they meet."
    )
    mean = MEAN.copy()
    mean[1, 1] = -0.5
    kinder = dataclasses.replace(LEAGUE, mean=mean)
    assert "fool earns more with its own kind (-0.500), but at worst defector" in league_verdict(kinder)


def test_among_many_seats_one_is_exploited_where_both_sit_together() -> None:
    game = make_game("public-goods", players=4, horizon=2)
    names = ("always-cooperate", "always-defect")
    league = play_league(game, {name: scripted_player(name, game) for name in names}, episodes=2)
    gives, takes = league.mean[0, 0], league.mean[1, 0]
    # A single defector among three who give earns what these earn and keeps its own share of 1.
    others = league.mean[0, 0] - 2.0 / 4  # each of the three: one contribution times 2, in four parts, less
    np.testing.assert_allclose(leads(league)[1, 0], takes - others, atol=1e-6)
    np.testing.assert_allclose(leads(league)[1, 0], 1.0, atol=1e-6)
    fool = next(row for row in standings(league) if row.player == "always-cooperate")
    assert (fool.exploiter, fool.self_play) == ("always-defect", gives)
    np.testing.assert_allclose(fool.exploitation, 1.0, atol=1e-6)
    assert abs((league.mean[1, 0] - league.mean[0, 1]) - 1.0) > 0.5  # what two different meetings would say
    np.testing.assert_allclose(analyse(league, 0)["exploitability"]["gap"], [1.0, -1.0], atol=1e-6)


def test_of_two_seats_both_ways_to_say_it_agree() -> None:
    game = make_game("prisoners-dilemma", horizon=4)
    names = ("tit-for-tat", "always-defect", "random")
    league = play_league(game, {name: scripted_player(name, game) for name in names}, episodes=3)
    np.testing.assert_allclose(leads(league), league.outcomes["lead"].mean, atol=1e-6)


def test_who_meets_nobody_is_not_exploited() -> None:
    nobody = Outcome(*(np.zeros((2, 2)),) * 3, np.zeros((1, 2, 2)))
    mean = np.asarray([[1.0, 1.0], [5.0, 5.0]])
    league = League(
        {"name": "cart"},
        9,
        1,
        0,
        ("short", "long"),
        mean,
        mean,
        mean,
        seats=("cart",),
        outcomes={"lead": nobody},
    )
    assert [row.exploitation for row in standings(league)] == [0.0, 0.0]


def test_a_sorted_league_is_the_same_league() -> None:
    game = make_game("prisoners-dilemma", horizon=4)
    names = ("always-cooperate", "always-defect", "tit-for-tat")
    league = play_league(game, {name: scripted_player(name, game) for name in names}, episodes=2)
    again = best_first(league)
    assert again.players == tuple(row.player for row in standings(league)) != league.players
    before, after = ({(r["player"], r["opponent"]): r for r in each.pairings()} for each in (league, again))
    assert before == after
    assert standings(again) == standings(league)
