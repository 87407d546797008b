"""The protocol of executors, and how they say what became of their jobs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from comity.core.errors import ComityError
from comity.training.hooks.base import ActiveRun
from comity.training.jobs import Job, JobReport
from comity.training.run import Run
from comity.training.stopping import Stopped


class Executor(ABC):
    """Carries out jobs somewhere: one after another, in processes, in one program, on other machines."""

    def check(self) -> None:
        """Raises if nothing can be carried out, before any run folder is made."""
        return None

    @abstractmethod
    def run(self, jobs: Sequence[Job], report: JobReport | None = None) -> list[Run]:
        """Trains all jobs and returns their runs, in the order of the jobs.

        `report(job, iteration, metrics)` is called after each chunk of each job. A job that fails does not
        keep the others from training; when all have ended, one error names those that failed. `Stopped` is
        raised if the user interrupted them, when all that have begun are saved.
        """


def settle(jobs: Sequence[Job], runs: Sequence[ActiveRun], interrupted: bool) -> list[Run]:
    """The runs as results; raises what must be raised.

    A run that a hook stopped, to be resumed, is a result; one that the user interrupted is not.
    """
    failures = {
        job.name: run.ending.error
        for job, run in zip(jobs, runs, strict=False)
        if run.ending is not None and run.ending.error is not None
    }
    raise_failures(len(jobs), failures)
    stopped = any(run.ending is not None and run.ending.status == "stopped" for run in runs)
    if (stopped and interrupted) or len(runs) < len(jobs):
        raise Stopped
    return [Run(run.experiment, run.folder, run.state) for run in runs]


def require_portable(jobs: Sequence[Job]) -> None:
    """Raises unless all jobs can train in other processes."""
    for job in jobs:
        if job.folder is None or job.hooks:
            raise ComityError(
                f"{job.name} cannot train in another process: that needs a run folder, and hooks by name."
            )


def raise_failures(count: int, failures: Mapping[str, BaseException]) -> None:
    """One error for all that failed among `count` jobs, by name; of one job the error itself."""
    if count == 1:
        for error in failures.values():
            raise error
    if failures:
        raise ComityError("; ".join(f"{name}: {error}" for name, error in failures.items()))
