"""How players stand in a league: by self-play and exploitation, not by the mean against fools."""

import dataclasses

import numpy as np

from comity.evaluate.league import League
from comity.evaluate.standing import standings
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
