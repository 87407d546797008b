"""Confidence intervals by bootstrap, and measures of few runs that hold up.

The measures are those of Agarwal, Schwarzer, Castro, Courville and Bellemare, "Deep Reinforcement Learning at
the Edge of the Statistical Precipice", NeurIPS 2021 (the library rliable): the interquartile mean, the
probability of improvement and performance profiles, each with an interval from resampled runs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Statistic = Callable[..., float]  # of one or several samples, each [n]


class Interval(NamedTuple):
    """A mean, or another statistic, and the interval around it."""

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
    mean, low, high = bootstrap_band(x[:, None], level, resamples, seed)
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


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


def resampled_counts(count: int, resamples: int = 1000, seed: int = 0) -> Float[np.ndarray, "resamples n"]:
    """How often each of `count` samples is in each bootstrap sample: the draws of `bootstrap_mean`."""
    draws = np.random.default_rng(seed).integers(0, count, (resamples, count))
    flat = (np.arange(resamples)[:, None] * count + draws).ravel()
    return np.bincount(flat, minlength=resamples * count).reshape(resamples, count).astype(np.float64)


def resampled_sums(
    values: Float[np.ndarray, "*rest n"], counts: Float[np.ndarray, "resamples n"]
) -> Float[np.ndarray, "*rest resamples"]:
    """The sums of bootstrap samples; not by BLAS, whose threads wait busily for longer than it takes."""
    return np.einsum("...n,rn->...r", values, counts)


def bootstrap(
    statistic: Statistic,
    *samples: Float[np.ndarray, " n"],
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Any statistic of one or several samples, and its percentile bootstrap interval.

    Each sample is resampled by itself, as rliable resamples the runs of each task (stratified bootstrap).
    """
    random = np.random.default_rng(seed)
    arrays = [np.asarray(sample, np.float64).ravel() for sample in samples]
    values = [statistic(*(random.choice(x, x.size) for x in arrays)) for _ in range(resamples)]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Interval(float(statistic(*arrays)), float(low), float(high))


def interquartile_mean(scores: Float[np.ndarray, " n"]) -> float:
    """The mean without the lowest and the highest quarter: floor(n / 4) scores are cut at each end.

    Less swayed by outliers than the mean, less wasteful than the median. Of fewer than four scores it is the
    mean.
    """
    x = np.sort(np.asarray(scores, np.float64).ravel())
    cut = x.size // 4
    return float(x[cut : x.size - cut].mean())


def probability_of_improvement(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " m"]) -> float:
    """P(X > Y) + P(X = Y) / 2 for a run X of the first kind and a run Y of the second.

    That is the Mann-Whitney statistic divided by n m. It says how likely the first is to be better, not by
    how much.
    """
    x, y = np.asarray(first, np.float64).ravel()[:, None], np.asarray(second, np.float64).ravel()[None]
    return float(((x > y) + 0.5 * (x == y)).mean())


def performance_profile(
    scores: Float[np.ndarray, " n"], thresholds: Float[np.ndarray, " t"]
) -> Float[np.ndarray, " t"]:
    """The share of runs that score more than each threshold: the tail distribution of the scores."""
    x = np.asarray(scores, np.float64).ravel()
    shares: Float[np.ndarray, " t"] = (x[:, None] > np.asarray(thresholds)[None]).mean(axis=0)
    return shares
