"""Bootstrap intervals, by hand and against distributions that are known."""

import numpy as np
import pytest

from comity.evaluate.statistics import bootstrap_band, bootstrap_mean


def test_by_hand() -> None:
    """Of two samples 0 and 1 a resample has the mean 0, 1/2 or 1 with chances 1/4, 1/2, 1/4."""
    found = bootstrap_mean(np.asarray([0.0, 1.0]))
    assert found == (0.5, 0.0, 1.0)
    assert bootstrap_mean(np.asarray([0.0, 1.0]), level=0.4) == (0.5, 0.5, 0.5)


def test_equal_samples_and_one_sample_leave_no_doubt() -> None:
    assert bootstrap_mean(np.full(20, -1.5)) == (-1.5, -1.5, -1.5)
    assert bootstrap_mean(np.asarray([3.25])) == (3.25, 3.25, 3.25)


def test_the_width_is_that_of_the_normal_interval() -> None:
    """For many samples of a normal distribution the interval is 1.96 standard errors to each side."""
    samples = np.random.default_rng(1).normal(5.0, 2.0, 400)
    found = bootstrap_mean(samples, resamples=4000)
    error = samples.std() / np.sqrt(400)
    np.testing.assert_allclose(found.mean, samples.mean())
    np.testing.assert_allclose([found.mean - found.low, found.high - found.mean], 1.96 * error, rtol=0.08)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage(level: float) -> None:
    """The interval holds the true mean about as often as it promises."""
    random = np.random.default_rng(2)
    trials = 400
    hits = 0
    for trial in range(trials):
        found = bootstrap_mean(random.exponential(1.0, 80), level, resamples=300, seed=trial)
        hits += found.low <= 1.0 <= found.high
    # Percentile intervals of skewed samples cover a little less than promised.
    assert level - 0.06 < hits / trials < level + 0.04


def test_the_seed_decides() -> None:
    samples = np.random.default_rng(3).normal(size=30)
    assert bootstrap_mean(samples, seed=4) == bootstrap_mean(samples, seed=4)
    assert bootstrap_mean(samples, seed=4) != bootstrap_mean(samples, seed=5)


def test_a_band_is_an_interval_at_every_point() -> None:
    curves = np.random.default_rng(6).normal(size=(5, 7))
    mean, low, high = bootstrap_band(curves)
    for point in range(7):
        expected = bootstrap_mean(curves[:, point])
        np.testing.assert_allclose((mean[point], low[point], high[point]), expected)
