"""Learners among strangers: who is paid for what, who sits where, and what is committed."""

from pathlib import Path

import pytest

from comity.core.errors import ComityError
from comity.studies.base import Table
from comity.studies.harvest_defence import VARIANTS, HarvestDefence, defence_experiment


def test_each_variant_changes_what_it_names() -> None:
    plain = defence_experiment()
    assert plain.seating == ((0, 1, 2, 3, 4), (5, 6))
    assert [agent.learns for agent in plain.agents] == [True, False]
    assert (plain.game.horizon, plain.unroll) == (1000, 200)
    shared = defence_experiment(**VARIANTS["shared pay"]).to_data()
    assert [sum(row) for row in shared["game"]["weights"]] == [5.0] * 5 + [1.0] * 2
    assert shared["agents"] == plain.to_data()["agents"]
    told = defence_experiment(**VARIANTS["shared pay, identity"]).to_data()
    assert told["game"]["game"]["identity"] == "seat"
    calm = defence_experiment(**VARIANTS["shared pay, low entropy"]).to_data()["agents"][0]
    assert (calm["entropy_coef"], calm["schedule"]["final_entropy"]) == (0.004, 1.0)
    for settings in VARIANTS.values():
        defence_experiment(**settings)  # every one of them fits its game
    aligned = defence_experiment(**VARIANTS["alignment with fellows"]).to_data()["agents"][0]
    assert aligned["term"]["lasting"]
    assert aligned["term"]["goodwill"] == 0.0
    assert aligned["opponent_values"]["align_with"] == "team"


def test_a_short_trace_is_the_same_for_all_who_have_it() -> None:
    names = ("own pay, identity, short trace", "alignment with fellows, identity, short trace")
    own, aligned = (defence_experiment(**VARIANTS[name]).to_data() for name in names)
    assert own["game"] == aligned["game"]
    assert (own["game"]["end_chance"], own["batch"], own["unroll"]) == (0.003, 32, 100)
    learners = (own["agents"][0], aligned["agents"][0]["learner"])
    for name in ("gae_lambda", "clip_ratio", "entropy_coef", "epochs", "minibatches"):
        assert learners[0][name] == learners[1][name]
    assert learners[0]["optimiser"]["learning_rate"] == learners[1]["optimiser"]["learning_rate"] == 0.006


def test_committed_rows_are_those_of_known_variants(tmp_path: Path) -> None:
    study = HarvestDefence()
    results = study.run(tmp_path, from_committed=True)
    assert results["rows"]
    for row in results["rows"]:
        assert row["settings"] == VARIANTS[row["player"]]
    table, _ = study.summary(results)
    assert isinstance(table, Table)
    assert all(len(cells) == len(table.headings) for cells in table.rows)
    page = study.page(results, tmp_path).read_text()
    assert all(row["player"] in page for row in results["rows"])
    with pytest.raises(ComityError, match="shared pay"):
        HarvestDefence(variant="shared pai")
