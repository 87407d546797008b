"""One job after another, in this process."""

from collections.abc import Sequence

from comity.training.executors.base import Executor, settle
from comity.training.hooks.base import ActiveRun
from comity.training.jobs import Job, JobReport, train_jobs
from comity.training.run import Run
from comity.training.stopping import StopRequest


class InProcess(Executor):
    """Trains one job after another. Jobs of one experiment compile once."""

    def run(self, jobs: Sequence[Job], report: JobReport | None = None) -> list[Run]:
        runs: list[ActiveRun] = []
        with StopRequest(listen=any(job.folder is not None for job in jobs)) as request:
            for job in jobs:
                if not request.stopped or not runs:
                    runs += train_jobs([job], report, request)
        return settle(jobs, runs, request.stopped)
