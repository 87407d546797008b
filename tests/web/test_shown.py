"""What the pages show: the list, curves with bands, differences, leagues."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from comity.training.populations.lineage import Individual, Lineage
from comity.web.app import make_app
from comity.web.catalogue import Catalogue
from comity.web.curves import downsample
from comity.web.live import Live, files_signature
from comity.web.places import Root
from comity.web.population import best_line, read_population
from comity.web.replies import Threads
from comity.web.rows import LARGE, RowReader, as_columns, last_row, parsed
from comity.web.shown import sources
from tests.web.folder import NASTY, make_run, row


def get(client: TestClient, where: str, /, **parameters: Any) -> Any:
    found = client.get(where, params=parameters)
    assert found.status_code == 200, found.text
    return found.json()


def test_the_list_has_runs_and_leagues_and_nothing_else(client: TestClient) -> None:
    data = get(client, "/api/index")
    kinds = [(entry["kind"], entry["path"]) for entry in data["entries"]]
    seeds = [("run", f"ppo/seed-{i}") for i in range(3)]
    run = ("run", NASTY.replace("/", "_"))
    files = [("league", "league.json"), ("population", "population.json")]
    assert sorted(kinds) == sorted([*files, ("run", "other"), run, *seeds])
    found = {entry["path"]: entry for entry in data["entries"]}["ppo/seed-1"]
    assert (found["iteration"], found["iterations"], found["reward"]) == (100, 100, 2.0)
    assert found["status"] == "finished"
    assert data["token"] is False


def test_a_run_whose_process_is_gone_was_interrupted(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "run.json").write_text(json.dumps({"status": "started", "process": {"pid": 2**30}}))
    assert Catalogue(Root(tmp_path)).entries()[0]["status"] == "interrupted"


@pytest.mark.parametrize(
    ("axis", "last"), [("iteration", 100), ("steps", 6400), ("cpu", 25.0), ("time", 50.0)]
)
def test_curves_by_every_axis(client: TestClient, axis: str, last: float) -> None:
    found = get(client, "/api/curves", path="ppo/seed-0", metric="reward", x=axis)["curves"]
    assert (found[0]["x"][-1], found[0]["y"][-1]) == (last, 1.0)


def test_seeds_have_a_band_and_kinds_stay_apart(client: TestClient) -> None:
    paths = ["ppo/seed-0", "ppo/seed-1", "ppo/seed-2", "other"]
    seeds, other = get(client, "/api/curves", path=paths, metric="reward")["curves"]
    assert (seeds["seeds"], other["seeds"]) == (3, 1)
    assert seeds["y"][-1] == pytest.approx(2.0)  # rewards 1, 2 and 3
    assert seeds["low"][-1] == pytest.approx(1.0)
    assert seeds["high"][-1] == pytest.approx(3.0)
    assert "low" not in other
    apart = get(client, "/api/curves", path=paths, metric="reward", bands=0)["curves"]
    assert [one["name"] for one in apart] == paths


def test_smoothing_is_a_mean_of_rows_around_each(client: TestClient, root: Path) -> None:
    folder = make_run(root / "steps", rows=10)
    lines = [json.dumps({"iteration": i, "reward": float(i == 5)}) + "\n" for i in range(1, 11)]
    (folder / "metrics.jsonl").write_text("".join(lines))
    found = get(client, "/api/curves", path="steps", metric="reward", smooth=0.3)["curves"][0]["y"]
    assert found == pytest.approx([0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0])
    shutil.rmtree(folder)


def test_differences_name_the_setting(client: TestClient) -> None:
    found = get(client, "/api/run", path=["ppo/seed-0", "other"])
    assert found["differences"] == {"agent.learning_rate": [0.001, 0.01]}
    assert found["metrics"] == ["reward", "entropy"]
    assert found["runs"][0]["settings"]["game.horizon"] == 16


def test_a_league_with_standings_and_where_its_players_are(client: TestClient) -> None:
    found = get(client, "/api/league", path="league.json")
    assert found["mean"] == [[-1.0, -2.0], [-1.9, -2.0]]
    assert found["standings"][0]["player"] == "tit-for-tat"
    assert found["sources"]["tit-for-tat"] == "tit-for-tat"


def test_players_of_a_league_are_found_by_where_they_were() -> None:
    runs = {"a", "b/seed-0", "b/seed-1", "c/seed-0"}
    given = {"x": "runs/a", "y": "b", "z": "../b/seed-1", "seed-0": "c/seed-0", "t": "tit-for-tat"}
    found = {"x": "a", "y": "b/seed-0", "z": "b/seed-1", "seed-0": "c/seed-0", "t": "tit-for-tat"}
    assert sources(given, runs) == found


def test_a_league_as_a_game(client: TestClient) -> None:
    found = get(client, "/api/league/analysis", path="league.json")
    assert found["exploitability"]["by_league"] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert found["players"][0] == "tit-for-tat"


def test_a_population_has_parents_and_the_line_of_the_fittest(client: TestClient, root: Path) -> None:
    found = get(client, "/api/population", path="population.json")
    assert (found["generations"], len(found["members"]), found["settings"]) == (3, 9, ["rate"])
    assert found["line"] == ["generation-0/member-0", "generation-1/member-0", "generation-2/member-2"]
    damaged = [[{"name": "a", "fitness": "x", "settings": 3, "parent": 5}, 7, {"name": 1}], None]
    data = {"kind": "comity-population", "generations": damaged}
    (root / "damaged.json").write_text(json.dumps(data))
    (member,) = get(client, "/api/population", path="damaged.json")["members"]
    assert (member["fitness"], member["settings"], member["parent"]) == (None, {}, None)
    assert client.get("/api/population?path=league.json").status_code == 404
    (root / "damaged.json").unlink()


def test_a_lineage_is_read_as_populations_write_it() -> None:
    first = tuple(Individual(f"generation-000/member-{i}", None, {"rate": 0.1 * i}, i / 10) for i in range(3))
    second = tuple(
        Individual(f"generation-001/member-{i}", first[2].name, {"rate": 0.3}, -i) for i in range(3)
    )
    lineage = Lineage((first, second, (Individual("generation-002/member-0", second[0].name, {}),)), "reward")
    found = read_population(json.loads(json.dumps(lineage.to_data())), "pbt", {"pbt/generation-000/member-2"})
    assert found is not None
    assert found["line"] == [own.name for own in lineage.ancestors(lineage.best.name)]
    assert found["measure"] == "reward"
    assert [own["run"] for own in found["members"]].count("pbt/generation-000/member-2") == 1
    assert found["members"][-1]["fitness"] is None


def test_a_lineage_in_a_ring_ends() -> None:
    ring = [{"name": "a", "parent": "b", "fitness": 1.0, "generation": 0},
            {"name": "b", "parent": "a", "fitness": 2.0, "generation": 0}]  # fmt: skip
    assert best_line(ring) == ["a", "b"]


def test_downsampling_keeps_ends_and_peaks() -> None:
    x = np.arange(100_000.0)
    y = np.zeros(100_000)
    y[54_321], y[77_777] = 9.0, -9.0
    few_x, few_y = downsample(x, y)
    assert len(few_x) <= 1002
    assert (few_x[0], few_x[-1], few_y.max(), few_y.min()) == (0.0, 99_999.0, 9.0, -9.0)


def test_rows_that_are_added_are_read_and_half_lines_wait(tmp_path: Path) -> None:
    path, reader = tmp_path / "metrics.jsonl", RowReader()
    path.write_text(row(1) + "no JSON\n[3]\n" + '{"iteration": 2, "reward": NaN}\n' + '{"iteration": 3, "rew')
    first = reader.columns(path)
    assert first["iteration"].tolist() == [1, 2]
    assert np.isnan(first["reward"][1])
    with open(path, "a") as file:
        file.write('ard": 7}\n')
    assert reader.columns(path)["reward"][2] == 7
    path.write_text(row(1))  # the run went back to a checkpoint
    assert reader.columns(path)["iteration"].tolist() == [1]
    path.unlink()
    assert reader.columns(path) == {}
    assert last_row(path) == {}


def test_lines_that_are_read_at_once_are_those_that_are_read_alone() -> None:
    good = [row(i).encode() for i in range(1, 4)]
    assert [own["iteration"] for own in parsed(good)] == [1, 2, 3]
    tricky = [b'{"iteration": 4}, {"iteration": 5}', b'{"iteration": 6', b'"x": 1}', b"", b"]", b"[", b"7"]
    assert [own["iteration"] for own in parsed([*good, *tricky])] == [1, 2, 3]
    split = [b'{"iteration": 6, "a": [1', b"2]}"]  # two lines that together are one object
    assert parsed(split) == []
    huge = as_columns(
        parsed([b'{"iteration": 1, "a": 1' + b"0" * 400 + b"}", b'{"iteration": 2, "a": true}'])
    )
    assert np.isnan(huge["a"]).all()


def test_nan_becomes_null_in_replies(client: TestClient, root: Path) -> None:
    folder = make_run(root / "nan", rows=1)
    (folder / "metrics.jsonl").write_text('{"iteration": 1, "reward": Infinity, "entropy": NaN}\n' + row(2))
    text = client.get("/api/index").text + client.get("/api/curves?path=nan&metric=reward").text
    assert "NaN" not in text
    assert "Infinity" not in text
    shutil.rmtree(folder)


def test_a_large_file_is_read_by_samples_in_order(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    count = LARGE // len(row(100_000)) + 50_000
    path.write_text("".join(row(i) for i in range(1, count + 1)))
    started = time.process_time()  # the machine may have other work
    found = RowReader().columns(path)
    assert time.process_time() - started < 1.5
    iterations = found["iteration"]
    assert 15_000 < iterations.size <= 20_010
    assert (iterations[0], iterations[-1]) == (1, count)
    assert np.array_equal(found["reward"], iterations / 100)
    assert np.diff(iterations).max() < 4 * count / 20_000  # no stretch is left out


def test_a_folder_of_500_runs_is_listed_in_a_second(tmp_path: Path) -> None:
    for i in range(500):
        make_run(tmp_path / f"kind-{i // 10}" / f"seed-{i % 10}", rows=3)
    with TestClient(make_app(tmp_path, "t", ["testserver"])) as client:
        started = time.process_time()
        found = client.get("/api/index").json()["entries"]
        assert time.process_time() - started < 0.8
    assert len(found) == 500


def test_a_run_that_disappears_is_no_error(client: TestClient, root: Path) -> None:
    folder = make_run(root / "gone")
    assert client.get("/api/run?path=gone").status_code == 200
    shutil.rmtree(folder)
    assert client.get("/api/run?path=gone").status_code == 404
    assert client.get("/api/live?path=gone").status_code == 404
    assert "gone" not in client.get("/api/index").text


@pytest.mark.anyio
async def test_viewers_hear_of_changes_and_share_one_look(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", rows=1)
    looks = 0

    def look() -> Any:
        nonlocal looks
        looks += 1
        return files_signature([folder])

    live = Live(Threads())
    viewers = [live.events("run", look) for _ in range(20)]
    for viewer in viewers:
        assert [await anext(viewer), await anext(viewer)] == [
            b"retry: 2000\n\n",
            b"event: open\ndata: {}\n\n",
        ]
    assert live.viewers == 20
    with open(folder / "metrics.jsonl", "a") as file:
        file.write(row(2))
    for viewer in viewers[:2]:
        assert await anext(viewer) == b"event: changed\ndata: {}\n\n"
    assert looks <= 4
    for viewer in viewers:
        await viewer.aclose()  # type: ignore[attr-defined]
    assert live.viewers == 0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
