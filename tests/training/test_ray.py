"""Runs on a real local Ray: the numbers of separate runs bit by bit, whatever is lost on the way."""

import contextlib
import dataclasses
import importlib.util
import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from comity.cli import run as comity
from comity.core.errors import ComityError
from comity.core.trust import TRUST
from comity.training.executors.ledger import FILE, Ledger, job_key
from comity.training.executors.ray_parcels import fault_in, store
from comity.training.executors.ray_worker import Parcel
from comity.training.executors.registry import make_executor
from comity.training.experiment import make_experiment
from comity.training.folder import RunFolder
from comity.training.jobs import Job
from comity.training.options import Options
from comity.training.populations.seeds import train_seeds
from comity.training.runner import create, run
from tests.training.test_runner import DILEMMA, TABULAR
from tests.training.test_seeds import COMMAND

SEEDS = (3, 4)
EXPERIMENT = make_experiment(DILEMMA, TABULAR, iterations=12, batch=4, chunk=2)
QUICK = Options(checkpoint_seconds=0.0, tensorboard=False)
with_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs pip install comity[ray]")


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run after another, in this process."""
    out = tmp_path_factory.mktemp("separate")
    for seed in SEEDS:
        run(create(dataclasses.replace(EXPERIMENT, seed=seed), out / f"seed-{seed}"), QUICK)
    return out


@pytest.fixture(scope="module", autouse=True)
def no_ray_afterwards() -> Iterator[None]:
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


def rows(out: Path, event: str) -> list[dict[str, object]]:
    return [row for row in map(json.loads, (out / FILE).read_text().splitlines()) if row["event"] == event]


def assert_same(out: Path, expected: Path) -> None:
    for folder in sorted(expected.iterdir()):
        mine = out / folder.name
        for name in ("players/player.safetensors", "metrics.jsonl", "config.json"):
            assert (mine / name).read_bytes() == (folder / name).read_bytes(), f"{folder.name}/{name}"
        assert (
            RunFolder(mine).checkpoints()[-1].read_bytes() == RunFolder(folder).checkpoints()[-1].read_bytes()
        )
        assert RunFolder(mine).metadata()["status"] == "finished"


def listening(pids: set[int]) -> set[str]:
    """The addresses, as the kernel writes them, on which some processes listen."""
    sockets: dict[str, str] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A":
                sockets[f"socket:[{parts[9]}]"] = parts[1].partition(":")[0]
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    found.add(sockets.get(os.readlink(link), ""))
    return found - {""}


def family(pid: int) -> set[int]:
    """A process and all that it started."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


@with_ray
def test_runs_on_ray_are_separate_runs_bit_by_bit_and_are_not_repeated(
    separate: Path, tmp_path: Path
) -> None:
    said = []
    folders = train_seeds(EXPERIMENT, SEEDS, tmp_path, QUICK, "ray", report=lambda *x: said.append(x[:2]))
    assert folders == [tmp_path / f"seed-{seed}" for seed in SEEDS]
    assert_same(tmp_path, separate)
    assert sorted(said) == [(seed, i) for seed in SEEDS for i in range(2, 13, 2)]
    assert len(rows(tmp_path, "sent")) == len(rows(tmp_path, "finished")) == 2
    if Path("/proc/net/tcp").exists():
        loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
        assert listening(family(os.getpid())) <= loopback
    # The same once more: nothing is sent, and what is longer is another job.
    train_seeds(EXPERIMENT, SEEDS, tmp_path, QUICK, "ray")
    assert len(rows(tmp_path, "sent")) == 2


