"""Several seeds at once give, seed for seed, what separate runs give."""

import dataclasses
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from comity.cli import run as comity
from comity.core.errors import ComityError
from comity.core.files import load_arrays
from comity.core.trust import TRUST
from comity.play.player_file import PLAYER_FORMAT
from comity.training.experiment import make_experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import ActiveRun, Hook, Stop
from comity.training.options import Options
from comity.training.populations.seeds import train_seeds
from comity.training.runner import create, run
from comity.training.stopping import Stopped
from tests.training.test_runner import DILEMMA, TABULAR

SEEDS = (3, 4)
EXPERIMENT = make_experiment(DILEMMA, TABULAR, iterations=6, batch=4, chunk=2)
COMMAND = shlex.split(
    "train prisoners-dilemma a2c --game.horizon 4 --agent.network tabular --iterations 6 --batch 4 "
    "--chunk 2 --seed 3 --seeds 2 --no-tensorboard"
)
PLAYER = Path("players/player.safetensors")
QUICK = Options(tensorboard=False)


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run after another; the folders are named as those of several seeds are."""
    out = tmp_path_factory.mktemp("separate")
    for seed in SEEDS:
        run(create(dataclasses.replace(EXPERIMENT, seed=seed), out / f"seed-{seed}"), QUICK)
    return out


def numbers(folder: Path) -> dict[str, np.ndarray]:
    return load_arrays(folder / PLAYER, PLAYER_FORMAT).arrays


def assert_close(first: Path, second: Path) -> None:
    for name, expected in numbers(second).items():
        np.testing.assert_allclose(numbers(first)[name], expected, rtol=1e-4, atol=1e-6, err_msg=name)
    pairs = zip(RunFolder(first).metrics(), RunFolder(second).metrics(), strict=True)
    for row, other in pairs:
        assert row.keys() == other.keys()
        np.testing.assert_allclose(list(row.values()), list(other.values()), rtol=1e-3, atol=1e-5)


def test_processes_give_the_numbers_of_separate_runs_bit_by_bit(
    separate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs"
    assert comity([*COMMAND, "--out", str(out), "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [result["folder"] for result in results] == [str(out / f"seed-{seed}") for seed in SEEDS]
    for seed in SEEDS:
        mine, theirs = out / f"seed-{seed}", separate / f"seed-{seed}"
        assert (mine / PLAYER).read_bytes() == (theirs / PLAYER).read_bytes()
        assert (mine / "metrics.jsonl").read_bytes() == (theirs / "metrics.jsonl").read_bytes()
        assert json.loads((mine / "config.json").read_text())["seed"] == seed
    first, second = (numbers(out / f"seed-{seed}") for seed in SEEDS)
    assert any(not np.array_equal(first[name], second[name]) for name in first)
    # What exists is not overwritten, and not resumed with other settings.
    assert comity([*COMMAND, "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert comity([*COMMAND, "--out", str(out), "--resume", "--batch", "8"]) == 2
    assert "its batch is 4, not 8" in capsys.readouterr().err


def test_vectorised_seeds_agree_with_separate_runs(separate: Path, tmp_path: Path) -> None:
    seen = []
    folders = train_seeds(
        EXPERIMENT,
        SEEDS,
        tmp_path,
        QUICK,
        executor="vectorised",
        report=lambda *report: seen.append(report[:2]),
    )
    assert folders == [tmp_path / f"seed-{seed}" for seed in SEEDS]
    assert seen == [(seed, iteration) for iteration in (2, 4, 6) for seed in SEEDS]
    for seed in SEEDS:
        assert_close(tmp_path / f"seed-{seed}", separate / f"seed-{seed}")


def test_vectorised_seeds_stop_and_go_on(
    separate: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(seed: int, iteration: int, metrics: dict[str, float]) -> None:
        if (seed, iteration) == (4, 4):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Stopped):
        train_seeds(EXPERIMENT, SEEDS, tmp_path, QUICK, executor="vectorised", report=interrupt)
    assert [path.stem for seed in SEEDS for path in RunFolder(tmp_path / f"seed-{seed}").checkpoints()] == [
        "000000004"
    ] * 2
    train_seeds(EXPERIMENT, SEEDS, tmp_path, QUICK, executor="vectorised")
    for seed in SEEDS:
        assert_close(tmp_path / f"seed-{seed}", separate / f"seed-{seed}")


def test_vectorised_seeds_at_different_iterations_cannot_go_on_as_one(separate: Path, tmp_path: Path) -> None:
    out = shutil.copytree(separate, tmp_path / "runs")
    (out / "seed-4" / "checkpoints" / "000000006.safetensors").unlink()
    with pytest.raises(ComityError, match=r"different iterations \(\[0, 6\]\).*--executor processes"):
        train_seeds(EXPERIMENT, SEEDS, out, QUICK, executor="vectorised")


@pytest.mark.parametrize("executor", ["in-process", "vectorised"])
def test_seeds_in_one_process_note_how_they_ended_and_what_they_took(executor: str, tmp_path: Path) -> None:
    train_seeds(EXPERIMENT, SEEDS, tmp_path, QUICK, executor)
    for seed in SEEDS:
        notes = RunFolder(tmp_path / f"seed-{seed}").metadata()
        assert (notes["status"], notes["iteration"]) == ("finished", 6)
        assert notes["cpu_seconds"] > 0
        assert notes["peak_memory_megabytes"] > 0
        assert notes["options"] == QUICK.to_data() | {"hooks": []}


class FailsIn(Hook):
    """Fails in one of several seeds."""

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        if (run.experiment.seed, iteration) == (3, 4):
            raise ComityError("the dog ate it")
        return None


@pytest.mark.parametrize("executor", ["in-process", "vectorised", "processes"])
def test_a_seed_that_fails_is_named_and_the_others_go_on(
    executor: str, separate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"{__name__}:FailsIn"
    monkeypatch.setenv(TRUST, spec)
    options = dataclasses.replace(QUICK, hooks=(spec,))
    with pytest.raises(ComityError, match=r"^seed-3: the dog ate it$"):
        train_seeds(EXPERIMENT, SEEDS, tmp_path, options, executor)
    failed, finished = (RunFolder(tmp_path / f"seed-{seed}").metadata() for seed in SEEDS)
    assert (failed["status"], failed["error"]) == ("failed", "the dog ate it")
    assert (finished["status"], finished["iteration"]) == ("finished", 6)
    assert min(failed["cpu_seconds"], finished["cpu_seconds"]) > 0
    assert_close(tmp_path / "seed-4", separate / "seed-4")


def test_an_executor_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match=r"no executor named 'processe'\. Did you mean processes"):
        train_seeds(EXPERIMENT, SEEDS, tmp_path / "runs", QUICK, "processe")
    assert not (tmp_path / "runs").exists()


def test_a_seed_too_large_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match="seed = 2147483648 is not possible"):
        train_seeds(EXPERIMENT, (2**31 - 1, 2**31), tmp_path / "runs", QUICK)
    assert not (tmp_path / "runs").exists()


@pytest.mark.claims
def test_ctrl_c_stops_and_saves_all_seeds(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    settings = [*COMMAND, "--iterations", "1000000", "--checkpoint-seconds", "0", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "comity", *settings], stderr=subprocess.PIPE, text=True)
    folders = [RunFolder(out / f"seed-{seed}") for seed in SEEDS]
    try:
        deadline = time.monotonic() + 120
        while not all(folder.checkpoints() for folder in folders) and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert f"--out {out} --resume" in said
    assert "Traceback" not in said
    for folder in folders:
        assert folder.metadata()["status"] == "stopped"
        assert (folder.path / PLAYER).is_file()
