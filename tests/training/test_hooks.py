"""Hooks: their order, how they stop a run, and that a run stopped by a rule stops there again."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from comity.cli import run as comity
from comity.core.errors import ComityError
from comity.core.trust import TRUST
from comity.training.driver import drive, start_any_seed
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import ActiveRun, Ending, Hook, Stop
from comity.training.hooks.checkpoints import Checkpoints
from comity.training.hooks.early_stop import EarlyStop
from comity.training.hooks.finite import FiniteCheck
from comity.training.hooks.registry import HOOKS, make_hook
from comity.training.options import Options
from comity.training.runner import create, run
from tests.training.test_runner import TABULAR_NETWORK, experiment

SPEC = "early-stop,metric=loss,minimise=true,patience=1,min-delta=1e9"  # nothing is ever an improvement
EARLY = Options(checkpoint_seconds=1000.0, tensorboard=False, hooks=(SPEC,))


class Recorder(Hook):
    """Writes down what is called, and does as it is told."""

    def __init__(
        self, name: str, log: list[Any], at: dict[int, Any] | None = None, first: Any = None
    ) -> None:
        self.name, self.log, self.at, self.first = name, log, at or {}, first

    def before(self, run: ActiveRun) -> Stop | None:
        self.log.append((self.name, "before", run.iteration))
        return self._do(self.first)

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        assert int(run.state.iteration) == iteration == run.iteration
        assert metrics.keys() == (run.chunk.keys() - {"finite"}) | {"steps"}
        self.log.append((self.name, "chunk", iteration))
        return self._do(self.at.get(iteration))

    def after(self, run: ActiveRun, ending: Ending) -> None:
        self.log.append((self.name, ending.status, run.iteration))

    def _do(self, what: Any) -> Stop | None:
        if isinstance(what, BaseException):
            raise what
        return what


def driven(hooks: list[Hook], whole: Experiment | None = None) -> Ending:
    whole = experiment() if whole is None else whole
    active = ActiveRun(whole, hooks)
    drive([active], [start_any_seed(whole)])
    assert active.ending is not None
    return active.ending


def test_hooks_are_called_in_order_and_closed_in_the_opposite_one() -> None:
    log: list[Any] = []
    ending = driven([Recorder("a", log), Recorder("b", log)])
    assert ending == Ending("finished", "all iterations are done")
    chunks = [(name, "chunk", i) for i in (2, 4, 6) for name in "ab"]
    assert log == [
        ("a", "before", 0), ("b", "before", 0), *chunks, ("b", "finished", 6), ("a", "finished", 6)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ([Stop("target", True)], Ending("finished", "target")),
        ([Stop("asked", False)], Ending("stopped", "asked")),
        ([Stop("asked", False), Stop("target", True)], Ending("finished", "target")),
    ],
)
def test_a_stop_ends_the_run_when_all_hooks_were_called(stops: list[Stop], expected: Ending) -> None:
    log: list[Any] = []
    hooks: list[Hook] = [Recorder(str(i), log, {4: stop}) for i, stop in enumerate(stops)]
    assert driven([*hooks, Recorder("last", log)]) == expected
    assert ("last", "chunk", 4) in log
    assert ("last", expected.status, 4) in log
    assert not [entry for entry in log if entry[2] > 4]


def test_a_stop_at_the_last_iteration_is_the_end() -> None:
    assert driven([Recorder("a", [], {6: Stop("asked", False)})]).reason == "all iterations are done"


def test_a_stop_before_the_first_chunk() -> None:
    log: list[Any] = []
    assert driven([Recorder("a", log, first=Stop("enough", True))]) == Ending("finished", "enough")
    assert log == [("a", "before", 0), ("a", "finished", 0)]


def test_what_a_user_can_mend_fails_the_run_and_closes_the_hooks() -> None:
    log: list[Any] = []
    error = ComityError("the disk is full")
    ending = driven([Recorder("a", log), Recorder("b", log, {4: error})])
    assert ending == Ending("failed", "the disk is full", error)
    assert log[-2:] == [("b", "failed", 4), ("a", "failed", 4)]
    log.clear()
    assert driven([Recorder("a", log), Recorder("b", log, first=error)]).status == "failed"
    assert log == [("a", "before", 0), ("b", "before", 0), ("a", "failed", 0)]  # b never was open


def test_anything_else_closes_the_hooks_and_is_raised() -> None:
    log: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        driven([Recorder("a", log), Recorder("b", log, {2: KeyboardInterrupt()})])
    assert log[-2:] == [("b", "aborted", 2), ("a", "aborted", 2)]


def test_runs_in_one_program_fail_and_stop_one_by_one() -> None:
    log: list[Any] = []
    acts: dict[int, dict[int, Any]] = {0: {2: ComityError("broken")}, 1: {4: Stop("target", True)}, 2: {}}
    members = [dataclasses.replace(experiment(), seed=seed) for seed in acts]
    runs = [ActiveRun(e, [Recorder(str(e.seed), log, acts[e.seed])]) for e in members]
    drive(runs, [start_any_seed(e) for e in members])
    assert [run.ending.status for run in runs if run.ending] == ["failed", "finished", "finished"]
    assert [run.iteration for run in runs] == [2, 4, 6]
    alone = ActiveRun(members[2], [])
    drive([alone], [start_any_seed(members[2])])
    for name, values in alone.chunk.items():
        np.testing.assert_allclose(runs[2].chunk[name], values, rtol=1e-4, atol=1e-6)
    with pytest.raises(ComityError, match="differ in nothing but their seeds"):
        drive([ActiveRun(experiment(batch=n), []) for n in (4, 8)], [start_any_seed(members[0])] * 2)


def test_an_early_stop_is_noted_and_saved(tmp_path: Path) -> None:
    result = run(create(experiment(iterations=20), tmp_path / "run"), EARLY)
    folder = RunFolder.open(result.folder)
    assert [path.stem for path in folder.checkpoints()] == ["000000004"]
    assert [row["iteration"] for row in result.metrics] == [2, 4]
    notes = folder.metadata()
    assert (notes["status"], notes["iteration"]) == ("finished", 4)
    assert notes["reason"] == "loss did not improve in 1 logged values"
    assert (result.folder / "players" / "player.safetensors").is_file()


def test_a_resumed_run_stops_early_at_the_same_iteration(tmp_path: Path) -> None:
    """Interrupted after the first logged value, which the rule must remember, and after its end."""
    whole = run(create(experiment(iterations=20), tmp_path / "whole" / "run"), EARLY)
    folder = create(experiment(iterations=20), tmp_path / "cut" / "run")
    run(folder, EARLY, hooks=[Recorder("user", [], {2: Stop("asked", False)})])
    assert folder.metadata()["status"] == "stopped"
    assert folder.metadata()["iteration"] == 2
    again = run(RunFolder.open(folder.path), EARLY)
    once_more = run(RunFolder.open(folder.path), Options.of(folder))
    for result in (again, once_more):
        assert RunFolder(result.folder).metrics() == RunFolder(whole.folder).metrics()
        for name in ("players/player.safetensors", "checkpoints/000000004.safetensors"):
            assert (result.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    # Killed between the last line of metrics and the last checkpoint: both are made again.
    lost = shutil.copytree(whole.folder, tmp_path / "lost" / "run")
    (lost / "checkpoints" / "000000004.safetensors").unlink()
    shutil.copy(folder.path / "checkpoints" / "000000002.safetensors", lost / "checkpoints")
    run(RunFolder.open(lost), EARLY)
    assert RunFolder(lost).metrics() == RunFolder(whole.folder).metrics()


def test_the_rules_of_an_early_stop() -> None:
    def stops_at(hook: EarlyStop, values: list[float]) -> int | None:
        hook.before(ActiveRun(experiment(), []))
        looks = [
            hook.after_chunk(ActiveRun(experiment(), []), i, {"reward": v}) for i, v in enumerate(values)
        ]
        return next((i for i, stop in enumerate(looks) if stop is not None), None)

    rising = [0.0, 1.0, 2.0, 3.0]
    assert stops_at(EarlyStop(target=2.0), rising) == 2
    assert stops_at(EarlyStop(target=2.0, window=2), rising) == 3
    assert stops_at(EarlyStop(target=0.5, minimise=True), rising[::-1]) == 3
    assert stops_at(EarlyStop(target=9.0), rising) is None
    assert stops_at(EarlyStop(patience=2), [0.0, 1.0, 1.0, 0.5, 2.0]) == 3
    assert stops_at(EarlyStop(patience=2, min_delta=2.5), rising) == 2
    assert stops_at(EarlyStop(patience=2), rising) is None
    with pytest.raises(ComityError, match=r"no metric of this run named 'score'.*reward"):
        stops_at(EarlyStop(metric="score", target=1.0), rising)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("early-stopp", "no hook named 'early-stopp'. Did you mean early-stop"),
        ("early-stop", "needs a target or a patience"),
        ("early-stop,target", "with settings as in early-stop,target=0.5"),
        ("early-stop,target=high", "early-stop.target = 'high' is not possible"),
        ("early-stop,goal=1", "no setting of early-stop named 'goal'"),
        ("early-stop,patience=0", "patience = 0 is not possible"),
        ("finite-check,often=1", "takes no settings"),
        ("my_hooks:Mine", "runs code of its own"),
    ],
)
def test_hooks_by_name_refuse_what_cannot_be(spec: str, message: str) -> None:
    with pytest.raises(ComityError, match=message):
        make_hook(spec)


def test_hooks_by_name() -> None:
    assert make_hook("checkpoints,seconds=5,keep=1") == Checkpoints(seconds=5.0, keep=1)
    assert isinstance(make_hook("finite-check"), FiniteCheck)
    assert all(issubclass(HOOKS.load(name), Hook) for name in HOOKS.rows())


def test_a_hook_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TRUST, "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_hooks.py").write_text(
        "from comity.training.hooks.base import Hook\n"
        "class Shout(Hook):\n"
        "    def after_chunk(self, run, iteration, metrics):\n"
        "        print('shout', iteration)\n"
    )
    nets = " ".join(f"--agent.{name} {kind}" for name, kind in TABULAR_NETWORK.items())
    line = f"train prisoners-dilemma a2c {nets} --batch 4"
    sizes = "--iterations 40 --chunk 2 --no-tensorboard --out run --hooks my_hooks:Shout"
    assert comity([*f"{line} {sizes}".split(), SPEC]) == 0
    said = capsys.readouterr().out
    assert [word for word in said.splitlines() if word.startswith("shout")] == ["shout 2", "shout 4"]
    # A file may not name code: on resuming, the user does.
    monkeypatch.setenv(TRUST, "")
    assert comity(["train", "--resume", "run"]) == 2
    assert "The hook my_hooks:Shout runs code of its own." in capsys.readouterr().err
    assert comity(["train", "--resume", "run", "--hooks", "my_hooks:Shout", "--iterations", "6"]) == 0
    assert "shout 6" in capsys.readouterr().out
