"""`comity episodes`: kinds of episodes, one to look at of each, and who helps or harms whom."""

import json
from pathlib import Path

import numpy as np
import pytest

from comity.cli import run
from comity.evaluate.clusters import Cluster, Clusters
from comity.evaluate.influence import Influence
from comity.report.verdicts import episodes_verdict

GRIM = [
    "episodes",
    "prisoners-dilemma",
    "wild=random",
    "grim-trigger",
    "--episodes",
    "24",
    "--game.horizon",
    "6",
]


def test_kinds_are_printed_with_an_episode_that_can_be_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*GRIM, "--baseline", "always-defect"]) == 0
    printed = capsys.readouterr().out
    assert "24 episodes of 6 steps: player 1 (wild), player 2 (grim-trigger)" in printed
    assert "Kinds of episodes" in printed
    assert "Who helps or harms whom, against always-defect in its place" in printed
    again = "comity replay prisoners-dilemma wild=random grim-trigger --game.horizon 6 --seed 0 --episode N"
    assert f"look at one: {again}" in printed


def test_as_data_each_kind_is_that_of_its_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*GRIM, "--json", "--baseline", "none", "--seed", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["influence"] is None
    assert len(found["kind_of_episode"]) == 24
    for number, kind in enumerate(found["kinds"]):
        assert found["kind_of_episode"][kind["representative"]] == number
        assert kind["share"] == pytest.approx(np.mean(np.asarray(found["kind_of_episode"]) == number))


def test_giving_helps_all_others_as_the_rules_say(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["episodes", "public-goods", *["always-cooperate"] * 2, "always-defect", "--game.players", "3"]
    assert (
        run([*words, "--game.horizon", "3", "--episodes", "4", "--baseline", "always-defect", "--json"]) == 0
    )
    effect = np.asarray(json.loads(capsys.readouterr().out)["influence"]["effect"], float)
    gift = effect[0, 1]
    assert gift > 0.1
    np.testing.assert_allclose([effect[0, 2], effect[1, 0], effect[1, 2]], gift, rtol=1e-6)
    np.testing.assert_allclose(effect[2, :2], 0.0, atol=1e-9)  # the defector is its own baseline


def test_a_page_shows_one_episode_of_each_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kinds.html"
    assert run([*GRIM, "--out", str(out)]) == 0
    page = out.read_text()
    kinds = page.count("data:image/gif;base64")
    assert kinds == page.count("<figcaption>Kind ") >= 1
    for heading in ("Kinds of episodes", "One episode of each kind", "Who helps or harms whom"):
        assert f"<h2>{heading}</h2>" in page
    assert '<p class="verdict">' in page
    assert str(out) in capsys.readouterr().out


def test_the_verdict_says_no_more_than_is_certain() -> None:
    kind = Cluster(0.75, 2, (1.0, -1.0), {"a: C": 0.9}, ("a: C 0.90",))
    other = kind._replace(share=0.25, representative=0)
    two = Clusters((kind, other), np.asarray([1, 0, 0, 0]), 0.8, 0)
    effect = np.asarray([[np.nan, -0.5], [0.1, np.nan]])
    sure = Influence(("a", "b"), "random", effect, effect - 0.2, effect + 0.2)
    assert episodes_verdict(two, sure) == (
        "4 episodes are of 2 kinds; the largest, 75% of them, is set apart by a: C 0.90. Most felt is "
        "a: against random in its place it harms b by 0.500 per step."
    )
    unsure = sure._replace(low=effect - 1, high=effect + 1)
    one = Clusters((kind._replace(share=1.0),), np.zeros(4, int), float("nan"), 0)
    assert episodes_verdict(one, unsure) == (
        "All 4 episodes are of one kind. No player surely helps or harms another, against random in its "
        "place."
    )
    assert episodes_verdict(one, None).endswith("In the largest kind the seats earn 1.000, -1.000 per step.")
