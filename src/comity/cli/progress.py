"""Progress bars: iterations, steps per second, time left, reward and episode return."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any


class Progress:
    """One bar per run; on a terminal that is not one, a line every ten seconds.

    `names` are those of the runs known at the start, by number or folder; a run that comes later brings its
    name, and its iterations, with its first report.
    """

    def __init__(self, names: Mapping[int | str, str], total: int, quiet: bool = False) -> None:
        self._quiet = quiet
        self._names: dict[int | str, str] = {**names}
        self._total = total
        self._bar = _bar() if sys.stderr.isatty() and not quiet else None
        self._last_print = time.monotonic()
        self._started: dict[int | str, tuple[float, float]] = {}
        self._tasks: dict[int | str, Any] = {}

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        for run in self._names:
            self._add(run, self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _add(self, run: int | str, total: int) -> None:
        self._names.setdefault(run, str(run))
        if self._bar is not None:
            self._tasks[run] = self._bar.add_task(self._names[run], total=total, speed="compiling", reward="")

    def update(
        self, run: int | str, iteration: int, metrics: dict[str, float], total: int | None = None
    ) -> None:
        """Shows how far a run, by its number or its name, is on the way to `total` iterations."""
        total = self._total if total is None else total
        if run not in self._names or (self._bar is not None and run not in self._tasks):
            self._add(run, total)
        now = time.monotonic()
        steps = metrics.get("steps", 0.0)
        begun, first = self._started.setdefault(run, (now, steps))  # the first chunk compiles
        speed = (steps - first) / (now - begun) if now > begun else 0.0
        text = f"{speed:,.0f} steps/s" if speed else ""
        reward = shown(metrics)
        if self._bar is not None:
            self._bar.update(self._tasks[run], completed=iteration, speed=text, reward=reward)
        elif not self._quiet and now - self._last_print > 10:
            self._last_print = now
            print(f"{self._names[run]}: {iteration}/{total} {text} {reward}", file=sys.stderr)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[reward]}"),
        console=Console(stderr=True),
    )


def shown(metrics: Mapping[str, Any]) -> str:
    """What is said of a chunk: the reward, seat by seat where it is logged so, and the return of episodes."""
    seats = [f"{value:.3f}" for name, value in metrics.items() if name.startswith("reward/")]
    found = []
    if "reward" in metrics:
        found.append(f"reward {metrics['reward']:.3f}" + (f" ({', '.join(seats)})" if seats else ""))
    for name, value in metrics.items():
        if name == "episode_return":
            found.append(f"return {value:.4g}")
        elif name.startswith("evaluation/"):
            opponent = name.removeprefix("evaluation/")
            earned = metrics.get(f"evaluation_return/{opponent}")  # where episodes differ in length
            found.append(f"{opponent} {value:.3f}" if earned is None else f"{opponent} {earned:.4g}")
    return ", ".join(found)
