"""What stands on a Ray worker: a copy of a run folder, and the process that trains it.

The process is the very one that `Processes` starts, so its numbers are those of a local run bit by bit. It
trains in a folder of its own, and what changed there travels to the driver with every checkpoint: machines
share no file system.
"""

import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

NOT_SENT = ("tensorboard", "wandb")  # folders that a worker begins anew
PASSED_ON = ("JAX_", "XLA_", "COMITY_")  # beginnings of environment variables that decide about numbers


class Parcel(NamedTuple):
    """What a worker has to say: reports as JSON lines, files that changed, how its process ended."""

    lines: list[str]
    files: dict[str, bytes]  # by their path in the run folder
    digests: dict[str, str]
    code: int | None
    said: str


class Worker:
    """Trains one run folder in a process. The driver asks `poll` for news until there is a code."""

    def __init__(
        self,
        name: str,
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        environment: Mapping[str, str],
    ) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="comity-worker-"))
        self._folder = self._place / name
        for path, content in files.items():
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / path).write_bytes(content)
        self._known = {path: _version(self._folder / path) for path in files}
        self._checkpoint = self._newest()
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._said: list[str] = []
        self._process = self._start(options, environment)
        threads = (self._read_lines, self._read_errors)
        self._threads = [threading.Thread(target=read, daemon=True) for read in threads]
        for thread in self._threads:
            thread.start()

    def poll(self, seconds: float) -> Parcel:
        """News, as soon as there are any or after some seconds; files with each checkpoint and at the end."""
        lines, ended = self._news(seconds)
        code = self._process.wait() if ended else None
        if ended:
            self._threads[1].join()
        files: dict[str, bytes] = {}
        if ended or self._newest() != self._checkpoint:
            self._checkpoint = self._newest()
            files = self._changed()
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        return Parcel(lines, files, digests, code, "".join(self._said).replace(f"{self._place}{os.sep}", ""))

    def stop(self) -> None:
        """Lets the process save and stop."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Ends the process, if it still runs, and leaves nothing behind."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._place, ignore_errors=True)

    def _start(self, options: Mapping[str, Any], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        # Ray gives its workers one OpenMP thread; a local run has no such limit.
        own = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        own |= {**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "comity.training.executors.worker", str(self._folder)]
        return subprocess.Popen(
            [*command, json.dumps(options), "watched"],
            stdin=subprocess.PIPE,  # the process ends when this one does, however it does
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=own,
            start_new_session=True,
        )

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._said.extend(self._process.stderr)

    def _news(self, seconds: float) -> tuple[list[str], bool]:
        lines: list[str] = []
        try:
            line = self._lines.get(timeout=seconds)
            while line is not None:
                lines.append(line)
                line = self._lines.get_nowait()
        except queue.Empty:
            return lines, False
        return lines, True

    def _newest(self) -> str:
        return max((path.name for path in (self._folder / "checkpoints").glob("*.safetensors")), default="")

    def _changed(self) -> dict[str, bytes]:
        """The files that changed, checkpoints first: what they need was written before them."""
        files = {}
        paths = [path for path in self._folder.rglob("*") if path.is_file() and path.name[0] != "."]
        for path in sorted(paths, key=lambda path: path.parent.name != "checkpoints"):
            name = path.relative_to(self._folder).as_posix()
            try:
                version = _version(path)
                if self._known.get(name) != version:
                    files[name] = path.read_bytes()
                    self._known[name] = version
            except FileNotFoundError:
                continue  # an old checkpoint that has just been dropped
        return files


def folder_files(folder: Path) -> dict[str, bytes]:
    """The files of a run folder that a worker needs to go on with it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    inside = {path.relative_to(folder): path for path in found}
    return {
        name.as_posix(): path.read_bytes() for name, path in inside.items() if name.parts[0] not in NOT_SENT
    }


def environment() -> dict[str, str]:
    """What of this process's environment a worker's process shall have too."""
    return {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}


def _version(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
