"""Who gets what: the optimum, Bertsekas' auction, the contract net, consensus and hierarchies, by known
answers."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comity.coordination import (
    VCG,
    BertsekasAuction,
    ConsensusAuction,
    Hierarchy,
    Optimum,
    efficiency,
    make_market,
    make_mechanism,
    measure,
    named_graph,
    robustness,
    without_coordinator,
)
from comity.coordination.registry import MECHANISMS
from comity.core.errors import ComityError

sizes = st.tuples(st.integers(1, 5), st.integers(1, 5))
tables = hnp.arrays(np.float64, sizes, elements=st.integers(-3, 12))
THREE = [[10.0, 9.0, 1.0], [9.0, 0.0, 0.0], [1.0, 8.0, 2.0]]


def best_by_trying(table):
    """The most that one-to-one assignments are worth, leaving out what is worth less than nothing."""
    rows, columns = table.shape
    padded = np.zeros((max(rows, columns),) * 2)
    padded[:rows, :columns] = np.maximum(table, 0)
    return max(padded[range(len(padded)), p].sum() for p in permutations(range(len(padded))))


@settings(max_examples=60, deadline=None)
@given(tables)
def test_optimum_and_auction_against_trying_all(table):
    market = make_market(table)
    best = best_by_trying(table)
    assert market.welfare(Optimum()(market).shares) == pytest.approx(best)
    auction = BertsekasAuction()
    assert market.welfare(auction(market).shares) == pytest.approx(best)  # whole values, epsilon below 1/n
    for epsilon in (0.3, 2.0):
        found = BertsekasAuction(epsilon)(market)
        assert market.welfare(found.shares) >= best - found.gap - 1e-9
        assert found.gap == epsilon * min(table.shape)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_at_the_auction_s_prices_everybody_has_what_it_wants_within_epsilon(table):
    market, auction = make_market(table), BertsekasAuction(0.25)
    found = auction(market)
    prices = np.where(found.shares.any(axis=0), found.receipts, 0.0)
    wants = np.maximum((table - prices).max(axis=1), 0.0)
    has = (found.shares * table).sum(axis=1) - found.payments
    assert (has >= wants - 0.25 - 1e-9).all()


def test_costs_count_and_what_is_not_worth_them_stays():
    market = make_market([[5.0, 4.0], [4.0, 3.0]], costs=[1.0, 3.5])
    found = Optimum()(market)
    assert found.assignment == ((0,), ())  # 5 - 1, against 4 - 3.5 + 4 - 1; the other is not worth its cost
    assert market.welfare(found.shares) == 4.0


def test_the_contract_net_is_greedy():
    market = make_market(THREE)
    net = make_mechanism("contract-net")(market)
    assert net.assignment == (
        (0,),
        (),
        (1,),
    )  # the second task's contractor is gone, others are worth nothing to it
    assert net.messages == {"announce": 3 + 2 + 2, "bid": 7, "award": 2}
    assert efficiency(net, market) == pytest.approx(18 / 20)  # 9 + 9 + 2
    by_value = make_mechanism("contract-net", order="value")(make_market([[1.0, 2.0], [0.0, 5.0]]))
    assert by_value.assignment == ((0,), (1,))
    paid = make_mechanism("contract-net")(make_market([[4.0, 4.0]], costs=[3.0, 1.0]))
    assert paid.assignment == ((1,),)
    assert (paid.payments[0], paid.receipts.tolist()) == (1.0, [0.0, 1.0])


def greedy_value(net):
    """The best pair that is left, again and again."""
    left, total = net.copy(), 0.0
    while left.max() > 0:
        i, j = np.unravel_index(left.argmax(), left.shape)
        total += left[i, j]
        left[i, :] = left[:, j] = -1
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["complete", "ring", "line", "star"]))
def test_consensus_auction_ends_with_the_greedy_assignment(seed, graph):
    rng = np.random.default_rng(seed)
    market = make_market(rng.normal(1.0, 1.0, (rng.integers(2, 7), rng.integers(1, 7))))
    found = ConsensusAuction(graph)(market)
    assert market.welfare(found.shares) == pytest.approx(greedy_value(market.net))
    assert efficiency(found, market) >= 0.5 - 1e-9


def test_a_torn_graph_wins_offers_twice():
    """Two needs that hear each other share two offers; two that do not want the same one, and the higher
    has it."""
    market = make_market([[5.0, 4.0], [6.0, 3.0]])
    together = ConsensusAuction("line")
    assert together(market).assignment == ((1,), (0,))
    apart = together.solve_with(market, np.array([False]))
    assert apart.assignment == ((), (0,))


def test_a_hierarchy_of_one_leader_is_the_optimum_and_so_is_one_of_equals():
    rng = np.random.default_rng(0)
    market = make_market(rng.random((8, 8)))
    flat = Hierarchy(branching=8)(market)
    assert efficiency(flat, market) == pytest.approx(1.0)
    deep = Hierarchy(branching=2)(market)
    assert deep.rounds == 3
    assert 0.3 < efficiency(deep, market) < 1.0
    assert deep.messages == {"report": 14, "order": 14}
    pairs = make_market(np.repeat(rng.random((2, 8)), 4, axis=0))
    assert efficiency(Hierarchy(branching=4)(pairs), pairs) == pytest.approx(1.0)


def test_what_is_left_when_links_or_the_coordinator_fail():
    market = make_market(np.eye(4) * 2)  # everybody wants another offer: each link carries 2
    optimum = Optimum()
    assert robustness(optimum, market, 0.0) == 1.0
    assert robustness(optimum, market, 0.25, samples=4000) == pytest.approx(0.75, abs=0.02)
    assert without_coordinator(optimum, market) == 0.0
    assert without_coordinator(ConsensusAuction(), market) == 1.0
    assert robustness(ConsensusAuction(), market, 1.0) == 1.0  # nobody needs to hear anybody here
    assert robustness(make_mechanism("contract-net"), market, 1.0) == 0.0
    deep = Hierarchy(branching=2)
    up = np.ones(6, np.bool_)
    up[4] = False  # the leader of the first two is not heard
    assert deep.solve_with(market, up).assignment == ((), (), (2,), (3,))


def test_measures_by_hand():
    market = make_market([[10.0], [7.0], [3.0]])
    found = measure(VCG()(market), market)
    assert (found.welfare, found.efficiency, found.payments, found.revenue, found.envy) == (10, 1, 7, 7, 0)
    dear = measure(make_mechanism("first-price")(make_market([[5.0], [9.0]])), make_market([[9.5], [9.0]]))
    assert dear.welfare == 9.0
    assert dear.envy == pytest.approx(0.5)  # the first would rather have it at 9
    assert dear.efficiency == pytest.approx(9 / 9.5)


@pytest.mark.parametrize("name", MECHANISMS.rows())
def test_every_mechanism_keeps_the_contract(name):
    """Equal markets give equal outcomes; nothing is given twice; nobody pays who gets nothing; links can
    fail."""
    table = np.array([[3.0], [2.0], [1.0]]) * (
        np.ones(2) if name == "double-auction" else np.array([1.0, 2.0])
    )
    demand: Any = "additive" if "price" in name or name == "proportional-response" else "unit"
    market, mechanism = make_market(table, demand=demand), make_mechanism(name)
    first, second = mechanism(market), mechanism(market)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, np.asarray(b)) if isinstance(a, np.ndarray) else a == b
    assert (first.shares.sum(axis=0) <= 1 + 1e-9).all()
    assert (first.shares >= 0).all()
    assert (first.payments[~first.shares.any(axis=1)] == 0).all()
    assert first.message_count > 0
    down = mechanism.solve_with(market, np.zeros(mechanism.link_count(market), np.bool_))
    assert down.shares.sum() <= first.shares.sum() + 1e-9


@pytest.mark.parametrize("name", [name for name in MECHANISMS.rows() if name not in ("optimum", "vcg")])
def test_bundles_are_refused_with_what_would_work(name):
    market = make_market(bundles=[{frozenset({0, 1}): 2.0}])
    with pytest.raises(ComityError, match="would work"):
        make_mechanism(name)(market)


def test_sizes_and_graphs_that_cannot_be_are_refused():
    many = make_market(bundles=[{frozenset({j}): 1.0 for j in range(200)}] * 26)
    with pytest.raises(ComityError, match="5,200 bids"):
        Optimum()(many)
    wide = make_market(np.broadcast_to(np.float64(1.0), (6000, 5000)))
    with pytest.raises(ComityError, match="30,000,000 pairs"):
        Optimum()(wide)
    with pytest.raises(ComityError, match="edges"):
        ConsensusAuction(edges=((0, 5),))(make_market([[1.0], [2.0]]))
    with pytest.raises(ComityError, match="budgets"):
        VCG()(make_market([[1.0]], budgets=[1.0]))
    assert not named_graph("ring", 1).any()
