"""A run that was killed, stopped or damaged goes on as if nothing had happened, bit by bit."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.cli import run as comity
from comity.core.errors import ComityError
from comity.training import runner
from comity.training.experiment import Experiment, make_experiment
from comity.training.folder import RunFolder
from comity.training.loop import advance, start
from comity.training.options import Options
from tests.training.test_runner import DILEMMA, TABULAR

IN_SELF_PLAY = shlex.split(
    "prisoners-dilemma a2c --agent.network tabular --agent.optimiser.learning-rate 0.05 --batch 4 "
    "--iterations 120 --unroll 5 --chunk 2 --checkpoint-seconds 0 --seed 5"
)
SETTINGS = [*IN_SELF_PLAY, *shlex.split("--opponents past --opponents.groups 2 --opponents.every 2")]
PLAYER = Path("players/player.safetensors")


def begin(*arguments: str) -> subprocess.Popen[str]:
    """The program as a user starts it, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "comity", "train", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )


def reached(folder: Path) -> int:
    return max((int(path.stem) for path in RunFolder(folder).checkpoints()), default=0)


def wait_for(process: subprocess.Popen[str], folder: Path, iteration: int) -> None:
    """Waits until a run has written a checkpoint of the iteration or a later one."""
    deadline = time.monotonic() + 120
    while reached(folder) < iteration and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.poll() is None, f"it ended before it could be stopped: {process.communicate()}"
    assert reached(folder) >= iteration


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert comity(["train", *SETTINGS, "--out", str(folder)]) == 0
    return folder


def assert_same(folder: Path, uninterrupted: Path) -> None:
    assert (folder / PLAYER).read_bytes() == (uninterrupted / PLAYER).read_bytes()
    assert (folder / "metrics.jsonl").read_bytes() == (uninterrupted / "metrics.jsonl").read_bytes()
    last = "checkpoints/000000120.safetensors"
    assert (folder / last).read_bytes() == (uninterrupted / last).read_bytes()
    assert json.loads((folder / "run.json").read_text())["status"] == "finished"


