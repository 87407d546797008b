"""What is paid: sealed bids, VCG, double auctions and Fisher markets, by the textbooks' answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from comity.coordination import (
    VCG,
    DoubleAuction,
    FirstPrice,
    ProportionalResponse,
    SecondPrice,
    equilibrium_bid,
    linear_ask,
    linear_bid,
    make_market,
    utilities,
)
from comity.core.errors import ComityError

A, B, AB = frozenset({0}), frozenset({1}), frozenset({0, 1})


def test_one_item_by_hand():
    market = make_market([[10.0], [7.0], [3.0]])
    assert FirstPrice()(market).payments.tolist() == [10, 0, 0]
    for rule in (SecondPrice(), VCG()):
        assert rule(market).payments.tolist() == [7, 0, 0]
    dear = make_market([[10.0], [7.0], [3.0]], costs=[8.0])
    for rule in (SecondPrice(), VCG()):
        assert rule(dear).payments.tolist() == [8, 0, 0]
    for any_rule in (FirstPrice(), SecondPrice(), VCG()):
        assert not any_rule(make_market([[10.0], [7.0]], costs=[11.0])).shares.any()


def test_equal_bids_are_drawn_by_lot_and_the_lot_is_seeded():
    market = make_market([[5.0], [5.0]])
    winners = [int(FirstPrice(seed)(market).shares[:, 0].argmax()) for seed in range(200)]
    assert 70 < sum(winners) < 130
    assert winners == [int(FirstPrice(seed)(market).shares[:, 0].argmax()) for seed in range(200)]
    assert SecondPrice()(market).payments.max() == 5.0


def test_vcg_of_bundles_by_hand():
    """The known failure: parts that beat a bundle together pay nothing; a bundle that wins pays for both."""
    parts = make_market(bundles=[{AB: 2.0}, {A: 2.0}, {B: 2.0}])
    found = VCG()(parts)
    assert parts.welfare(found.shares) == 4.0
    assert found.payments.tolist() == [0, 0, 0]
    whole = make_market(bundles=[{AB: 5.0}, {A: 2.0}, {B: 2.0}])
    found = VCG()(whole)
    assert found.assignment == ((0, 1), (), ())
    assert found.payments.tolist() == [4, 0, 0]


bundle_bids = st.dictionaries(st.sampled_from([A, B, AB]), st.integers(0, 9).map(float), max_size=3)


def best_bundles_by_trying(bundles):
    best = 0.0
    for owners in np.ndindex(
        (len(bundles) + 1,) * 2
    ):  # who has the first offer and who the second; or nobody
        had = [frozenset(j for j in range(2) if owners[j] == i) for i in range(len(bundles))]
        worth = [
            max((v for b, v in own.items() if b <= h), default=0.0)
            for own, h in zip(bundles, had, strict=True)
        ]
        best = max(best, sum(worth))
    return best


@settings(max_examples=40, deadline=None)
@given(st.lists(bundle_bids, min_size=1, max_size=3), bundle_bids, st.integers(0, 2))
def test_vcg_finds_the_best_winners_and_lies_do_not_pay(bundles, lie, who):
    market = make_market(bundles=bundles, offers=("A", "B"))
    found = VCG()(market)
    assert market.welfare(found.shares) == pytest.approx(best_bundles_by_trying(bundles))
    liar = who % len(bundles)
    told = make_market(
        bundles=[lie if i == liar else own for i, own in enumerate(bundles)], offers=("A", "B")
    )
    assert utilities(VCG()(told), market)[liar] <= utilities(found, market)[liar] + 1e-9
    assert (utilities(found, market) >= -1e-9).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9).map(float), min_size=2, max_size=5), st.floats(0, 12))
def test_second_price_is_truthful_and_first_price_is_not(values, lie):
    truth = make_market([[value] for value in values])
    told = make_market([[lie], *([value] for value in values[1:])])
    for seed in range(3):
        honest = utilities(SecondPrice(seed)(truth), truth)[0]
        assert utilities(SecondPrice(seed)(told), truth)[0] <= honest + 1e-9
    assert utilities(FirstPrice()(truth), truth).max() == 0.0
    assert utilities(FirstPrice()(make_market([[5.0], [3.0]])), make_market([[9.0], [3.0]]))[0] == 4.0


@pytest.mark.parametrize("bidders", [2, 3, 4])
def test_first_and_second_price_earn_the_same_in_equilibrium(bidders):
    """(n - 1)/(n + 1) of values drawn evenly from 0 to 1."""
    values = np.random.default_rng(bidders).random((600, bidders))
    expected = (bidders - 1) / (bidders + 1)
    for price, rule in (("first", FirstPrice()), ("second", SecondPrice())):
        bids = [[[equilibrium_bid(v, bidders, price)] for v in row] for row in values]
        earned = np.array([rule(make_market(own)).payments.sum() for own in bids])
        assert earned.mean() == pytest.approx(expected, abs=4 * earned.std() / np.sqrt(len(earned)))


def test_double_auction_at_the_linear_equilibrium():
    """They trade if and only if v >= c + 1/4, and have 27/32 of the gains."""
    grid = (np.arange(60) + 0.5) / 60
    gains = traded = 0.0
    for v in grid:
        for c in grid - 0.004:  # so that no pair lies on the line
            market = make_market([[linear_bid(v)]], costs=[linear_ask(c)])
            trades = bool(DoubleAuction()(market).shares.any())
            assert trades == (v >= c + 0.25)
            gains += max(v - c, 0.0)
            traded += (v - c) * trades
    assert traded / gains == pytest.approx(27 / 32, abs=0.01)


def test_double_auction_of_many_by_hand():
    market = make_market(np.outer([9.0, 7.0, 4.0], np.ones(3)), costs=[3.0, 5.0, 8.0])
    found = DoubleAuction()(market)
    assert found.assignment == ((0,), (1,), ())
    assert found.payments.tolist() == [6, 6, 0]  # prices from max(5, 4) to min(7, 8) clear the market
    assert found.receipts.tolist() == [6, 6, 0]
    assert DoubleAuction(k=1.0)(market).payments.tolist() == [7, 7, 0]
    assert DoubleAuction(k=0.0)(market).payments.tolist() == [5, 5, 0]
    assert found.revenue == 0.0
    with pytest.raises(ComityError, match="one good"):
        DoubleAuction()(make_market([[1.0, 2.0]]))


def test_fisher_markets_by_hand():
    one = ProportionalResponse()(make_market([[1.0], [1.0]], budgets=[1.0, 2.0], demand="additive"))
    np.testing.assert_allclose(one.shares, [[1 / 3], [2 / 3]])
    np.testing.assert_allclose(one.receipts, [3.0])
    two = make_market([[3.0, 1.0], [2.0, 2.0]], demand="additive")  # each has one good whole, at equal prices
    found = ProportionalResponse(tolerance=1e-9)(two)
    np.testing.assert_allclose(found.shares, np.eye(2), atol=1e-4)
    np.testing.assert_allclose(found.receipts, [1, 1], atol=1e-4)
    unheard = ProportionalResponse().solve_with(two, np.array([True, False]))
    np.testing.assert_allclose(unheard.shares, [[1, 1], [0, 0]])


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_proportional_response_reaches_the_eisenberg_gale_optimum(seed):
    rng = np.random.default_rng(seed)
    values, budgets = rng.random((3, 4)) + 0.05, rng.random(3) + 0.2
    found = ProportionalResponse(tolerance=1e-5)(make_market(values, budgets=budgets, demand="additive"))
    assert found.gap <= 1e-5

    def loss(flat):
        return -float(budgets @ np.log((values * flat.reshape(3, 4)).sum(axis=1)))

    whole = np.tile(np.eye(4), 3)
    best = optimize.minimize(
        loss, np.full(12, 1 / 3), method="SLSQP", bounds=[(1e-9, 1)] * 12,
        constraints={"type": "eq", "fun": lambda x: whole @ x - 1}, options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert -loss(found.shares.ravel()) >= -best.fun - 1e-5 * budgets.sum() - 1e-8
    np.testing.assert_allclose(found.shares.sum(axis=0), 1.0)
    np.testing.assert_allclose(found.payments, budgets)
    np.testing.assert_allclose(found.receipts.sum(), budgets.sum())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"values": [1.0, 2.0]}, "shape"),
        ({"values": [["x"]]}, "numbers"),
        ({"values": [[np.nan]]}, "finite"),
        ({"values": [[1.0]], "costs": [1.0, 2.0]}, "costs"),
        ({"values": [[1.0]], "budgets": [-1.0]}, "budgets"),
        ({"values": [[1.0]], "demand": "all"}, "demand"),
        ({"values": [[1.0], [1.0]], "needs": ("a", "a")}, "different names"),
        ({"bundles": [{(0, 0): 1.0}]}, "frozensets"),
        ({"bundles": [{frozenset(): 1.0}]}, "at least one offer"),
        ({"bundles": [{frozenset({3}): 1.0}], "offers": ("a", "b")}, "offers from 0 to 1"),
        ({"bundles": [{A: np.inf}]}, "finite"),
    ],
)
def test_bad_markets_are_refused_by_name(given, said, unchecked):
    with pytest.raises(ComityError, match=said):
        make_market(**given)


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        (FirstPrice(), {"values": [[1.0, 2.0]]}),
        (ProportionalResponse(), {"values": [[1.0]]}),
        (ProportionalResponse(), {"values": [[-1.0]], "demand": "additive"}),
        (ProportionalResponse(), {"values": [[1.0]], "costs": [1.0], "demand": "additive"}),
    ],
)
def test_markets_of_another_kind_are_refused(mechanism, settings):
    with pytest.raises(ComityError):
        mechanism(make_market(**settings))
