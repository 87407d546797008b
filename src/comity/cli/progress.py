"""Progress bars: iterations, speed, time left, and the reward."""

import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress


class Progress:
    """One bar per run; on a terminal that is not one, a line every ten seconds."""

    def __init__(self, names: dict[int, str], total: int, quiet: bool = False) -> None:
        self._quiet = quiet
        self._names = names
        self._total = total
        self._live = sys.stderr.isatty() and not quiet
        self._last_print = time.monotonic()
        self._started: dict[int, tuple[float, int]] = {}
        self._tasks: dict[int, Any] = {}
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[reward]}"),
            console=Console(stderr=True),
            disable=not self._live,
        )

    def __enter__(self) -> "Progress":
        self._bar.start()
        for number, name in self._names.items():
            self._tasks[number] = self._bar.add_task(name, total=self._total, speed="compiling", reward="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, number: int, iteration: int, metrics: dict[str, float]) -> None:
        """Shows how far a run is."""
        now = time.monotonic()
        begun, first = self._started.setdefault(number, (now, iteration))
        speed = (iteration - first) / (now - begun) if now > begun else 0.0
        rewards = [value for name, value in metrics.items() if name.startswith("reward")]
        reward = "reward " + ", ".join(f"{value:.3f}" for value in rewards)
        text = f"{speed:.1f} it/s" if speed else ""
        self._bar.update(self._tasks[number], completed=iteration, speed=text, reward=reward)
        if not self._live and not self._quiet and now - self._last_print > 10:
            self._last_print = now
            print(f"{self._names[number]}: {iteration}/{self._total} {text} {reward}", file=sys.stderr)
