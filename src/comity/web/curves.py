"""Learning curves for the page: several runs, bands over seeds, smoothed, few enough points to draw."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from comity.evaluate.curves import align, smooth
from comity.evaluate.groups import kind_names, kind_of
from comity.evaluate.statistics import bootstrap_band
from comity.web.rows import Columns, RowReader

AXES = {"iteration": "iterations", "steps": "environment steps", "cpu": "CPU seconds", "time": "seconds"}
MOST_POINTS = 1000  # of one curve
Numbers = Float[np.ndarray, " n"]


class LoggedRun(NamedTuple):
    """A run whose curve is asked for."""

    path: str
    folder: Path
    config: Mapping[str, Any]


def x_values(run: LoggedRun, metrics: Columns, axis: str, reader: RowReader) -> Numbers | None:
    """Where the rows of a run stand on an axis; None if that is not known."""
    iterations = metrics["iteration"]
    if axis == "iteration":
        return iterations
    if axis == "steps":
        if "steps" in metrics:
            return metrics["steps"]
        batch, unroll = run.config.get("batch"), run.config.get("unroll")
        sized = type(batch) is int and type(unroll) is int
        return iterations * (batch * unroll) if sized else None  # type: ignore[operator]
    timing = reader.columns(run.folder / "timing.jsonl")
    seconds = timing.get("cpu_seconds" if axis == "cpu" else "seconds")
    return None if seconds is None else np.interp(iterations, timing["iteration"], seconds)


def curve_points(
    run: LoggedRun, metric: str, axis: str, smoothing: float, reader: RowReader
) -> tuple[Numbers, Numbers] | None:
    """x and y of a run where both are finite and x grows; None if there are none.

    `smoothing` is the share of all rows over which each becomes a mean.
    """
    metrics = reader.columns(run.folder / "metrics.jsonl")
    if metric not in metrics:
        return None
    x, y = x_values(run, metrics, axis, reader), metrics[metric]
    if x is None:
        return None
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    grows = np.concatenate([[True], np.diff(np.maximum.accumulate(x)) > 0])[: x.size] if x.size else known[:0]
    x, y = x[grows], y[grows]
    return (x, smooth(y, round(smoothing * y.size))) if x.size else None


def downsample(
    x: Numbers, y: Numbers, most: int = MOST_POINTS
) -> tuple[Float[np.ndarray, " kept"], Float[np.ndarray, " kept"]]:
    """At most so many points: of every stretch the lowest and the highest, so that no peak is lost."""
    if x.size <= most:
        return x, y
    edges = np.linspace(0, x.size, most // 2 + 1).astype(int)
    kept = {0, x.size - 1}
    for start, stop in itertools.pairwise(edges):
        kept |= {start + int(np.argmin(y[start:stop])), start + int(np.argmax(y[start:stop]))}
    chosen = np.asarray(sorted(kept))
    return x[chosen], y[chosen]


def curves(
    runs: Sequence[LoggedRun], metric: str, axis: str, smoothing: float, bands: bool, reader: RowReader
) -> list[dict[str, Any]]:
    """The curves of some runs: one for each kind with a band over its seeds, or one for each run."""
    kinds: dict[str, list[LoggedRun]] = {}
    for run in runs:
        kinds.setdefault(kind_of(run.config) if bands else run.path, []).append(run)
    labels = kind_names([own[0].config for own in kinds.values()]) if bands else list(kinds)
    found = []
    for label, own in zip(labels, kinds.values(), strict=True):
        known = [curve_points(run, metric, axis, smoothing, reader) for run in own]
        points = [each for each in known if each is not None]
        if points:
            found.append({"name": label, "paths": [run.path for run in own], **_curve(points)})
    return found


def _curve(points: list[tuple[Numbers, Numbers]]) -> dict[str, Any]:
    if len(points) == 1:
        x, y = downsample(*points[0])
        return {"x": x, "y": y, "seeds": 1}
    aligned = align(points)
    if aligned is None:  # their stretches do not meet: the longest alone
        x, y = downsample(*max(points, key=lambda own: own[0].size))
        return {"x": x, "y": y, "seeds": 1}
    mean, low, high = bootstrap_band(aligned[1], resamples=200)
    return {"x": aligned[0], "y": mean, "low": low, "high": high, "seeds": len(points)}
