"""Learning curves of several runs, aligned on iterations, environment steps or seconds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from comity.evaluate.statistics import bootstrap_band

AXES = {"iteration": "iteration", "steps": "environment steps", "seconds": "seconds of training"}
MOST_POINTS = 200

Metrics = Sequence[Mapping[str, Any]]  # what a run logged, row by row
Points = tuple[np.ndarray, np.ndarray]  # x and y of one run


class Curve(NamedTuple):
    """The mean over runs with its 95% band."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def learning_curve(
    runs: Sequence[Metrics], metric: str, axis: str = "iteration", window: int = 1
) -> Curve | None:
    """The mean of a metric over runs with its band, where all of them were; None if there is no such place.

    `window` smooths each run before the mean: every row becomes the mean of that many rows around it.
    """
    found = [points(run, metric, axis) for run in runs]
    if not found or any(x.size == 0 for x, _ in found):
        return None
    aligned = align([(x, smooth(y, window)) for x, y in found])
    return None if aligned is None else Curve(aligned[0], *bootstrap_band(aligned[1]))


def points(rows: Metrics, metric: str, axis: str = "iteration") -> Points:
    """x and y of one run: the rows that have both, in the order of x."""
    known = [(float(row[axis]), float(row[metric])) for row in rows if axis in row and metric in row]
    x, y = np.asarray(sorted(known), np.float64).reshape(-1, 2).T
    first = np.concatenate([[True], np.diff(x) > 0])[: x.size]
    return x[first], y[first]


def align(runs: Sequence[Points]) -> tuple[np.ndarray, Float[np.ndarray, "runs points"]] | None:
    """All runs at the same x, between the last start and the first end; None if there is nothing between.

    Where their x are not the same already, or many, values between two rows are interpolated.
    """
    first = runs[0][0]
    if first.size <= MOST_POINTS and all(np.array_equal(x, first) for x, _ in runs[1:]):
        return first, np.stack([y for _, y in runs])
    low, high = max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)
    if low > high:
        return None
    shared = np.unique(np.concatenate([x for x, _ in runs]))
    shared = shared[(low <= shared) & (shared <= high)]
    if shared.size > MOST_POINTS:
        shared = np.linspace(low, high, MOST_POINTS)
    return shared, np.stack([np.interp(shared, x, y) for x, y in runs])


def smooth(values: Float[np.ndarray, " n"], window: int) -> Float[np.ndarray, " n"]:
    """The mean of `window` values around each; of fewer at the ends, so that nothing is shifted."""
    if window <= 1 or values.size == 0:
        return values
    half = window // 2
    total = np.concatenate([[0.0], np.cumsum(values)])
    place = np.arange(values.size)
    reach = np.minimum(half, np.minimum(place, values.size - 1 - place))  # the same to both sides
    smoothed: Float[np.ndarray, " n"] = (total[place + reach + 1] - total[place - reach]) / (2 * reach + 1)
    return smoothed
