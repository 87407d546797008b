"""One learner on two devices is that on one, within floating-point tolerance, and itself bit by bit.

A CPU is divided before JAX begins, so these run in a process of their own.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from comity.cli import run as comity
from comity.core.files import load_arrays
from comity.training.folder import CHECKPOINT_FORMAT, RunFolder

BASE = "--iterations 6 --chunk 2 --batch 16 --seed 3 --no-tensorboard --checkpoint-seconds 0 --json"
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


CASES = [
    # Alignment with a lasting past, whose sums stand game by game in the state, and statistics of returns.
    f"coin adalign {BASE} --unroll 5 {SMALL} --agent.term.lasting --agent.learner.critic.norm.return-ema 0.1",
    # Minibatches of games in a new order, past selves in groups, a running normaliser.
    f"prisoners-dilemma ppo {BASE} --agent.network gru --agent.network.width 8 --agent.critic.network mlp "
    "--agent.network.inputs.normalise --opponents past --opponents.groups 2",
]


@pytest.mark.long
@pytest.mark.parametrize("words", CASES, ids=["coin-adalign", "dilemma-ppo"])
def test_two_devices_are_one_within_tolerance_and_resume_bit_by_bit(words: str, tmp_path: Path) -> None:
    one, two, cut = (tmp_path / name for name in ("one", "two", "cut"))
    train(one, words, devices=1)
    train(two, words)
    assert_close(two, one)
    train(cut, words.replace("--iterations 6", "--iterations 4 --schedule-iterations 6"))
    resume = [sys.executable, "-m", "comity", "train", "--resume", str(cut), "--iterations", "6", "--json"]
    assert subprocess.run(resume, capture_output=True).returncode == 0  # with two devices, as before
    for name, expected in arrays(two).items():
        np.testing.assert_array_equal(arrays(cut)[name], expected, err_msg=name)
    assert (cut / "metrics.jsonl").read_bytes() == (two / "metrics.jsonl").read_bytes()


@pytest.mark.long
def test_distributed_ppo_is_ppo_on_the_union_of_the_games(tmp_path: Path) -> None:
    """After two passes over two minibatches; Adam's epsilon keeps it from dividing rounding by itself."""
    words = CASES[1].replace("--iterations 6 --chunk 2", "--iterations 1 --chunk 1")
    words += " --agent.optimiser.epsilon 0.01 --agent.epochs 2 --agent.minibatches 2"
    train(tmp_path / "one", words, devices=1)
    train(tmp_path / "two", words)
    mine, theirs = arrays(tmp_path / "two"), arrays(tmp_path / "one")
    learned = [name for name in theirs if name.startswith("learners/") and "/policy/" in name]
    assert len(learned) > 5
    for name in theirs:
        np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.long
def test_a_checkpoint_of_two_devices_goes_on_with_one(tmp_path: Path) -> None:
    words = CASES[1]
    train(tmp_path / "one", words, devices=1)
    train(tmp_path / "cut", words.replace("--iterations 6", "--iterations 4 --schedule-iterations 6"))
    again = ["--resume", str(tmp_path / "cut"), "--iterations", "6", "--devices", "1", "--json"]
    assert comity(["train", *again]) == 0
    assert json.loads((tmp_path / "cut" / "run.json").read_text())["options"]["devices"] == 1
    assert_close(tmp_path / "cut", tmp_path / "one")


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
