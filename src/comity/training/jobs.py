"""Jobs: runs to be carried out, and carrying them out in this process."""

import contextlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from comity.core.compilation import use_compilation_cache
from comity.core.errors import ComityError
from comity.training.driver import drive, start_any_seed, starter
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import ActiveRun, Hook, Report
from comity.training.hooks.checkpoints import Checkpoints
from comity.training.hooks.finite import FiniteCheck
from comity.training.hooks.interrupt import Interrupt
from comity.training.hooks.metadata import Metadata
from comity.training.hooks.progress import Progress
from comity.training.hooks.registry import make_hook
from comity.training.hooks.time_limit import TimeLimit
from comity.training.hooks.timing import Timing
from comity.training.hooks.trackers import JsonLines, TensorBoard, WeightsAndBiases
from comity.training.loop import RunState
from comity.training.options import Options
from comity.training.stopping import StopRequest


class Job(NamedTuple):
    """A run to be carried out: from the newest checkpoint in its folder, or from the start, to its end.

    Without a folder nothing is written, and the finite check is its only standard hook. `hooks` are objects
    and serve in this process only; `options.hooks` names hooks that are made anew wherever the run trains.
    """

    experiment: Experiment
    folder: RunFolder | None
    options: Options = Options()
    hooks: tuple[Hook, ...] = ()
    label: str = ""  # its name in messages; by default that of the folder

    @property
    def name(self) -> str:
        """How messages name the job."""
        if self.label:
            return self.label
        return f"seed {self.experiment.seed}" if self.folder is None else self.folder.path.name


JobReport = Callable[[Job, int, dict[str, float]], None]


def train_jobs(jobs: Sequence[Job], report: JobReport | None, request: StopRequest) -> list[ActiveRun]:
    """Trains jobs in one program and returns their runs, each with its ending. Their folders are locked."""
    use_compilation_cache()
    with contextlib.ExitStack() as locks:
        for job in jobs:
            if job.folder is not None:
                locks.enter_context(job.folder.locked())
        states = [restore_or_start(job.experiment, job.folder) for job in jobs]
        runs = [
            ActiveRun(
                job.experiment, _hooks(job, partial(report, job) if report else None, request), job.folder
            )
            for job in jobs
        ]
        drive(runs, states, max(job.options.devices for job in jobs))
    return runs


def restore_or_start(experiment: Experiment, folder: RunFolder | None) -> RunState:
    """The state of the newest sound checkpoint, with a warning for each that is not; else a new one.

    If there are checkpoints and none is sound, the run is left as it is, since going on from the start
    would overwrite what it has logged.
    """
    if folder is None:
        return start_any_seed(experiment)
    state, complaints = folder.restore(experiment)
    if state is None and complaints:
        raise ComityError(f"No checkpoint in {folder.path} can be read: {' '.join(complaints)}")
    for complaint in complaints:
        print(f"warning: {complaint} The checkpoint before it is used.", file=sys.stderr)
    if state is not None:
        return state
    fresh: RunState = starter()(experiment, None, folder.start_policies(experiment))
    return fresh


def _hooks(job: Job, report: Report | None, request: StopRequest) -> list[Hook]:
    """The hooks of a job, in their order; a named one takes the place of a standard one of its class."""
    if job.folder is None:
        return [FiniteCheck(), *job.hooks]
    options = job.options
    named = [make_hook(spec) for spec in options.hooks]
    measuring = [hook for hook in named if hook.measures]
    hooks: list[Hook] = [Metadata(options.to_data()), Timing(), FiniteCheck(), *measuring, JsonLines()]
    if options.tensorboard:
        hooks.append(TensorBoard())
    if options.wandb is not None:
        hooks.append(WeightsAndBiases(options.wandb))
    if report is not None:
        hooks.append(Progress(report))
    if options.minutes is not None:
        hooks.append(TimeLimit(options.minutes))
    hooks += [*job.hooks, Interrupt(request), Checkpoints(options.checkpoint_seconds, options.keep)]
    replaced = [next((own for own in named if type(own) is type(hook)), hook) for hook in hooks]
    further = [hook for hook in named if not any(hook is used for used in replaced)]
    return [*replaced[:-2], *further, *replaced[-2:]]
