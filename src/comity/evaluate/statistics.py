"""Confidence intervals by bootstrap."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Interval(NamedTuple):
    """A mean and the interval around it."""

    mean: float
    low: float
    high: float


def bootstrap_mean(
    samples: Float[np.ndarray, " n"], level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """The mean and its percentile bootstrap interval (Efron, 1979).

    Draws `resamples` samples of the same size with replacement and takes the quantiles of their means.
    With a single sample the interval is the sample itself.
    """
    x = np.asarray(samples, np.float64).ravel()
    draws = np.random.default_rng(seed).integers(0, x.size, (resamples, x.size))
    means = x[draws].mean(axis=1)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(x.mean()), float(low), float(high))


def bootstrap_band(
    curves: Float[np.ndarray, "runs points"], level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean curve over runs, and the bootstrap interval at each point."""
    x = np.asarray(curves, np.float64)
    draws = np.random.default_rng(seed).integers(0, x.shape[0], (resamples, x.shape[0]))
    means = x[draws].mean(axis=1)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail], axis=0)
    return x.mean(axis=0), low, high
