"""One process per job, as many at once as there are cores.

On a CPU these programs use about one core whatever the number of threads, so processes are the faster way
to train several; each is the very program of a single run, so its numbers are those of a separate run bit by
bit.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from comity.core.errors import ComityError, require
from comity.training.executors.base import Executor, raise_failures, require_portable
from comity.training.jobs import Job, JobReport
from comity.training.run import Run
from comity.training.stopping import Stopped, terminate_as_interrupt


class Processes(Executor):
    """Trains each job in a process of its own, which reads the experiment from the job's folder."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = (os.cpu_count() or 1) if workers is None else workers
        require(self.workers >= 1, "workers", self.workers, "at least 1")

    def run(self, jobs: Sequence[Job], report: JobReport | None = None) -> list[Run]:
        require_portable(jobs)
        for job in jobs:
            if job.folder is not None:
                job.folder.release()  # the worker locks it
        crew = _Crew(jobs, report)
        threads = [threading.Thread(target=crew.work) for _ in range(min(self.workers, len(jobs)))]
        for thread in threads:
            thread.start()
        try:
            with terminate_as_interrupt():
                for thread in threads:
                    thread.join()
        except KeyboardInterrupt:
            crew.interrupt()
            for thread in threads:
                thread.join()
            raise_failures(len(jobs), crew.failures)
            raise Stopped from None
        raise_failures(len(jobs), crew.failures)
        return [Run(job.experiment, job.folder) for job in jobs]


class _Crew:
    """Threads that each watch one worker process at a time."""

    def __init__(self, jobs: Sequence[Job], report: JobReport | None) -> None:
        self.failures: dict[str, ComityError] = {}
        self._waiting = list(jobs)
        self._report = report
        self._running: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()

    def work(self) -> None:
        """Carries out jobs until none is left."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                job = self._waiting.pop(0)
                process = _start_worker(job)
                self._running.append(process)
            assert process.stdout is not None
            for line in process.stdout:
                message = json.loads(line)
                if self._report is not None:
                    self._report(job, message["iteration"], message["metrics"])
            said = process.stderr.read().strip() if process.stderr is not None else ""
            if process.wait() != 0:
                with self._lock:
                    self.failures[job.name] = ComityError(said or "the process died")
            elif said:
                print(f"{job.name}: {said}", file=sys.stderr)

    def interrupt(self) -> None:
        """Starts no more jobs; each worker saves and stops."""
        with self._lock:
            self._waiting.clear()
            for process in self._running:
                process.send_signal(signal.SIGINT)


def _start_worker(job: Job) -> subprocess.Popen[str]:
    assert job.folder is not None
    settings = json.dumps(job.options.to_data())
    return subprocess.Popen(
        [sys.executable, "-m", "comity.training.executors.worker", str(job.folder.path), settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches a worker once, through the process that waits for it
    )
