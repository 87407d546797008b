"""The metadata of a run, run.json: how a run was carried out, how it ended and what it took."""

import sys
import time
from typing import Any

from comity.training.hooks.base import ActiveRun, Ending, Hook, Stop


class Metadata(Hook):
    """Writes the options at the start; the ending, CPU-seconds and peak memory at the end.

    The costs are those of all processes that worked on the run and were not killed. Runs that train in one
    program share its CPU-seconds equally; the memory is the program's. This hook comes first, so that it has
    the last word.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._started = 0.0

    def before(self, run: ActiveRun) -> Stop | None:
        self._started = time.process_time()
        if run.folder is not None:
            run.folder.add_metadata(options=self._options)
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        return None

    def after(self, run: ActiveRun, ending: Ending) -> None:
        if run.folder is None or ending.status == "aborted":
            return
        failed = ending.status == "failed"
        before = run.folder.metadata()
        spent = (time.process_time() - self._started) / run.companions
        memory = max(float(before.get("peak_memory_megabytes", 0.0)), peak_memory())
        run.folder.add_metadata(
            status=ending.status,
            reason=None if failed else ending.reason,
            error=ending.reason if failed else None,
            iteration=before.get("iteration") if failed else run.iteration,
            cpu_seconds=round(float(before.get("cpu_seconds", 0.0)) + spent, 3),
            peak_memory_megabytes=round(memory, 1),
        )


def peak_memory() -> float:
    """The largest memory of this process so far, in megabytes; 0 where that cannot be known."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e6 if sys.platform == "darwin" else 1e3)