@pytest.mark.long
@with_ray
def test_what_is_lost_goes_on_from_its_last_checkpoint(
    separate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training process dies, the Ray worker dies, one returns what is not finite; one hangs."""
    (plans := tmp_path / "plans").mkdir()
    for plan in ("3-4-process", "3-8-nan", "4-2-worker", "4-6-hang"):
        (plans / plan).touch()
    monkeypatch.setenv(TRUST, "tests.training.faults:Fault")
    monkeypatch.syspath_prepend(os.getcwd())
    options = dataclasses.replace(QUICK, hooks=(f"tests.training.faults:Fault,plans={plans}",))
    train_seeds(EXPERIMENT, SEEDS, tmp_path / "runs", options, "ray,patience=10")
    assert_same(tmp_path / "runs", separate)
    assert len(list(plans.glob("done-*"))) == 4
    reasons = [(str(row["run"]), str(row["reason"])) for row in rows(tmp_path / "runs", "lost")]
    assert sorted(run for run, _ in reasons) == ["seed-3", "seed-3", "seed-4", "seed-4"]
    assert {"its worker died", "it returned numbers that are not finite"} <= {why for _, why in reasons}
    assert any("nothing for too long" in why for _, why in reasons)
    finished = rows(tmp_path / "runs", "finished")
    assert sorted(str(row["run"]) for row in finished) == ["seed-3", "seed-4"]


@with_ray
def test_the_doctor_says_what_a_cluster_has(capsys: pytest.CaptureFixture[str]) -> None:
    make_executor("ray").check()  # a Ray of this process, which the doctor finds
    assert comity(["doctor", "--quick", "--json", "--address", "auto"]) == 0
    (node,) = json.loads(capsys.readouterr().out)["cluster"]
    assert (node["machine"], node["cores"]) == ("127.0.0.1", os.cpu_count())
    assert comity(["doctor", "--quick", "--address", "auto"]) == 0
    assert f"{os.cpu_count()} cores, 0 gpus" in capsys.readouterr().out


@pytest.mark.long
@with_ray
def test_a_failure_is_the_runs_own_only_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = "tests.training.test_seeds:FailsIn"
    monkeypatch.setenv(TRUST, spec)
    monkeypatch.syspath_prepend(os.getcwd())
    options = dataclasses.replace(QUICK, hooks=(spec,))
    with pytest.raises(ComityError, match=r"^the dog ate it$"):
        train_seeds(EXPERIMENT, (3,), tmp_path, options, "ray")
    assert len(rows(tmp_path, "sent")) == 2
    assert [row["error"] for row in rows(tmp_path, "failed")] == ["the dog ate it"]
    assert RunFolder(tmp_path / "seed-3").metadata()["status"] == "failed"


@with_ray
@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            "--executor ray --address 127.0.0.1:1",
            "address = '127.0.0.1:1' does not answer (Connection refused)",
        ),
        ("--executor ray --address nonsense", "it must be auto, HOST:PORT or ray://HOST:PORT"),
        ("--executor ray,cores=4096", "cores = 4096 is not possible: no machine of the Ray cluster has more"),
        ("--executor ray,cores=0", "cores = 0.0 is not possible: it must be above 0"),
        ("--executor processes --address 127.0.0.1:1", "give it with --executor ray"),
    ],
)
def test_what_a_cluster_cannot_do_is_one_sentence(
    flags: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags += f" --out {tmp_path / 'runs'}"
    if "address" in flags and "ray" in sys.modules:
        sys.modules["ray"].shutdown()  # who is connected already is not asked to connect
    assert comity([*COMMAND, *shlex.split(flags)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_without_ray_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else find(name))
    assert comity([*COMMAND, "--executor", "ray", "--out", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err == (
        "error: Ray is not installed, which --executor ray needs: pip install 'comity[ray]'.\n"
    )
    assert not (tmp_path / "runs").exists()


def test_a_ledger_survives_a_kill_within_a_line(tmp_path: Path) -> None:
    folder = create(EXPERIMENT, tmp_path / "one")
    job = Job(EXPERIMENT, folder)
    key = job_key(job)
    ledger = Ledger.of([job])
    assert ledger.path == tmp_path / FILE
    ledger.add("sent", folder, key, attempt=1)
    with open(ledger.path, "a") as file:
        file.write('{"event": "fini')
    again = Ledger.of([job])
    again.add("sent", folder, key, attempt=2)
    assert [row["attempt"] for row in Ledger(ledger.path).events("sent", folder, key)] == [1, 2]
    other = Job(dataclasses.replace(EXPERIMENT, seed=9), folder)
    assert job_key(other) != key == job_key(Job(EXPERIMENT, folder, Options(keep=9)))
    ledger.path.write_text("[]\n")
    with pytest.raises(ComityError, match="is damaged"):
        Ledger.of([job])


def test_a_run_counts_as_finished_only_with_the_players_it_came_to(tmp_path: Path, separate: Path) -> None:
    from comity.training.executors.ledger import player_digests

    folder = RunFolder.open(separate / "seed-3")
    ledger = Ledger(separate / "ledger-of-this-test.jsonl")
    assert not ledger.is_finished(folder, "key")
    ledger.add("finished", folder, "key", sha256=player_digests(folder))
    assert ledger.is_finished(folder, "key")
    assert not ledger.is_finished(folder, "other")
    ledger.add("finished", folder, "key", sha256={"player.safetensors": "0"})
    assert not ledger.is_finished(folder, "key")
    ledger.path.unlink()


def parcel(files: dict[str, bytes], lines: tuple[str, ...] = ()) -> Parcel:
    import hashlib

    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return Parcel(list(lines), files, digests, None, "")


def test_what_workers_send_is_looked_at_before_it_is_believed(tmp_path: Path) -> None:
    from safetensors.numpy import save

    good = {"metrics.jsonl": b'{"iteration": 2, "reward": 1.0}\n{"iter'}
    assert fault_in(parcel(good, ('{"iteration": 2, "metrics": {"reward": 1.0}}',))) is None
    damaged = parcel(good)._replace(digests={"metrics.jsonl": "0"})
    assert fault_in(damaged) == "what it sent was damaged on the way"
    for bad in (
        parcel({}, ('{"iteration": 2, "metrics": {"reward": NaN}}',)),
        parcel({"metrics.jsonl": b'{"iteration": 2, "reward": Infinity}\n'}),
        parcel({"players/player.safetensors": save({"w": np.array([1, np.nan], np.float32)})}),
        parcel({"players/best/player.safetensors": b"no arrays"}),
    ):
        assert "not finite" in str(fault_in(bad))
    assert fault_in(parcel({"players/player.safetensors": save({"w": np.array([1, 2], np.float32)})})) is None
    folder = create(EXPERIMENT, tmp_path / "run")
    store(folder, {"../outside.txt": b"x", "checkpoints/000000002.safetensors": b"x", "notes.txt": b"y"}, 3)
    assert not (tmp_path / "outside.txt").exists()
    assert (folder.path / "notes.txt").read_bytes() == b"y"


def test_executors_take_settings_by_name() -> None:
    executor = make_executor("ray,cores=2,address=auto")
    assert (executor.cores, executor.address) == (2, "auto")  # type: ignore[attr-defined]
    with pytest.raises(ComityError, match=r"patience = 0\.0 is not possible"):
        make_executor("ray,patience=0")
