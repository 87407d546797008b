"""Batches of environments on the host, stepped by this process or by workers. No JAX here.

Orders go to the workers over pipes, values through memory that all of them map: nothing is copied or
serialised but the few bytes of an order. A worker that dies closes its pipe, so nobody waits for it.
"""

import atexit
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

from comity.bridges.adapters import HostSeat, Source, maker
from comity.bridges.slices import Arrays, Slice, arrays_in, size_of
from comity.core.errors import ComityError

MOST_TABLES = 4  # batches kept at once; the one not used for longest goes


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

    def wait(self) -> None:
        """Until the order is carried out; raises if it failed or the worker is gone."""
        line = self._from.readline()
        if not line:
            code = self.process.wait()
            raise WorkerDiedError(
                f"A worker process that steps {self._source.name} died (exit code {code}). The run's last "
                f"checkpoint is kept: go on with comity train --resume, or make the run again with "
                f"--game.workers 0 to see the error here."
            )
        answer = json.loads(line)
        if "error" in answer:
            raise ComityError(answer["error"])

    def close(self) -> None:
        for end in (self._to, self._from):
            with contextlib.suppress(OSError):
                end.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Table:
    """A batch of environments under way."""

    def __init__(self, arrays: Arrays, local: Slice | None, workers: tuple[Worker, ...] = ()) -> None:
        self.arrays, self.local, self.workers = arrays, local, workers
        self.tick = 0


class Pool:
    """All batches of one environment. `workers` processes step them, or this process if there are none."""

    def __init__(self, source: Source, workers: int) -> None:
        self._source, self._make = source, maker(source)
        self.seats = self._look()
        self._count = workers
        self._workers: list[Worker] = []
        self._tables: dict[int, Table] = {}

    def begin(self, table: int, seeds: np.ndarray) -> Arrays:
        """New episodes in all slots of a batch, which is made if it is not there."""
        found = self._table(table, len(seeds))
        found.arrays.seed[:] = seeds
        self._order(found, table, "begin")
        found.tick = 0
        return found.arrays

    def renew(self, table: int, seeds: np.ndarray, over: np.ndarray, tick: int) -> Arrays:
        """New episodes where they are over. A batch that is not there begins anew."""
        if table not in self._tables:
            over = np.ones_like(over)
        found = self._table(table, len(seeds))
        found.arrays.seed[:] = seeds
        found.arrays.over[:] = over
        self._order(found, table, "renew")
        found.tick = tick
        return found.arrays

    def step(self, table: int, actions: list[list[np.ndarray]], tick: int) -> Arrays:
        """One step of all slots."""
        found = self._tables.get(table)
        batch = len(actions[0][0])
        if found is None or len(found.arrays.seed) != batch or found.tick != tick:
            raise ComityError(
                f"These games of {self._source.name} are not under way here: environments of others cannot "
                f"be copied, stepped in part or gone back to."
            )
        for leaves, given in zip(found.arrays.action, actions, strict=True):
            for leaf, value in zip(leaves, given, strict=True):
                leaf[...] = value
        self._order(found, table, "step")
        found.tick = tick + 1
        return found.arrays

    def workers(self) -> list["subprocess.Popen[bytes]"]:
        """The processes that step the environments, as far as they were started."""
        return [worker.process for worker in self._workers]

    def close(self) -> None:
        """Ends all environments and workers."""
        for table in self._tables.values():
            if table.local is not None:
                table.local.close()
        self._tables.clear()
        for worker in self._workers:
            worker.close()
        self._workers.clear()

    def _look(self) -> tuple[HostSeat, ...]:
        probe = self._make()
        probe.close()
        names = [seat.name for seat in probe.seats]
        if len(set(names)) != len(names) or not names:
            raise ComityError(f"{self._source.name} needs agents with different names, not {names}.")
        return probe.seats

    def _table(self, table: int, batch: int) -> Table:
        found = self._tables.pop(table, None)
        if found is not None and len(found.arrays.seed) != batch:
            self._drop(table, found)
            found = None
        if found is None:
            while len(self._tables) >= MOST_TABLES:
                oldest = next(iter(self._tables))
                self._drop(oldest, self._tables.pop(oldest))
            found = self._open(table, batch)
        self._tables[table] = found  # the last in order is the last used
        return found

    def _open(self, table: int, batch: int) -> Table:
        size = size_of(self.seats, batch)
        if self._count == 0:
            arrays = arrays_in(bytearray(size), self.seats, batch)
            return Table(arrays, Slice(self._make, self.seats, arrays, 0, batch, self._source.name))
        while len(self._workers) < min(self._count, batch):
            self._workers.append(Worker(self._source))
        workers = tuple(self._workers[:batch])
        fast = Path("/dev/shm")
        with tempfile.NamedTemporaryFile(dir=fast if fast.is_dir() else None) as file:
            file.truncate(size)
            arrays = arrays_in(mmap.mmap(file.fileno(), size), self.seats, batch)
            edges = np.linspace(0, batch, len(workers) + 1).astype(int).tolist()
            for worker, first, last in zip(workers, edges[:-1], edges[1:], strict=True):
                worker.order(do="open", table=table, path=file.name, batch=batch, first=first, last=last)
            self._wait(workers)
        return Table(arrays, None, workers)

    def _drop(self, table: int, found: Table) -> None:
        if found.local is not None:
            found.local.close()
        for worker in found.workers:
            worker.order(do="close", table=table)
        self._wait(found.workers)

    def _order(self, found: Table, table: int, what: str) -> None:
        for worker in found.workers:
            worker.order(do=what, table=table)
        self._wait(found.workers)
        if found.local is not None:
            try:
                getattr(found.local, what)()
            except ComityError:
                raise
            except Exception as error:
                message = f"{self._source.name} failed: {type(error).__name__}: {error}"
                raise ComityError(message) from error

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
