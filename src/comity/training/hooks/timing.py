"""What a run takes: time, CPU time and throughput, chunk by chunk."""

import time

from comity.training.hooks.base import ActiveRun, Hook, Stop


class Timing(Hook):
    """Keeps `run.timing`: the seconds of all parts of the run so far, CPU-seconds, and steps per second.

    Seconds count from the start of training, compilation and what hooks do between chunks included; of a run
    that was resumed, on from those of its last checkpoint. The throughput is that of the last chunk, whose
    first one compiles. Runs that train in one program share its CPU-seconds equally.
    """

    def __init__(self) -> None:
        self._before = (0.0, 0.0)  # seconds and CPU-seconds of earlier parts
        self._began = (0.0, 0.0)  # clocks at the start of this part
        self._last = (0.0, 0)  # clock and steps after the last chunk

    def before(self, run: ActiveRun) -> Stop | None:
        rows = [] if run.folder is None else run.folder.timing()
        known = [row for row in rows if row["iteration"] <= run.iteration]
        if known:
            self._before = (float(known[-1].get("seconds", 0.0)), float(known[-1].get("cpu_seconds", 0.0)))
        self._began = (run.now, time.process_time())
        self._last = (run.now, run.steps)
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        seconds, steps = run.now - self._last[0], run.steps - self._last[1]
        self._last = (run.now, run.steps)
        spent = (time.process_time() - self._began[1]) / run.companions
        run.timing = {
            "seconds": round(self._before[0] + run.now - self._began[0], 3),
            "cpu_seconds": round(self._before[1] + spent, 3),
            "steps_per_second": round(steps / max(seconds, 1e-9), 1),
        }
        return None
