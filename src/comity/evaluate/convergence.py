r"""How fast a curve of training comes to rest, and whether it did.

With :math:`y_\infty` the mean over the last tenth of the rows and :math:`y_0` the first of them, smoothed
over a fiftieth: the half-life is how long it takes until the curve stays within half of :math:`|y_0 -
y_\infty|` of where it ends, the rate is :math:`\ln 2` divided by it (of :math:`y_t - y_\infty \propto
e^{-rt}` it is r), and it has settled where it stays within a tenth.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.evaluate.curves import Metrics, points, smooth

FEWEST = 10  # rows that say anything


class Convergence(NamedTuple):
    """`half_life` and `settled` in units of the curve's axis; NaN where the curve did not move."""

    final: float
    half_life: float
    rate: float
    settled: float
    at_rest: bool  # the last two tenths differ by at most two standard errors, or 1% of the range


def convergence(rows: Metrics, metric: str = "reward", axis: str = "iteration") -> Convergence | None:
    """The convergence of a metric of a run; None if it was logged fewer than ten times."""
    x, y = points(rows, metric, axis)
    if x.size < FEWEST:
        return None
    tenth = max(2, x.size // 10)
    last, before = y[-tenth:], y[-2 * tenth : -tenth]
    final = float(last.mean())
    error = math.sqrt((last.var(ddof=1) + before.var(ddof=1)) / tenth)
    span = float(y.max() - y.min())
    at_rest = bool(abs(final - before.mean()) <= max(2 * error, 0.01 * span))
    curve = smooth(y, max(1, x.size // 50))
    distance = np.abs(curve - final)
    half_life, settled = (_from_when(x, distance, share * distance[0]) for share in (0.5, 0.1))
    return Convergence(
        final, half_life, math.log(2) / half_life if half_life > 0 else math.nan, settled, at_rest
    )


def _from_when(x: Float[np.ndarray, " n"], distance: Float[np.ndarray, " n"], bound: float) -> float:
    """From where on the distance stays within a bound, interpolated, counted from the first x."""
    outside = np.flatnonzero(distance > bound)
    if distance[0] == 0 or outside.size == 0:
        return math.nan
    k = int(outside[-1])
    if k + 1 == x.size:
        return math.nan
    part = (distance[k] - bound) / (distance[k] - distance[k + 1])
    return float(x[k] + part * (x[k + 1] - x[k]) - x[0])