@pytest.mark.claims
def test_killed_again_and_again(uninterrupted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    moments = random.Random()
    killed_at = []
    arguments = [*SETTINGS, "--out", str(folder)]
    for first, last in ((2, 20), (30, 60), (70, 100)):
        process = begin(*arguments)
        wait_for(process, folder, moments.randrange(first, last))
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        killed_at.append(reached(folder))
        arguments = [*SETTINGS, "--out", str(folder), "--resume"]
    assert comity(["train", "--resume", str(folder)]) == 0
    print("killed at", killed_at)
    assert_same(folder, uninterrupted)


@pytest.mark.claims
def test_ctrl_c_saves_and_says_how_to_go_on(uninterrupted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = begin(*SETTINGS, "--out", str(folder))
    wait_for(process, folder, 10)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    stopped_at = reached(folder)
    assert 10 <= stopped_at < 120
    assert json.loads((folder / "run.json").read_text())["status"] == "stopped"
    assert (folder / PLAYER).is_file()
    command = said.split("go on with: comity ")[1].splitlines()[0]
    assert comity(shlex.split(command)) == 0
    assert_same(folder, uninterrupted)


def test_only_the_last_checkpoints_are_kept(uninterrupted: Path) -> None:
    names = [path.name for path in RunFolder(uninterrupted).checkpoints()]
    assert names == ["000000116.safetensors", "000000118.safetensors", "000000120.safetensors"]
    assert not list(uninterrupted.rglob("*.tmp"))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_newest_checkpoint(
    damage: str, uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(uninterrupted, tmp_path / "run")
    newest = RunFolder(folder).checkpoints()[-1]
    content = bytearray(newest.read_bytes())
    content[-5] ^= 0xFF
    newest.write_bytes({"cut": bytes(content[:-100]), "flip": bytes(content), "empty": b""}[damage])
    assert comity(["train", "--resume", str(folder)]) == 0
    said = capsys.readouterr().err
    assert f"warning: {newest} is " in said
    assert "The checkpoint before it is used." in said
    assert_same(folder, uninterrupted)


def test_a_damaged_checkpoint_does_not_push_out_sound_ones(uninterrupted: Path, tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(uninterrupted, tmp_path / "run"))
    experiment = folder.experiment()
    newest = folder.checkpoints()[-1]
    newest.write_bytes(b"damaged")
    state, complaints = folder.restore(experiment)
    assert len(complaints) == 1
    assert state is not None
    folder.save(experiment, state, keep=1)
    assert [path.name for path in folder.checkpoints()] == ["000000118.safetensors"]
    assert newest.with_suffix(".damaged").is_file()


def test_if_no_checkpoint_is_sound_nothing_is_overwritten(uninterrupted: Path, tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(uninterrupted, tmp_path / "run"))
    for path in folder.checkpoints():
        path.write_bytes(path.read_bytes()[:-1])
    before = folder.metrics_path.read_bytes()
    with pytest.raises(ComityError, match=r"No checkpoint in .* can be read: .*000000120.* cut short"):
        runner.run(folder, Options())
    assert folder.metrics_path.read_bytes() == before


def test_a_line_cut_short_by_a_kill_is_dropped(uninterrupted: Path, tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(uninterrupted, tmp_path / "run"))
    lines = folder.metrics_path.read_text().splitlines()
    folder.metrics_path.write_text("\n".join(lines) + '\n{"iteration": 122, "rew')
    assert len(folder.metrics()) == len(lines)
    folder.rewind(folder.metrics_path, 60)
    assert [row["iteration"] for row in folder.metrics()] == list(range(2, 61, 2))
    for bad in ("not JSON\n", "5\n", '{"reward": 1.0}\n'):
        folder.metrics_path.write_text(bad + lines[0] + "\n")
        with pytest.raises(ComityError, match="line 1, is not"):
            folder.metrics()


def test_resuming_with_other_settings_is_refused(
    uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(uninterrupted, tmp_path / "run")
    common = ["train", *SETTINGS, "--out", str(folder), "--resume"]
    for change, message in {
        "--batch 8": "its batch is 4, not 8",
        "--agent.discount 0.5": "its agents[0].discount is 0.96, not 0.5",
        "--game.reward 0.0": "its game.reward is -1.0, not 0.0",
        "--opponents.every 3": "its matchmaker.every is 2, not 3",
    }.items():
        assert comity([*common, *change.split()]) == 2
        assert message in capsys.readouterr().err
    assert comity(["train", *IN_SELF_PLAY, "--out", str(folder), "--resume"]) == 2
    assert 'not {"name": "self-play"}' in capsys.readouterr().err
    assert comity(common) == 0  # the same settings: there is nothing left to do
    assert_same(folder, uninterrupted)


def test_more_iterations(uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(uninterrupted, tmp_path / "run")
    assert comity(["train", "--resume", str(folder), "--iterations", "124", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["iteration"] == 124
    assert RunFolder(folder).metrics()[:60] == RunFolder(uninterrupted).metrics()
    assert comity(["train", "--resume", str(folder), "--iterations", "100"]) == 2
    assert "iterations = 100 is not possible: it must be at least the 124 already done" in (
        capsys.readouterr().err
    )
    assert RunFolder(folder).experiment().iterations == 124


def test_schedules_stay_as_planned_when_a_run_is_extended(
    uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(uninterrupted, tmp_path / "run")
    assert comity(["train", "--resume", str(folder), "--iterations", "122"]) == 0
    assert "Schedules end at iteration 120, as planned" in capsys.readouterr().err
    extended = RunFolder(folder).experiment()
    assert (extended.iterations, extended.schedule_length) == (122, 120)
    assert json.loads((folder / "config.json").read_text())["schedule_iterations"] == 120
    assert Experiment.from_data(extended.to_data()) == extended
    assert extended.with_iterations(200).schedule_length == 120
    assert extended.with_iterations(120) == RunFolder(uninterrupted).experiment()
    # Another plan is a choice, and is noted.
    more = ["--iterations", "124", "--schedule-iterations", "124"]
    assert comity(["train", "--resume", str(folder), *more]) == 0
    warning = "Schedules were planned for 120 iterations and from iteration 122 on follow a plan for 124."
    assert f"warning: {warning}" in capsys.readouterr().err
    assert RunFolder(folder).metadata()["warnings"] == [warning]
    assert RunFolder(folder).experiment().schedule_iterations is None
    assert comity(["train", "--resume", str(folder), "--schedule-iterations", "0"]) == 2
    assert "schedule_iterations = 0 is not possible" in capsys.readouterr().err


class Watched(A2C):
    """Reports how far a schedule would be."""

    def update(self, state: Any, batch: Any, context: Any, key: Any) -> Any:
        state, metrics = super().update(state, batch, context, key)
        return state, {**metrics, "progress": context.progress}


def test_progress_follows_the_plan_and_ends_at_one() -> None:
    assert isinstance(TABULAR, A2C)
    agent = Watched(network=TABULAR.network, critic=TABULAR.critic)
    plain = make_experiment(DILEMMA, agent, iterations=4, batch=4, chunk=2)
    for planned, expected in (
        (plain, [0.0, 0.25, 0.5, 0.75]),
        (plain.with_iterations(6), [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]),
    ):
        _, metrics = jax.jit(lambda e=planned: advance(e, start(e), e.iterations))()
        assert metrics["progress"].tolist() == expected
