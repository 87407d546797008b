"""The driver's ledger: what became of every job that was sent to other machines, one JSON line an event.

```
{"event": "sent", "run": "seed-0", "key": "5f0c...", "attempt": 1, "time": ...}
{"event": "saved", "run": "seed-0", "key": "5f0c...", "iteration": 400, "time": ...}
{"event": "lost", "run": "seed-0", "key": "5f0c...", "reason": "its worker died", "time": ...}
{"event": "finished", "run": "seed-0", "key": "5f0c...", "iteration": 1000, "sha256": {...}, "time": ...}
```

A line is on the disk before the driver goes on, and a last line that a kill cut short is dropped. A job's key
is a digest of its settings and of what it starts from: the same settings are the same job.
"""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comity.core.errors import ComityError
from comity.training.folder import RunFolder
from comity.training.jobs import Job

FILE = "ledger.jsonl"


class Ledger:
    """A file of events, beside the run folders that it is about."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = _whole_rows(path)

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> "Ledger":
        """The ledger in the innermost folder that holds all run folders of some jobs."""
        parents = [str(job.folder.path.resolve().parent) for job in jobs if job.folder is not None]
        return cls(Path(os.path.commonpath(parents)) / FILE)

    def add(self, event: str, folder: RunFolder, key: str, **facts: Any) -> None:
        """Writes an event down, for good."""
        name = folder.path.resolve().relative_to(self.path.parent).as_posix()
        row = {"event": event, "run": name, "key": key, **facts, "time": round(time.time(), 3)}
        line = (json.dumps(row) + "\n").encode()
        try:
            with open(self.path, "ab") as file:
                before = file.tell()
                try:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    os.truncate(self.path, before)  # a disk that is full keeps no half of a line
                    raise
        except OSError as error:
            raise ComityError(f"{self.path} cannot be written: {error.strerror}.") from None
        self._rows.append(row)

    def events(self, event: str, folder: RunFolder, key: str) -> list[dict[str, Any]]:
        """What was written down of a kind about a job."""
        name = folder.path.resolve().relative_to(self.path.parent).as_posix()
        return [row for row in self._rows if (row["event"], row["run"], row["key"]) == (event, name, key)]

    def is_finished(self, folder: RunFolder, key: str) -> bool:
        """Whether a job came to its end, and its folder still holds what it came to."""
        found = self.events("finished", folder, key)
        return bool(found) and found[-1]["sha256"] == player_digests(folder)


def job_key(job: Job) -> str:
    """What a job is, by its settings and by what its players begin with: 16 hexadecimal digits."""
    digest = hashlib.sha256(json.dumps(job.experiment.to_data(), sort_keys=True).encode())
    if job.folder is not None:
        for path in sorted((job.folder.path / "start").glob("*")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def player_digests(folder: RunFolder) -> dict[str, str]:
    """The digests of a run's players."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.player_files()}


def _whole_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a ledger; what a kill left of a last line is cut off."""
    if not path.is_file():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    try:
        rows = [json.loads(line) for line in whole.splitlines()]
        if all({"event", "run", "key"} <= set(row) for row in rows):
            return rows
    except (ValueError, TypeError):
        pass
    raise ComityError(f"{path} is damaged: remove it, and finished runs are looked at once more.")
