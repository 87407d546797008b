"""Bootstrap intervals, by hand and against distributions that are known."""

import numpy as np
import pytest

from comity.evaluate.statistics import (
    bootstrap,
    bootstrap_band,
    bootstrap_mean,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
)


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


def test_the_interquartile_mean_by_hand() -> None:
    assert interquartile_mean(np.asarray([100.0, 1.0, 2.0, 3.0])) == 2.5  # 1 and 100 are cut
    assert interquartile_mean(np.asarray([9.0, 0.0, 4.0, 5.0, 6.0])) == 5.0  # (4 + 5 + 6) / 3
    assert interquartile_mean(np.asarray([-50.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 99.0])) == 3.5
    assert interquartile_mean(np.asarray([1.0, 2.0, 6.0])) == 3.0  # of three scores it is the mean


def test_the_probability_of_improvement_by_hand() -> None:
    first, second = np.asarray([1.0, 3.0]), np.asarray([0.0, 1.0, 2.0])
    # 1 beats 0, ties with 1 and loses to 2; 3 beats all: (1 + 1/2 + 3) / 6
    assert probability_of_improvement(first, second) == 0.75
    assert probability_of_improvement(second, first) == 0.25
    assert probability_of_improvement(first, first) == 0.5


def test_a_performance_profile_by_hand() -> None:
    shares = performance_profile(np.asarray([0.0, 1.0, 1.0, 3.0]), np.asarray([-1.0, 0.0, 1.0, 2.0, 3.0]))
    assert shares.tolist() == [1.0, 0.75, 0.25, 0.25, 0.0]


def test_the_bootstrap_of_any_statistic() -> None:
    samples = np.random.default_rng(7).normal(2.0, 1.0, 200)
    by_mean, directly = bootstrap(np.mean, samples, resamples=2000), bootstrap_mean(samples, resamples=2000)
    np.testing.assert_allclose(by_mean, directly, atol=0.03)
    clear = bootstrap(probability_of_improvement, np.asarray([5.0, 6.0]), np.asarray([1.0, 2.0]))
    assert clear == (1.0, 1.0, 1.0)
    # Of (0, 2) against (1, 1) a resample wins never, half of the time or always, with chances 1/4, 1/2, 1/4.
    assert bootstrap(probability_of_improvement, np.asarray([0.0, 2.0]), np.ones(2)) == (0.5, 0.0, 1.0)
