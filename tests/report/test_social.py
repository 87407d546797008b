"""Social outcomes on pages."""

import numpy as np

import comity
from comity.evaluate.clusters import cluster_episodes
from comity.evaluate.influence import Influence, league_influence
from comity.play.specs import make_game
from comity.report import social

DILEMMA = make_game("prisoners-dilemma", horizon=10)


def test_a_league_has_outcomes_and_a_graph() -> None:
    league = comity.league(DILEMMA, ["tit-for-tat", "always-defect"], episodes=2)
    section = social.outcomes_section(league)
    assert "<td>tit-for-tat</td>" in section
    assert "cooperation with others" in section
    assert "0.100" in section  # of tit-for-tat with a defector
    graph = social.influence_graph(league_influence(league))
    assert graph.count("<polygon") == 2  # help one way, harm the other
    assert graph.count('stroke-dasharray="6 4"') == 2  # of always-defect: to the other, and to its own kind
    assert "<title>-0.550</title>" in graph
    assert social.influence_section(league_influence(league)).startswith("<section")


def test_only_what_is_certain_is_drawn() -> None:
    effect = np.asarray([[np.nan, 0.5], [-0.2, np.nan]])
    graph = social.influence_graph(Influence(("<one>", "two"), "random", effect, effect - 0.3, effect + 0.3))
    assert graph.count("<polygon") == 1
    assert "&lt;one&gt;" in graph
    assert "<one>" not in graph


def test_training_and_clusters() -> None:
    rows = [
        {
            "iteration": t,
            "reward": 1.0 - np.exp(-t / 10),
            "outcome/cooperation": 0.5,
            "outcome/cooperation/two": 1.0,
        }
        for t in range(100)
    ]
    section = social.training_section([rows], "reward")
    assert "<td>cooperation</td>" in section
    assert "<td>cooperation of two</td>" in section
    assert ">7<" in section  # 10 ln 2
    assert social.training_section([[{"iteration": 1, "reward": 1.0}]], "reward") == ""
    league = comity.league(DILEMMA, ["tit-for-tat"], episodes=2)
    assert league.outcomes
    players = (comity.load_player("tit-for-tat", DILEMMA),) * 2
    found = cluster_episodes(DILEMMA, players, episodes=4)
    assert "All episodes are of one kind." in social.clusters_section(found, ["one", "two"])
