"""Jobs on a Ray cluster: each trains on whatever machine has room, and losing that machine loses nothing.

A worker trains a copy of the run folder and sends what changed with every checkpoint; the run folders, the
locks on them and the ledger of what became of each job stand at the driver. A job whose worker dies, hangs or
returns what cannot be goes on elsewhere from its last checkpoint; since runs resume bit by bit, the result is
that of an undisturbed run. A driver that was killed is started again by the same command with --resume,
and what is finished by then is not sent again.
"""

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from comity.core.errors import ComityError, require
from comity.training.executors.base import Executor, raise_failures, require_portable
from comity.training.executors.ledger import Ledger, job_key, player_digests
from comity.training.executors.ray_cluster import connect
from comity.training.executors.ray_parcels import fault_in, store
from comity.training.executors.ray_worker import Worker, environment, folder_files
from comity.training.folder import RunFolder
from comity.training.jobs import Job, JobReport
from comity.training.run import Run
from comity.training.stopping import Stopped, terminate_as_interrupt

POLL_SECONDS = 1.0
END_SECONDS = 10.0  # how long a worker may take to end its process and to clear its folder
STOP_SECONDS = 120.0  # how long workers may take to save when the user stops them


@dataclass
class Ray(Executor):
    """Trains each job in a process on a machine of a Ray cluster."""

    address: str | None = None  # auto, HOST:PORT or ray://HOST:PORT; by default a Ray on this machine alone
    cores: float = 1.0  # cores that a job takes
    gpus: float = 0.0  # graphics cards that a job takes
    losses: int = 5  # how often in a row a job may be lost without a new checkpoint
    patience: float = 900.0  # seconds without a report after which a worker counts as hanging
    first_patience: float = 1800.0  # the same for its first report, before which it compiles

    def __post_init__(self) -> None:
        require(self.cores > 0, "cores", self.cores, "above 0")
        require(self.gpus >= 0, "gpus", self.gpus, "at least 0")
        require(self.losses >= 0, "losses", self.losses, "at least 0")
        for name in ("patience", "first_patience"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")

    def check(self) -> None:
        """Connects, and raises if no machine of the cluster has room for a job."""
        machines = [node["Resources"] for node in connect(self.address)]
        for resource, needed, what in (("CPU", self.cores, "cores"), ("GPU", self.gpus, "gpus")):
            most = max((machine.get(resource, 0.0) for machine in machines), default=0.0)
            if needed > most:
                raise ComityError(
                    f"{what} = {needed:g} is not possible: no machine of the Ray cluster has more "
                    f"than {most:g} {what}."
                )

    def run(self, jobs: Sequence[Job], report: JobReport | None = None) -> list[Run]:
        require_portable(jobs)
        if not jobs:
            return []
        self.check()
        crew = _Crew(self, jobs, report)
        try:
            with terminate_as_interrupt():
                try:
                    crew.work()
                except KeyboardInterrupt:
                    crew.stop()
                    raise_failures(len(jobs), crew.failures)
                    raise Stopped from None
        finally:
            crew.release()
        raise_failures(len(jobs), crew.failures)
        return [Run(job.experiment, job.folder) for job in jobs]


@dataclass
class _Task:
    """A job on its way."""

    job: Job
    folder: RunFolder
    key: str
    losses: int = 0  # in a row, without a new checkpoint
    failure: str = ""  # what the worker said when it failed
    actor: Any = None
    reply: Any = None  # what it was asked last
    heard: float | None = None  # when it last reported; None: it has not begun
    reported: bool = False  # whether it has reported since it was sent
    ended: bool = field(default=False)

    @property
    def saved(self) -> int:
        """The iteration of the newest checkpoint at the driver."""
        return max((int(path.stem) for path in self.folder.checkpoints()), default=0)


class _Crew:
    """The driver: sends jobs, takes what comes back, and sends again what was lost."""

    def __init__(self, settings: Ray, jobs: Sequence[Job], report: JobReport | None) -> None:
        import ray

        remote: Any = ray.remote  # its types know actors without settings only
        self.failures: dict[str, ComityError] = {}
        self._ray = ray
        self._settings = settings
        self._report = report
        self._ledger = Ledger.of(jobs)
        self._worker = remote(
            num_cpus=settings.cores, num_gpus=settings.gpus, max_restarts=0, max_concurrency=2
        )(Worker)
        self._tasks = [_Task(job, job.folder, job_key(job)) for job in jobs if job.folder is not None]
        self._deadline = math.inf
        for task in self._tasks:
            task.folder.acquire()

    def work(self) -> None:
        """Carries out all jobs."""
        for task in self._tasks:
            if self._ledger.is_finished(task.folder, task.key):
                task.ended = True
            else:
                self._careful(task, self._send)
        self._wait()

    def stop(self) -> None:
        """Lets every worker save and stop; what has not begun is left as it is."""
        self._deadline = time.monotonic() + STOP_SECONDS
        for task in self._under_way():
            if task.heard is None:
                task.ended = True
            else:
                task.actor.stop.remote()
        self._wait()

    def release(self) -> None:
        """Gives back what the cluster lent, and the folders."""
        for task in self._tasks:
            self._dismiss(task)
            task.folder.release()

    def _wait(self) -> None:
        while under_way := self._under_way():
            by_reply = {task.reply: task for task in under_way}
            for reply in self._ray.wait(list(by_reply), num_returns=1, timeout=POLL_SECONDS)[0]:
                self._careful(by_reply[reply], self._take)
            for task in under_way:
                silent = 0.0 if task.heard is None else time.monotonic() - task.heard
                own = self._settings
                if not task.ended and silent > (own.patience if task.reported else own.first_patience):
                    self._careful(task, lambda task: self._lose(task, "it reported nothing for too long"))
            if time.monotonic() > self._deadline:
                return

    def _under_way(self) -> list[_Task]:
        return [task for task in self._tasks if not task.ended]

    def _careful(self, task: _Task, step: Any) -> None:
        """A step of one job; an error of it, such as a disk that is full, does not end the others."""
        try:
            step(task)
        except ComityError as error:
            task.ended = True
            self.failures[task.job.name] = error
            self._dismiss(task)

    def _send(self, task: _Task) -> None:
        attempt = len(self._ledger.events("sent", task.folder, task.key)) + 1
        self._ledger.add("sent", task.folder, task.key, attempt=attempt, iteration=task.saved)
        files = folder_files(task.folder.path)
        options = task.job.options.to_data()
        task.actor = self._worker.remote(task.folder.path.name, files, options, environment())
        task.heard, task.reported = None, False
        task.reply = task.actor.poll.remote(POLL_SECONDS)

    def _take(self, task: _Task) -> None:
        try:
            parcel = self._ray.get(task.reply)
        except self._ray.exceptions.RayError:
            self._lose(task, "its worker died")
            return
        if parcel.lines or task.heard is None:
            task.heard = time.monotonic()
            task.reported = bool(parcel.lines) or task.reported
        fault = fault_in(parcel)
        if fault is not None:
            self._lose(task, fault)
        elif parcel.code == 2 and parcel.said != task.failure:
            # The same failure a second time is the run's own; once it may be that of a machine.
            task.failure = parcel.said
            self._lose(task, f"it failed: {' '.join(parcel.said.split())}")
        elif parcel.code not in (None, 0, 2):
            self._lose(task, f"its process ended with {parcel.code}: {' '.join(parcel.said.split())[-500:]}")
        else:
            self._keep(task, parcel)

    def _keep(self, task: _Task, parcel: Any) -> None:
        before = task.saved
        store(task.folder, parcel.files, task.job.options.keep)
        if task.saved > before:
            task.losses = 0
            self._ledger.add("saved", task.folder, task.key, iteration=task.saved)
        if self._report is not None:
            for message in map(json.loads, parcel.lines):
                self._report(task.job, message["iteration"], message["metrics"])
        if parcel.code is None:
            task.reply = task.actor.poll.remote(POLL_SECONDS)
            return
        if parcel.code == 2:
            self._ledger.add("failed", task.folder, task.key, error=" ".join(parcel.said.split()))
            raise ComityError(parcel.said.strip())
        status = task.folder.metadata().get("status")
        ending = "finished" if status == "finished" else "stopped"
        self._ledger.add(
            ending, task.folder, task.key, iteration=task.saved, sha256=player_digests(task.folder)
        )
        task.ended = True
        self._dismiss(task)
        if said := parcel.said.strip():
            print(f"{task.job.name}: {said}", file=sys.stderr)

    def _lose(self, task: _Task, reason: str) -> None:
        self._dismiss(task)
        self._ledger.add("lost", task.folder, task.key, reason=reason, iteration=task.saved)
        task.losses += 1
        if task.losses > self._settings.losses:
            raise ComityError(f"It was lost {task.losses} times in a row without a new checkpoint: {reason}.")
        if self._deadline < math.inf:
            task.ended = True  # the user stops: what is saved is saved
            return
        self._send(task)

    def _dismiss(self, task: _Task) -> None:
        """Ends a worker, whatever state it is in."""
        if task.actor is None:
            return
        ended = task.actor.end.remote()
        self._ray.wait([ended], timeout=END_SECONDS if task.heard is not None else 0)
        self._ray.kill(task.actor)
        task.actor = None
