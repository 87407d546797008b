"""Consensus over graphs and hierarchies: how fast, and to what."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.coordination import (
    average,
    balanced_tree,
    contraction,
    divide_downward,
    make_tree,
    max_degree_weights,
    means_upward,
    metropolis_weights,
    named_graph,
    sums_upward,
)
from comity.core.errors import ComityError


@pytest.mark.parametrize("size", [3, 5, 8, 12])
def test_consensus_on_a_ring_contracts_at_the_known_eigenvalue(size):
    """Metropolis weights on a ring are 1/3, the eigenvalues 1/3 + 2/3 cos(2 pi k / n)."""
    weights = metropolis_weights(named_graph("ring", size))
    known = max(abs(1 / 3 + 2 / 3 * np.cos(2 * np.pi * k / size)) for k in range(1, size))
    assert contraction(weights) == pytest.approx(known)
    values = np.cos(2 * np.pi * np.arange(size) / size)  # the eigenvector of k = 1
    found = average(values, weights, rounds=20)
    rate = abs(1 / 3 + 2 / 3 * np.cos(2 * np.pi / size))
    np.testing.assert_allclose(
        found.distances, found.distances[0] * rate ** np.arange(len(found.distances)), atol=1e-9
    )


@pytest.mark.parametrize("name", ["complete", "ring", "line", "star"])
@pytest.mark.parametrize("weigh", [metropolis_weights, max_degree_weights])
def test_consensus_keeps_the_mean_and_contracts(name, weigh):
    weights = weigh(named_graph(name, 7))
    values = np.random.default_rng(0).normal(size=(7, 2))
    found = average(values, weights)
    np.testing.assert_allclose(found.values, np.broadcast_to(values.mean(axis=0), (7, 2)), atol=1e-8)
    assert (found.distances[1:] <= contraction(weights) * found.distances[:-1] + 1e-12).all()
    links = {"complete": 42, "ring": 14, "line": 12, "star": 12}[name]
    assert found.messages == links * (len(found.distances) - 1)


def test_a_graph_of_two_parts_does_not_agree(unchecked):
    graph = np.zeros((4, 4), np.bool_)
    graph[0, 1] = graph[1, 0] = graph[2, 3] = graph[3, 2] = True
    weights = metropolis_weights(graph)
    assert contraction(weights) == pytest.approx(1.0)
    np.testing.assert_allclose(average(np.array([0.0, 2.0, 4.0, 8.0]), weights, 50).values, [1, 1, 6, 6])
    with pytest.raises(ComityError, match="weights"):
        average(np.zeros(3), weights)
    with pytest.raises(ComityError, match="symmetric"):
        metropolis_weights(np.triu(np.ones((2, 2), np.bool_), 1))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 100))
def test_a_hierarchy_weighted_by_size_equals_the_flat_mean(members, branching, seed):
    rng = np.random.default_rng(seed)
    values, tree = rng.normal(size=(members, 2)), balanced_tree(members, branching)
    np.testing.assert_allclose(means_upward(tree, values)[-1], values.mean(axis=0))
    np.testing.assert_allclose(sums_upward(tree, values)[-1], values.sum(axis=0), atol=1e-12)
    claims = rng.random(members)
    np.testing.assert_allclose(divide_downward(tree, 10.0, claims), 10 * claims / claims.sum())


def test_a_lopsided_hierarchy_by_hand():
    """Members 0, 1, 2 under leader 4; that and member 3 under 5. Unweighted, the loner counts as much as
    all three."""
    tree = make_tree([4, 4, 4, 5, 5, -1], members=4)
    assert tree.depth == 2
    assert tree.sizes.tolist() == [1, 1, 1, 1, 3, 4]
    values = np.array([[1.0], [2.0], [3.0], [10.0]])
    assert means_upward(tree, values)[-1, 0] == pytest.approx(4.0)
    assert means_upward(tree, values, "equal")[-1, 0] == pytest.approx(6.0)
    with pytest.raises(ComityError, match="parents"):
        make_tree([1, 0, -1], members=2)
    with pytest.raises(ComityError, match="branching"):
        balanced_tree(4, 1)
