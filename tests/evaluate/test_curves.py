"""Curves of several runs at the same places, and smoothing that shifts nothing."""

import numpy as np

from comity.evaluate.curves import MOST_POINTS, align, learning_curve, smooth


def test_smoothing_by_hand() -> None:
    values = np.asarray([0.0, 3.0, 6.0, 0.0, 3.0])
    np.testing.assert_allclose(smooth(values, 3), [0.0, 3.0, 3.0, 3.0, 3.0])
    np.testing.assert_allclose(smooth(values, 5), [0.0, 3.0, 2.4, 3.0, 3.0])  # fewer at the ends
    line = np.arange(20.0)
    np.testing.assert_allclose(smooth(line, 7), line)  # a line stays where it is


def test_runs_are_aligned_where_all_of_them_were() -> None:
    first = (np.asarray([0.0, 2.0, 4.0]), np.asarray([0.0, 2.0, 4.0]))
    second = (np.asarray([1.0, 3.0]), np.asarray([10.0, 30.0]))
    found = align([first, second])
    assert found is not None
    assert found[0].tolist() == [1.0, 2.0, 3.0]
    assert found[1].tolist() == [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]
    assert align([first, (np.asarray([5.0]), np.asarray([0.0]))]) is None


def test_long_runs_have_as_many_points_as_can_be_seen() -> None:
    x = np.arange(1000.0)
    found = align([(x, x), (x, -x)])
    assert found is not None
    assert found[1].shape == (2, MOST_POINTS)
    np.testing.assert_allclose(found[1].sum(axis=0), 0.0)


def test_seconds_are_an_axis_where_they_are_known() -> None:
    runs = [[{"iteration": i, "seconds": 2.0 * i, "reward": float(i)} for i in (1, 2)] for _ in range(2)]
    found = learning_curve(runs, "reward", "seconds")
    assert found is not None
    assert found.x.tolist() == [2.0, 4.0]
    assert learning_curve([*runs, [{"iteration": 1, "reward": 0.0}]], "reward", "seconds") is None
