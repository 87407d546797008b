"""All jobs in one program, vectorised over their states."""

from collections.abc import Sequence

from comity.training.executors.base import Executor, settle
from comity.training.jobs import Job, JobReport, train_jobs
from comity.training.run import Run
from comity.training.stopping import StopRequest


class Vectorised(Executor):
    """Trains jobs that differ in seeds and tunable settings only as one program, as an accelerator likes it.

    Its numbers agree with those of separate runs within floating-point tolerance.
    """

    def run(self, jobs: Sequence[Job], report: JobReport | None = None) -> list[Run]:
        with StopRequest(listen=any(job.folder is not None for job in jobs)) as request:
            runs = train_jobs(jobs, report, request)
        return settle(jobs, runs, request.stopped)
