"""A lock on a run folder, so that two processes never train one run.

It is the operating system's lock on the folder itself: there is no file that a killed process could leave
behind, and it moves with the folder when that is renamed. Where folders cannot be locked (Windows, some
network file systems), nothing is.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from comity.core.errors import ComityError

if sys.platform != "win32":
    import fcntl


class FolderLock:
    """Held from its creation until it is released or the process ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = None
        if sys.platform == "win32":
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise _in_use(path) from None
        except OSError:  # this file system has no such locks
            os.close(descriptor)
            return
        if not _is(path, descriptor):  # another process put a new folder in its place
            os.close(descriptor)
            raise _in_use(path)
        self._descriptor = descriptor

    def release(self) -> None:
        """Gives the lock up."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        self.release()


def this_process() -> dict[str, Any]:
    """What run.json says about the process that trains."""
    return {"pid": os.getpid()}


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _in_use(path: Path) -> ComityError:
    try:
        process = json.loads((path / "run.json").read_text(encoding="utf-8")).get("process", {})
        who = f"process {int(process['pid'])}"
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        who = "another process"
    return ComityError(
        f"{path} is being trained by {who}: wait until it has ended or stop it, or choose another --out."
    )
