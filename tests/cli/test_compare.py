"""Runs side by side: grouped by what differs besides the seed, on one page."""

import json
from pathlib import Path

import pytest

import comity
from comity.cli import run as command
from comity.evaluate.groups import differences, group_runs
from comity.training.records import find_runs
from tests.report.test_report import check_page

GAME = {"name": "prisoners-dilemma", "horizon": 4}
SUMMED = {"name": "shared-reward", "game": GAME, "others": 1.0}


def config(game: object = GAME, agent: str = "a2c", seed: int = 0, **settings: float) -> dict[str, object]:
    return {"game": game, "agents": [{"name": agent, **settings}], "batch": 4, "unroll": 4, "seed": seed}


def write_run(path: Path, data: dict[str, object], rewards: list[float]) -> Path:
    """A run folder as one that was trained before steps and seconds were logged."""
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(data))
    rows = [{"iteration": i + 1, "reward": reward, "loss": 1.0} for i, reward in enumerate(rewards)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for seed in (0, 1, 2):
        write_run(tmp_path / "first" / f"seed-{seed}", config(seed=seed), [-2.0, -1.0 - 0.1 * seed])
        summed = config(SUMMED, seed=seed)
        write_run(tmp_path / "summed" / f"seed-{seed}", summed, [-2.0, -3.0 - 0.1 * seed])
    return tmp_path


def test_kinds_are_named_after_what_differs() -> None:
    configs = [config(seed=0), config(seed=1), config(SUMMED), config(agent="ppo"), config(weight=2.0)]
    assert group_runs([""] * 5, configs) == {
        "a2c": [0, 1],
        "a2c, shared-reward": [2],
        "ppo": [3],
        "a2c, weight=2.0": [4],
    }
    assert list(group_runs(["x", "x", "y", "x", ""], configs)) == ["x, a2c", "y", "x, ppo", "a2c, weight=2.0"]
    assert differences([config(weight=1.0), config(weight=2.0)]) == {"agent.weight": [1.0, 2.0]}
    with pytest.raises(comity.ComityError, match="two runs with seed 0"):
        group_runs(["", ""], [config(), config()])


def test_a_page_and_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = runs / "page.html"
    sources = [str(runs / "first"), f"<sum>={runs / 'summed'}"]
    assert command(["compare", *sources, "--out", str(out), "--episodes", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["best"] == "a2c"
    assert [group["name"] for group in data["groups"]] == ["a2c", "<sum>"]
    assert [run["score"] for run in data["groups"][0]["runs"]] == [-1.0, -1.1, -1.2]
    assert data["groups"][0]["runs"][0]["steps"] == 32  # 2 iterations of 4 games and 4 steps
    assert data["probability_of_improvement"] == [[0.5, 1.0], [0.0, 0.5]]
    assert data["differences"] == {"game.shared-reward.others": [None, 1.0]}
    page = check_page(out.read_text())
    assert "a2c ends with the highest reward per step, -1.100" in page
    assert "the intervals of 3 seeds lie apart" in page
    assert "&lt;sum&gt;" in page
    assert "<sum>" not in page
    for heading in ("How sure that is", "Settings that differ", "Runs"):
        assert f"<h2>{heading}</h2>" in page
    for label in ("by iterations", "by environment steps"):
        assert f">{label}</label>" in page
    assert "by seconds" not in page  # which these runs did not note


def test_seconds_are_read_where_they_were_noted(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("first", "summed"):
        for seed in (0, 1, 2):
            rows = [{"iteration": i, "seconds": 3.0 * i} for i in (1, 2)]
            text = "".join(json.dumps(row) + "\n" for row in rows) + '{"iteration": 3, "sec'
            (runs / place / f"seed-{seed}" / "timing.jsonl").write_text(text)
    assert command(["report", str(runs / "first"), str(runs / "summed"), "--out", str(runs / "p.html")]) == 0
    page = check_page((runs / "p.html").read_text())
    assert ">by seconds of training</label>" in page
    assert '<td class="number">6</td>' in page
    assert "Their players did not meet" in page  # these runs have none
    assert command(["compare", str(runs), "--out", str(runs / "all.html"), "--episodes", "0"]) == 0
    assert "a2c, shared-reward" in (runs / "all.html").read_text()


def test_seed_10_comes_after_seed_2(tmp_path: Path) -> None:
    for seed in (10, 2):
        write_run(tmp_path / f"seed-{seed}", config(seed=seed), [0.0])
    assert [folder.path.name for folder in find_runs(tmp_path)] == ["seed-2", "seed-10"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["compare"], "needs run folders"),
        (["compare", "{}/first", "{}/first"], "is given twice"),
        (["compare", "{}/first", "{}/other"], "are of different games (prisoners-dilemma, coin)"),
        (["compare", "{}/nowhere"], "does not exist"),
        (
            ["compare", "{}/first", "--metric", "rewrd"],
            "There is no metric named 'rewrd'. Did you mean reward?",
        ),
        (["compare", "=x"], "must be FOLDER or NAME=FOLDER"),
        (["compare", "{}/first", "--smoothing", "0"], "smoothing = 0 is not possible"),
    ],
)
def test_what_cannot_be_compared(
    runs: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(runs / "other", config({"name": "coin"}), [0.0])
    out = runs / "page.html"
    assert command([*(word.format(runs) for word in words), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert not out.exists()
