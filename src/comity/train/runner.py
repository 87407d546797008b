"""Runs an experiment from its folder: the host side of training, which only logs, saves and reports."""

import platform
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import numpy as np

from comity.bridges.host import told
from comity.core.compilation import compiled, use_compilation_cache
from comity.core.errors import ComityError, bad_value
from comity.core.settings import build
from comity.core.types import PerSeat, Player
from comity.train import loop
from comity.train.experiment import Experiment
from comity.train.folder import RunFolder
from comity.train.loop import RunState
from comity.train.tracking import Tracker, open_trackers

Report = Callable[[int, dict[str, float]], None]


@dataclass(frozen=True)
class Options:
    """How a run is carried out; none of this changes its results."""

    checkpoint_seconds: float = 20.0  # time between two checkpoints
    keep: int = 3  # how many checkpoints are kept
    tensorboard: bool = True  # whether to write TensorBoard event files
    wandb: str | None = None  # project on Weights & Biases

    @classmethod
    def of(cls, folder: RunFolder) -> "Options":
        """The options with which a run was carried out last."""
        noted = folder.notes().get("options", {})
        where = f"{folder.path / 'run.json'}: options"
        if not isinstance(noted, dict):
            raise bad_value(where, noted, "an object")
        options: Options = build(cls, noted, where, lambda kind, data, path: data)
        return options


class Stopped(Exception):  # noqa: N818 - a request, not an error
    """The user asked to stop; everything is saved."""


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its experiment and the players, one per seat."""

    folder: Path
    experiment: Experiment
    players: PerSeat[Player]
    metrics: list[dict[str, Any]]


def create(experiment: Experiment, out: Path, command: str | None = None) -> RunFolder:
    """A new run folder with its experiment.

    One iteration is traced first, so that whatever an agent refuses is refused before anything exists.
    """
    jax.eval_shape(lambda: loop.iterate(experiment, loop.start(experiment)))
    return RunFolder.create(out, experiment, {"versions": versions(), "command": command})


def run(folder: RunFolder, options: Options, report: Report | None = None) -> Run:
    """Trains from the newest sound checkpoint, or from the start, to the end."""
    use_compilation_cache()
    experiment = folder.experiment()
    state = restore_or_start(folder, experiment)
    cost = Cost(folder)
    folder.note(options=asdict(options))
    folder.rewind_metrics(int(state.iteration))
    trackers = open_trackers(
        folder.path, int(state.iteration), options.tensorboard, options.wandb, experiment.to_data()
    )
    with StopRequest() as request:
        try:
            with told():
                state = _advance_to_end(folder, experiment, state, options, trackers, report, request)
        except Stopped:
            folder.note(**cost.facts())
            raise
        except ComityError as error:
            folder.note(status="failed", error=str(error))
            raise
        finally:
            for tracker in trackers:
                tracker.close()
    folder.save_players(experiment, state)
    folder.note(status="finished", iteration=int(state.iteration), **cost.facts())
    return Run(folder.path, experiment, loop.players(experiment, state), folder.metrics())


class Cost:
    """What a run took so far: CPU-seconds and peak memory of all its processes that were not killed."""

    def __init__(self, folder: RunFolder) -> None:
        before = folder.notes()
        self._seconds = float(before.get("cpu_seconds", 0.0)) - time.process_time()
        self._memory = float(before.get("peak_memory_megabytes", 0.0))

    def facts(self) -> dict[str, float]:
        """For the notes of a run."""
        memory = max(self._memory, peak_memory())
        return {
            "cpu_seconds": round(self._seconds + time.process_time(), 1),
            "peak_memory_megabytes": round(memory, 1),
        }


def peak_memory() -> float:
    """The largest memory of this process so far, in megabytes; 0 where that cannot be known."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e6 if sys.platform == "darwin" else 1e3)


def restore_or_start(folder: RunFolder, experiment: Experiment) -> RunState:
    """The state of the newest sound checkpoint, with a warning for each that is not; else a new one.

    If there are checkpoints and none is sound, the run is left as it is, since going on from the start
    would overwrite what it has logged.
    """
    state, complaints = folder.restore(experiment)
    if state is None and complaints:
        raise ComityError(f"No checkpoint in {folder.path} can be read: {' '.join(complaints)}")
    for complaint in complaints:
        print(f"warning: {complaint} The checkpoint before it is used.", file=sys.stderr)
    fresh: RunState = compiled(loop.start, once=True)(experiment) if state is None else state
    return fresh


def _advance_to_end(
    folder: RunFolder,
    experiment: Experiment,
    state: RunState,
    options: Options,
    trackers: list[Tracker],
    report: Report | None,
    request: "StopRequest",
) -> RunState:
    advance = compiled(loop.advance, donate="all-except-first")
    saved = time.monotonic()
    iteration = int(state.iteration)
    while iteration < experiment.iterations:
        count = min(experiment.chunk, experiment.iterations - iteration)
        state, metrics = advance(experiment, state, count)
        means = check_finite({name: np.asarray(m) for name, m in metrics.items()}, iteration, folder.path)
        iteration += count
        for tracker in trackers:
            tracker.log(iteration, means)
        if report is not None:
            report(iteration, means)
        due = time.monotonic() - saved >= options.checkpoint_seconds
        if due or iteration == experiment.iterations or request.stopped:
            folder.save(experiment, state, options.keep)
            saved = time.monotonic()
        if request.stopped and iteration < experiment.iterations:
            folder.save_players(experiment, state)
            folder.note(status="stopped", iteration=iteration)
            raise Stopped
    return state


def check_finite(metrics: dict[str, np.ndarray], iteration: int, where: Path) -> dict[str, float]:
    """The mean of every metric over a chunk; raises if any became infinite or not a number.

    A run whose loss or parameters are not finite cannot recover, so it stops with its last good
    checkpoint untouched.
    """
    for name, values in metrics.items():
        bad = ~np.isfinite(values) if name != "finite" else values < 1
        if bad.any():
            first = iteration + int(np.argmax(bad)) + 1
            what = "the parameters are" if name == "finite" else f"the metric {name!r} is"
            saved = RunFolder(where).checkpoints()
            kept = f"The last good checkpoint is {saved[-1]}" if saved else "There is no checkpoint yet"
            raise ComityError(
                f"The run stopped: {what} not finite in iteration {first}. {kept}; "
                f"a smaller learning rate or a smaller max_gradient usually helps."
            )
    return {
        name: float(values.mean(dtype=np.float64)) for name, values in metrics.items() if name != "finite"
    }


def versions() -> dict[str, str]:
    """The versions that a run depends on."""
    packages = ("comity", "jax", "jaxlib", "equinox", "optax", "numpy")
    device = jax.devices()[0]
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "device": f"{device.platform} ({device.device_kind})",
    }


class StopRequest:
    """Turns the first Ctrl-C or SIGTERM into a request to stop after this call; a second one is final."""

    def __init__(self) -> None:
        self.stopped = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._stop)
        except ValueError:  # not in the main thread: the caller handles signals
            self._before = {}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        print("\nstopping after this call, then saving; once more to stop at once", file=sys.stderr)
