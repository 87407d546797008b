"""Fair division."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comity.theory import (
    TheoryError,
    best_alternative,
    best_assignment,
    divide_goods,
    envy,
    gini,
    is_envy_free,
    is_envy_free_up_to_one,
    is_proportional,
    welfare_of,
)

valuations = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 3), st.integers(2, 4)), elements=st.integers(1, 9)
)


def test_welfare_by_hand():
    utilities = np.array([[1.0, 9.0], [4.0, 4.0], [2.0, 7.0]])
    np.testing.assert_allclose(welfare_of(utilities, "utilitarian"), [10, 8, 9])
    np.testing.assert_allclose(welfare_of(utilities, "egalitarian"), [1, 4, 2])
    np.testing.assert_allclose(welfare_of(utilities, "nash"), [3, 4, np.sqrt(14)])
    assert [best_alternative(utilities, kind) for kind in ("utilitarian", "egalitarian", "nash")] == [0, 1, 1]


def test_two_agents_and_two_goods_by_hand():
    """Ann values (3, 1), Bob (2, 2): each gets one good whole at equal prices."""
    table = np.array([[3.0, 1.0], [2.0, 2.0]])
    nash = divide_goods(table, "nash")
    np.testing.assert_allclose(nash.shares, [[1, 0], [0, 1]], atol=1e-6)
    egalitarian = divide_goods(table, "egalitarian")
    # 3 x = 2 (1 - x) + 2 has x = 4/5
    np.testing.assert_allclose(egalitarian.utilities, [2.4, 2.4], atol=1e-9)
    np.testing.assert_allclose(divide_goods(table, "utilitarian").utilities, [3, 2])


@settings(max_examples=20, deadline=None)
@given(valuations, st.integers(0, 100))
def test_optima_beat_random_divisions(table, seed):
    rng = np.random.default_rng(seed)
    rivals = rng.dirichlet(np.ones(len(table)), size=(50, table.shape[1])).swapaxes(1, 2)
    for kind in ("utilitarian", "egalitarian", "nash"):
        best = divide_goods(table, kind)
        np.testing.assert_allclose(best.shares.sum(axis=0), 1, atol=1e-9)
        reached = welfare_of(best.utilities, kind)
        assert reached >= welfare_of((rivals * table).sum(axis=2), kind).max() * (1 - best.gap) - 1e-7
        assert best.gap < 1e-6
        assert reached >= welfare_of(best_assignment(table, kind).utilities, kind) * (1 - best.gap) - 1e-7


@settings(max_examples=20, deadline=None)
@given(valuations)
def test_nash_division_is_envy_free_and_proportional(table):
    found = divide_goods(table, "nash")
    slack = 1e-5 * table.sum()
    assert is_envy_free(table, found.shares, slack)
    assert is_proportional(table, found.shares, slack)


def test_envy_free_up_to_one_good():
    table = np.array([[5.0, 4.0, 3.0], [5.0, 4.0, 3.0]])
    shares = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(envy(table, shares), [[0, 2], [-2, 0]])
    assert not is_envy_free(table, shares)
    assert is_envy_free_up_to_one(table, shares)
    assert not is_proportional(table, shares)
    greedy = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert not is_envy_free_up_to_one(table, greedy)


def test_best_assignment_tries_all():
    table = np.array([[6.0, 1.0, 1.0], [5.0, 5.0, 4.0]])
    np.testing.assert_allclose(best_assignment(table, "nash").utilities, [6, 9])
    np.testing.assert_allclose(best_assignment(table, "egalitarian").utilities, [6, 9])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_gini_by_definition(values):
    x = np.array(values)
    expected = np.abs(x[:, None] - x).sum() / (2 * len(x) * x.sum()) if x.sum() > 0 else 0.0
    assert gini(x) == pytest.approx(expected, abs=1e-9)


@pytest.mark.usefixtures("unchecked")
def test_bad_input():
    with pytest.raises(TheoryError, match="subtract the least possible value first"):
        gini([1, -1])
    with pytest.raises(TheoryError, match="divide_goods works for any number"):
        best_assignment(np.ones((5, 12)), "nash")
    with pytest.raises(TheoryError, match="'utilitarian', 'egalitarian' or 'nash'"):
        divide_goods(np.ones((2, 2)), "fair")  # type: ignore[arg-type]
    with pytest.raises(TheoryError, match="numbers of at least 0"):
        divide_goods(np.array([[-1.0, 2.0]]), "nash")
    with pytest.raises(TheoryError, match="columns that sum to at most 1"):
        envy(np.ones((2, 2)), np.ones((2, 2)))
