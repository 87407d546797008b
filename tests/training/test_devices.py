"""One learner on two devices is that on one, within floating-point tolerance, and itself bit by bit.

A CPU is divided before JAX begins, so these run in a process of their own.
"""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from comity.cli import run as comity
from comity.core.files import load_arrays
from comity.training.folder import CHECKPOINT_FORMAT, RunFolder

BASE = "--seed 3 --no-tensorboard --checkpoint-seconds 0 --json"
SMALL = "--agent.learner.network.width 16 --agent.learner.critic.network.width 16"


def train(out: Path, words: str, devices: int = 2) -> None:
    command = [sys.executable, "-m", "comity", "train", *shlex.split(words)]
    command += ["--devices", str(devices), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def arrays(run: Path) -> dict[str, np.ndarray]:
    return load_arrays(RunFolder(run).checkpoints()[-1], CHECKPOINT_FORMAT).arrays


def assert_close(first: Path, second: Path, rtol: float = 2e-3) -> None:
    mine, theirs = arrays(first), arrays(second)
    assert mine.keys() == theirs.keys()
    for name, expected in theirs.items():
        np.testing.assert_allclose(mine[name], expected, rtol=rtol, atol=1e-4, err_msg=name)
    for row, other in zip(RunFolder(first).metrics(), RunFolder(second).metrics(), strict=True):
        assert row.keys() == other.keys()
        for name, value in row.items():
            assert value == pytest.approx(other[name], rel=5e-3, abs=1e-3), name


# Alignment with a lasting past, whose sums stand game by game in the state, and statistics of returns; the
# recipe's opponents are past selves in sixteen groups.
ALIGNED = (
    f"coin adalign {BASE} --iterations 3 --chunk 3 --batch 32 --unroll 5 {SMALL} --agent.term.lasting "
    "--agent.learner.critic.norm.return-ema 0.1"
)
# Minibatches in a new order, past selves in two groups, a running normaliser; the epsilon of Adam keeps it
# from dividing rounding by itself.
PROXIMAL = (
    f"prisoners-dilemma ppo {BASE} --iterations 4 --chunk 1 --keep 9 --batch 16 --agent.epochs 2 "
    "--agent.minibatches 2 --agent.optimiser.epsilon 0.01 --agent.network gru --agent.network.width 8 "
    "--agent.critic.network mlp --agent.network.inputs.normalise --opponents past --opponents.groups 2"
)


@pytest.fixture(scope="module")
def proximal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run on one device and on two."""
    out = tmp_path_factory.mktemp("proximal")
    for devices in (1, 2):
        train(out / str(devices), PROXIMAL, devices)
    return out


@pytest.mark.long
def test_distributed_ppo_is_ppo_on_the_union_of_the_games(proximal: Path) -> None:
    """After two passes over two minibatches to 1e-6, and after four iterations still within tolerance."""
    one, two = (RunFolder(proximal / n).checkpoints()[0] for n in ("1", "2"))
    assert one.stem == two.stem == "000000001"
    mine, theirs = (load_arrays(path, CHECKPOINT_FORMAT).arrays for path in (two, one))
    assert sum("policy" in name for name in theirs) > 5
    for name, expected in theirs.items():
        np.testing.assert_allclose(mine[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)
    assert_close(proximal / "2", proximal / "1")


@pytest.mark.long
def test_alignment_on_two_devices_is_that_on_one(tmp_path: Path) -> None:
    for devices in (1, 2):
        train(tmp_path / str(devices), ALIGNED, devices)
    assert_close(tmp_path / "2", tmp_path / "1")


@pytest.mark.long
def test_what_two_devices_left_goes_on_with_two_bit_by_bit_and_with_one(
    proximal: Path, tmp_path: Path
) -> None:
    for name in ("two", "one"):
        shutil.copytree(proximal / "2", tmp_path / name)
        for path in RunFolder(tmp_path / name).checkpoints()[2:]:
            path.unlink()
    again = [sys.executable, "-m", "comity", "train", "--resume", str(tmp_path / "two"), "--json"]
    assert subprocess.run(again, capture_output=True).returncode == 0  # with two devices, as before
    for name, expected in arrays(proximal / "2").items():
        np.testing.assert_array_equal(arrays(tmp_path / "two")[name], expected, err_msg=name)
    lines = (tmp_path / "two" / "metrics.jsonl").read_bytes()
    assert lines == (proximal / "2" / "metrics.jsonl").read_bytes()
    assert comity(["train", "--resume", str(tmp_path / "one"), "--devices", "1", "--json"]) == 0
    assert json.loads((tmp_path / "one" / "run.json").read_text())["options"]["devices"] == 1
    assert_close(tmp_path / "one", proximal / "1")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("prisoners-dilemma ppo --devices 0", "devices = 0 is not possible: it must be at least 1"),
        ("prisoners-dilemma loqa --devices 2", "LOQA, which learns from all games at once"),
        (
            "prisoners-dilemma ppo --devices 2 --batch 9",
            "batch = 9 is not possible: it must be a multiple",
        ),
    ],
)
def test_what_cannot_be_spread_is_one_sentence(words: str, sentence: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "comity", "train", *shlex.split(words), "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_cpu_is_divided_only_before_jax_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jax

    assert len(jax.local_devices()) == 1
    words = ["train", "prisoners-dilemma", "ppo", "--devices", "2", "--out", str(tmp_path / "run")]
    assert comity(words) == 2
    assert "of a CPU it makes more only before it begins" in capsys.readouterr().err
