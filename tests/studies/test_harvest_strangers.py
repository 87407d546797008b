"""Stand-ins for trained strangers: what is committed about them holds together."""

from pathlib import Path

from comity.studies.base import Table
from comity.studies.harvest_strangers import RULES, ZOO, HarvestStrangers


def test_stand_ins_rank_rules_and_players_as_trained_strangers_do(tmp_path: Path) -> None:
    study = HarvestStrangers()
    results = study.run(tmp_path, from_committed=True)
    rows = [row for row in results["rows"] if row["trained"] is not None]
    assert len(results["rows"]) == len(RULES) + len(ZOO)
    # Rows that are further apart than the noise of either measurement.
    pairs = [(a, b) for a in rows for b in rows if a["trained"] > b["trained"] + 0.15]
    assert len(pairs) > 20
    assert all(a["score"] > b["score"] for a, b in pairs)
    match, table, _ = study.summary(results)
    assert isinstance(match, Table)
    assert isinstance(table, Table)
    assert [row[0] for row in match.rows] == ["trained", "zappers", "pacifists"]
    page = study.page(results, tmp_path).read_text()
    assert all(row["player"] in page for row in results["rows"])


def test_stand_ins_do_to_the_map_what_trained_strangers_do() -> None:
    match = HarvestStrangers().committed_results()["match"]
    trained = match["trained"]
    for kind in ("zappers", "pacifists"):
        found = match[kind]
        assert abs(found["each"][0] / trained["each"][0] - 1) < 0.15
        for name in ("half", "bare"):
            low, high = trained[name]
            assert 0.95 * low < found[name][0] < 1.05 * high
        assert all(abs(a - b) <= 0.03 for a, b in zip(found["bites"], trained["bites"], strict=True))
    assert abs(match["zappers"]["zaps"] - trained["zaps"]) < 0.2
    assert abs(match["zappers"]["hits"] - trained["hits"]) < 0.02
    assert match["pacifists"]["zaps"] == 0
