"""One run, one process: folders are locked while they train, and appear whole or not at all."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from comity.cli import run as comity
from comity.core.errors import ComityError
from comity.training import folder as folders
from comity.training.folder import RunFolder
from comity.training.runner import create, run
from tests.training.test_runner import QUICK, experiment

LONG = shlex.split(
    "prisoners-dilemma a2c --game.horizon 4 --agent.network tabular --batch 4 --chunk 2 --seed 3 "
    "--iterations 1000000 --checkpoint-seconds 0 --no-tensorboard"
)


def test_two_processes_cannot_train_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    first = subprocess.Popen(
        [sys.executable, "-m", "comity", "train", *LONG, "--out", str(out)], stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 120
        while not RunFolder(out).checkpoints() and time.monotonic() < deadline:
            assert first.poll() is None
            time.sleep(0.02)
        for again in (["--resume", str(out)], [*LONG, "--out", str(out), "--resume"]):
            assert comity(["train", *again]) == 2
            said = capsys.readouterr().err
            assert f"{out} is being trained by process {first.pid}: wait until it has ended" in said
        assert comity(["train", "--resume", str(out), "--iterations", "9"]) == 2
        assert RunFolder.open(out).experiment().iterations == 1000000
        assert not list(out.rglob("*.damaged"))
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    # The lock dies with the process that had it.
    done = int(RunFolder(out).checkpoints()[-1].stem)
    assert comity(["train", "--resume", str(out), "--iterations", str(done + 2), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["iteration"] == done + 2


def test_a_new_run_is_locked_from_its_first_moment(tmp_path: Path) -> None:
    mine = create(experiment(), tmp_path / "run")
    with pytest.raises(ComityError, match=f"is being trained by process {os.getpid()}"):
        create(experiment(), tmp_path / "run")
    with pytest.raises(ComityError, match="is being trained"):
        run(RunFolder.open(tmp_path / "run"), QUICK)
    mine.release()
    create(experiment(), tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_that_failed_before_its_first_chunk_does_not_block_the_next(tmp_path: Path) -> None:
    folder = create(experiment(), tmp_path / "run")
    folder.add_metadata(status="failed", error="no memory")
    folder.release()
    result = run(create(experiment(batch=8), tmp_path / "run"), QUICK)
    assert result.experiment.batch == RunFolder.open(result.folder).experiment().batch == 8
    assert "error" not in RunFolder.open(result.folder).metadata()
    with pytest.raises(ComityError, match="exists already"):
        create(experiment(), tmp_path / "run")


def test_a_folder_with_anything_else_in_it_is_not_replaced(tmp_path: Path) -> None:
    create(experiment(), tmp_path / "run").release()
    (tmp_path / "run" / "thoughts.txt").write_text("precious")
    with pytest.raises(ComityError, match="exists already"):
        create(experiment(), tmp_path / "run")
    assert (tmp_path / "run" / "thoughts.txt").read_text() == "precious"


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "_readme", fail)
    with pytest.raises(ComityError, match="run cannot be written: No space left on device"):
        create(experiment(), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_is_read_from_its_file_only_when_a_run_is_resumed(tmp_path: Path) -> None:
    folder = create(experiment(), tmp_path / "run")
    (tmp_path / "run" / "config.json").write_text("{}")
    assert run(folder, QUICK).experiment == experiment()
    with pytest.raises(ComityError, match="it names no game and agents"):
        run(RunFolder.open(tmp_path / "run"), QUICK)
