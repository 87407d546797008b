"""Batches of environments on the host, stepped by this process or by workers. No JAX here.

Orders go to the workers over pipes, values through memory that all of them map: nothing is copied or
serialised but the few bytes of an order. A worker that dies closes its pipe, so nobody waits for it.
"""

import atexit
import base64
import contextlib
import json
import mmap
import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from comity.bridges.adapters import HostSeat
from comity.bridges.slices import Arrays, EnvSlice, arrays_in, size_of, try_step
from comity.bridges.sources import Source, failure, maker
from comity.core.errors import ComityError

MAX_BATCHES = 4  # batches kept at once; the one not used for longest goes


class WorkerDiedError(ComityError):
    """A worker process is gone."""


class Worker:
    """A process that steps a part of each batch."""

    def __init__(self, source: Source) -> None:
        orders, to_worker = os.pipe()
        from_worker, answers = os.pipe()
        command = [
            sys.executable,
            "-m",
            "comity.bridges.worker",
            str(orders),
            str(answers),
            json.dumps(source),
        ]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(command, pass_fds=(orders, answers), env=environment)
        os.close(orders)
        os.close(answers)
        self._to, self._from = os.fdopen(to_worker, "w"), os.fdopen(from_worker, "r")
        self._source = source

    def order(self, **order: Any) -> None:
        """Tells the worker what to do, without waiting."""
        with contextlib.suppress(BrokenPipeError):
            self._to.write(json.dumps(order) + "\n")
            self._to.flush()

    def wait(self) -> dict[str, Any]:
        """The answer once the order is carried out; raises if it failed or the worker is gone."""
        line = self._from.readline()
        if not line:
            code = self.process.wait()
            raise WorkerDiedError(
                f"A worker process that steps {self._source.name} died (exit code {code}). The run's last "
                f"checkpoint is kept: go on with comity train --resume, or make the run again with "
                f"--game.workers 0 to see the error here."
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ComityError(answer["error"])
        return answer

    def close(self) -> None:
        for end in (self._to, self._from):
            with contextlib.suppress(OSError):
                end.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class HostBatch:
    """A batch of environments under way."""

    def __init__(self, arrays: Arrays, local: EnvSlice | None, workers: tuple[Worker, ...] = ()) -> None:
        self.arrays, self.local, self.workers = arrays, local, workers
        self.tick = 0


class Pool:
    """All batches of one environment. `workers` processes step them, or this process if there are none."""

    def __init__(self, source: Source, workers: int) -> None:
        self._source, self._make = source, maker(source)
        self.seats, self.turns = self._probe()
        self._count = workers
        self._workers: list[Worker] = []
        self._batches: dict[int, HostBatch] = {}

    def reset(self, batch_id: int, seeds: np.ndarray) -> Arrays:
        """New episodes in all slots of a batch, which is made if it is not there."""
        found = self._batch(batch_id, len(seeds))
        found.arrays.seed[:] = seeds
        self._order(found, batch_id, "reset")
        found.tick = 0
        return found.arrays

    def reset_where(self, batch_id: int, seeds: np.ndarray, over: np.ndarray, tick: int) -> Arrays:
        """New episodes where they are over. A batch that is not there begins anew."""
        if batch_id not in self._batches:
            over = np.ones_like(over)
        found = self._batch(batch_id, len(seeds))
        found.arrays.seed[:] = seeds
        found.arrays.over[:] = over
        self._order(found, batch_id, "reset_where")
        found.tick = tick
        return found.arrays

    def step(self, batch_id: int, actions: list[list[np.ndarray]], tick: int) -> Arrays:
        """One step of all slots."""
        found = self._batches.get(batch_id)
        batch = len(actions[0][0])
        if found is None or len(found.arrays.seed) != batch or found.tick != tick:
            raise ComityError(
                f"These games of {self._source.name} are not under way here: third-party environments cannot "
                f"be copied, stepped in part or gone back to."
            )
        for leaves, given in zip(found.arrays.action, actions, strict=True):
            for leaf, value in zip(leaves, given, strict=True):
                leaf[...] = value
        self._order(found, batch_id, "step")
        found.tick = tick + 1
        return found.arrays

    def render(self, batch_id: int, tick: int) -> np.ndarray | None:
        """What an environment draws of itself, if it is alone in its batch and stands at this tick."""
        found = self._batches.get(batch_id)
        if found is None or len(found.arrays.seed) != 1 or found.tick != tick:
            return None
        if found.local is not None:
            return found.local.render()
        found.workers[0].order(do="render", batch_id=batch_id)
        answer = found.workers[0].wait()
        if "pixels" not in answer:
            return None
        pixels = np.frombuffer(base64.b64decode(answer["pixels"]), np.uint8)
        return pixels.reshape(answer["shape"])

    def workers(self) -> list["subprocess.Popen[bytes]"]:
        """The processes that step the environments, as far as they were started."""
        return [worker.process for worker in self._workers]

    def close(self) -> None:
        """Ends all environments and workers."""
        for batch in self._batches.values():
            if batch.local is not None:
                batch.local.close()
        self._batches.clear()
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def _probe(self) -> tuple[tuple[HostSeat, ...], bool]:
        """The seats, and whether some of them wait while others act.

        One step is tried, so that an environment that cannot be played is refused before a run begins.
        """
        try:
            probe = self._make()
            names = [seat.name for seat in probe.seats]
            if len(set(names)) != len(names) or not names:
                listed = ", ".join(names) or "none"
                raise ComityError(f"{self._source.name} needs agents with different names: it has {listed}.")
            try_step(probe, self._source.name)
        except Exception as error:
            raise failure(self._source.name, error) from None
        return probe.seats, probe.turns

    def _batch(self, batch_id: int, batch: int) -> HostBatch:
        found = self._batches.pop(batch_id, None)
        if found is not None and len(found.arrays.seed) != batch:
            self._drop(batch_id, found)
            found = None
        if found is None:
            while len(self._batches) >= MAX_BATCHES:
                oldest = next(iter(self._batches))
                self._drop(oldest, self._batches.pop(oldest))
            found = self._open(batch_id, batch)
        self._batches[batch_id] = found  # the last in order is the last used
        return found

    def _open(self, batch_id: int, batch: int) -> HostBatch:
        size = size_of(self.seats, batch)
        if self._count == 0:
            arrays = arrays_in(bytearray(size), self.seats, batch)
            return HostBatch(arrays, EnvSlice(self._make, self.seats, arrays, 0, batch, self._source.name))
        while len(self._workers) < min(self._count, batch):
            self._workers.append(Worker(self._source))
        workers = tuple(self._workers[:batch])
        fast = Path("/dev/shm")
        with tempfile.NamedTemporaryFile(dir=fast if fast.is_dir() else None) as file:
            file.truncate(size)
            arrays = arrays_in(mmap.mmap(file.fileno(), size), self.seats, batch)
            edges = np.linspace(0, batch, len(workers) + 1).astype(int).tolist()
            for worker, first, last in zip(workers, edges[:-1], edges[1:], strict=True):
                worker.order(
                    do="open", batch_id=batch_id, path=file.name, batch=batch, first=first, last=last
                )
            self._wait(workers)
        return HostBatch(arrays, None, workers)

    def _drop(self, batch_id: int, found: HostBatch) -> None:
        if found.local is not None:
            found.local.close()
        for worker in found.workers:
            worker.order(do="close", batch_id=batch_id)
        self._wait(found.workers)

    def _order(self, found: HostBatch, batch_id: int, what: str) -> None:
        for worker in found.workers:
            worker.order(do=what, batch_id=batch_id)
        self._wait(found.workers)
        if found.local is not None:
            try:
                getattr(found.local, what)()
            except Exception as error:
                raise failure(self._source.name, error) from error

    def _wait(self, workers: tuple[Worker, ...]) -> None:
        """Hears every worker out, so that none is left with an answer that nobody read.

        If one died, all end with it: whoever comes next finds new ones.
        """
        errors = []
        for worker in workers:
            try:
                worker.wait()
            except ComityError as error:
                errors.append(error)
        if any(isinstance(error, WorkerDiedError) for error in errors):
            self.close()
        if errors:
            raise errors[0]


@lru_cache(maxsize=8)
def pool(source: Source, workers: int) -> Pool:
    """The pool of an environment, made once."""
    made = Pool(source, workers)
    atexit.register(made.close)
    return made
