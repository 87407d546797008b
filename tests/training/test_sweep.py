"""Sweeps: every combination with every seed, on where it stopped, and what it reached."""

import json
import shlex
from pathlib import Path

import pytest

import comity
from comity.cli import run as command
from comity.core.errors import ComityError
from comity.games.transforms import SharedReward
from comity.training.overrides import changed_experiment
from comity.training.populations.sweep import read_sweep
from comity.training.populations.variations import grid, point_name, read_value, varied
from tests.report.test_report import check_page

BASE = shlex.split(
    "prisoners-dilemma a2c --agent.network tabular --iterations 4 --batch 4 --chunk 2 --no-tensorboard "
    "--game.horizon 4 --executor in-process"
)


def experiment() -> comity.Experiment:
    game = comity.make_game("prisoners-dilemma", horizon=4)
    return comity.make_experiment(game, comity.make_agent("a2c", network="tabular"), iterations=4, batch=4)


def test_values_as_they_are_typed() -> None:
    assert [read_value(word) for word in ("1", "0.5", ".5", "1e-3", "true", "gru")] == [
        1, 0.5, 0.5, 0.001, True, "gru",
    ]  # fmt: skip


def test_the_grid_and_its_names() -> None:
    points = grid({"agent.discount": [0.9, 0.99], "batch": [4, 8]})
    assert [point_name(point) for point in points] == [
        "discount=0.9,batch=4", "discount=0.9,batch=8", "discount=0.99,batch=4", "discount=0.99,batch=8",
    ]  # fmt: skip
    assert (
        point_name({"agent.critic.rate": 1, "agent.optimiser.rate": "a/b"})
        == "critic.rate=1,optimiser.rate=a-b"
    )


def test_settings_of_all_kinds_vary() -> None:
    changed = varied(experiment(), {"agent.optimiser.learning_rate": 0.5, "agent.critic.network": "mlp"})
    data = changed.to_data()["agents"][0]
    assert data["optimiser"]["learning_rate"] == 0.5
    assert data["critic"]["network"]["name"] == "mlp"
    assert varied(experiment(), {"game.horizon": 8}).unroll == 8  # as for a game of that length
    assert varied(experiment(), {"iterations": 1000}).chunk == 5
    assert varied(experiment(), {"batch": 16}).batch == 16


def test_rewards_vary_with_the_game_that_they_are_of() -> None:
    own = varied(experiment(), {"rewards": "own"})
    assert own == experiment()
    summed = varied(experiment(), {"rewards": "sum", "game.horizon": 8})
    game = comity.make_game("prisoners-dilemma", horizon=8)
    assert summed.game == SharedReward(game=game, others=1.0)
    assert summed.unroll == 8
    assert varied(summed, {"rewards": 0.5}).game == SharedReward(game=game, others=0.5)  # not one in another
    assert varied(summed, {"rewards": "own"}).game == game
    with pytest.raises(ComityError, match=r"rewards = 'some' is not possible"):
        varied(experiment(), {"rewards": "some"})
    with pytest.raises(ComityError, match=r"rewards = True is not possible"):
        varied(experiment(), {"rewards": True})


def test_rewards_are_a_setting_in_python_too() -> None:
    agent = comity.make_agent("a2c", network="tabular")
    made = changed_experiment(comity.make_game("prisoners-dilemma"), (agent,), None, {"rewards": "sum"})
    assert isinstance(made.game, SharedReward)


@pytest.mark.long
def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sweep"
    vary = ["--vary", "agent.discount", "0.5", "0.9", "--seeds", "2", "--out", str(out), "--json"]
    assert command(["sweep", *BASE, *vary]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == "comity-sweep"
    assert [point["folder"] for point in data["points"]] == ["discount=0.5", "discount=0.9"]
    assert all(len(point["scores"]) == 2 for point in data["points"])
    means = {point["folder"]: point["mean"]["mean"] for point in data["points"]}
    assert data["best"]["folder"] == max(means, key=lambda name: means[name])
    page = check_page((out / "sweep.html").read_text())
    assert "a2c in prisoners-dilemma by agent.discount" in page
    assert (out / "sweep.svg").read_text().startswith("<svg")
    assert command(["sweep", *BASE, *vary]) == 2
    assert "exists already" in capsys.readouterr().err

    kept = {path: path.stat().st_mtime_ns for path in out.glob("*/*/metrics.jsonl")}
    lost = out / "discount=0.9" / "seed-1"
    before = (lost / "metrics.jsonl").read_bytes()
    for path in sorted(lost.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    lost.rmdir()
    assert command(["sweep", *BASE, *vary, "--resume"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["points"] == data["points"]
    assert (lost / "metrics.jsonl").read_bytes() == before
    others = {path: when for path, when in kept.items() if lost not in path.parents}
    assert {path: path.stat().st_mtime_ns for path in others} == others  # finished runs are not repeated

    found = read_sweep(out)
    assert found.table()[0]["folder"] == "discount=0.5"
    assert command(["report", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out / "sweep.html")


def test_numbers_that_are_tunable_train_in_one_program(tmp_path: Path) -> None:
    found = comity.sweep(
        experiment(), vary={"agent.entropy_coef": [0.1, 0.2]}, out=tmp_path / "sweep", executor="vectorised"
    )
    assert found.best["agent.entropy_coef"] in (0.1, 0.2)
    config = json.loads((tmp_path / "sweep" / "entropy_coef=0.1" / "seed-0" / "config.json").read_text())
    assert config["tunable"] == ["entropy_coef"]


def test_a_run_that_fails_does_not_spoil_the_sweep(tmp_path: Path) -> None:
    rates = {"agent.optimiser.learning_rate": [1e-3, 3e38]}
    found = comity.sweep(experiment(), vary=rates, out=tmp_path / "sweep", executor="in-process")
    assert [point["agent.optimiser.learning_rate"] for point in found.points] == [1e-3]
    assert list(found.failed) == ["learning_rate=3e+38/seed-0"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "A sweep needs --vary"),
        ("--vary agent.discount", "--vary needs a setting and its values"),
        ("--vary agent.discuont 0.9", "Did you mean agent.discount or"),
        ("--vary discount 0.9", "There is no setting named 'discount'. Did you mean agent.discount?"),
        ("--vary agent.discount 0.9 big", "agents[0].discount = 'big' is not possible"),
        ("--vary agent.discount 2", "discount = 2.0 is not possible"),
        ("--vary agent.discount 0.9 0.9", "is given twice"),
        ("--vary agent.network.name gru", "There is no setting named 'agent.network.name'"),
        ("--vary agent.network grru", "Did you mean gru"),
        ("--vary seed 1 2", "seeds are counted by --seeds"),
        ("--vary batch 0", "batch = 0 is not possible"),
        ("--vary game.horizn 4", "Did you mean game.horizon?"),
        ("--vary agent2.discount 0.9", "of one of the 1 agents"),
        ("--vary batch 4 --seeds 0", "seeds = 0 is not possible"),
        ("--vary batch 4 --executor nowhere", "There is no executor named 'nowhere'"),
    ],
)
def test_bad_sweeps_leave_nothing(
    tmp_path: Path, words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sweep"
    given = [word for word in BASE if word not in ("--executor", "in-process")]
    assert command(["sweep", *given, *shlex.split(words), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert sentence in said, said
    assert "Traceback" not in said
    assert not out.exists()
