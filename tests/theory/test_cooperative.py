"""Cooperative games: values, core, nucleolus, structure."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

from comity.theory import (
    CoalitionalGame,
    TheoryError,
    airport,
    bankruptcy,
    banzhaf,
    banzhaf_index,
    core,
    from_function,
    from_table,
    gloves,
    in_core,
    is_balanced,
    is_convex,
    is_monotone,
    is_superadditive,
    least_core,
    nucleolus,
    shapley,
    shapley_sampled,
    weighted_votes,
)
from comity.theory.cooperative.coalitional import coalition_sums, memberships


@st.composite
def coalitional_games(draw, least=1, most=5, highest=4):
    """Few different worths: many ties, so degenerate programs."""
    players = draw(st.integers(least, most))
    worth = draw(hnp.arrays(np.float64, 1 << players, elements=st.integers(0, highest).map(float)))
    worth[0] = 0.0
    return CoalitionalGame(worth)


def permuted(game, order):
    """Player i of the new game is player order[i] of the old one."""
    old_bits = (memberships(game.num_players).astype(int) * (1 << np.array(order))).sum(axis=1)
    return CoalitionalGame(game.worth[old_bits])


def test_glove_game():
    np.testing.assert_allclose(shapley(gloves(1, 2)), [2 / 3, 1 / 6, 1 / 6])
    np.testing.assert_allclose(nucleolus(gloves(1, 2)), [1, 0, 0], atol=1e-9)
    point = core(gloves(1, 2)).point
    assert point is not None
    np.testing.assert_allclose(point, [1, 0, 0], atol=1e-9)


def test_un_security_council():
    """Five vetoes of weight 7, ten members of weight 1, quota 39."""
    game = weighted_votes([7] * 5 + [1] * 10, 39)
    value = shapley(game)
    np.testing.assert_allclose(value[:5], 421 / 2145)
    np.testing.assert_allclose(value[5:], 4 / 2145)
    index = banzhaf_index(game)
    np.testing.assert_allclose(index[0], 848 / 5080)
    np.testing.assert_allclose(index[-1], 84 / 5080)


def test_airport_game():
    """Each segment of the runway is shared by those who need it."""
    np.testing.assert_allclose(-shapley(airport([1, 2, 3, 4])), [1 / 4, 7 / 12, 13 / 12, 25 / 12])
    # Littlechild (1974): x = min over k of (what is left of cost k) / (k + 1), player by player.
    np.testing.assert_allclose(-nucleolus(airport([1, 2, 3, 4])), [1 / 2, 3 / 4, 7 / 8, 15 / 8], atol=1e-9)
    savings = nucleolus(airport([1, 2, 3, 4]).zero_normalised())
    np.testing.assert_allclose(savings, [0.5, 1.25, 2.125, 2.125], atol=1e-9)


@pytest.mark.parametrize(
    ("estate", "division"), [(100, [100 / 3] * 3), (200, [50, 75, 75]), (300, [50, 100, 150])]
)
def test_talmud(estate, division):
    np.testing.assert_allclose(nucleolus(bankruptcy(estate, [100, 200, 300])), division, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=6), st.floats(0, 1))
def test_bankruptcy_nucleolus_is_the_contested_garment_rule(claims, share):
    """Aumann and Maschler: half the claims constrained equal awards, then losses; found by bisection."""
    claims = np.array(claims, dtype=float)
    estate = share * claims.sum()

    def equal_awards(amount, limits):
        low, high = 0.0, float(limits.max(initial=0.0))
        for _ in range(200):
            level = (low + high) / 2
            low, high = (level, high) if np.minimum(limits, level).sum() < amount else (low, level)
        return np.minimum(limits, high)

    half = claims / 2
    if estate <= half.sum():
        expected = equal_awards(estate, half)
    else:
        expected = claims - equal_awards(claims.sum() - estate, half)
    np.testing.assert_allclose(nucleolus(bankruptcy(estate, claims)), expected, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(coalitional_games(most=4))
def test_shapley_is_the_average_over_orders(game):
    n = game.num_players
    total = np.zeros(n)
    for order in permutations(range(n)):
        mask = 0
        for player in order:
            total[player] += game.worth[mask | 1 << player] - game.worth[mask]
            mask |= 1 << player
    np.testing.assert_allclose(shapley(game), total / factorial(n), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(coalitional_games(most=5), st.randoms(use_true_random=False), st.floats(-3, 3))
def test_shapley_is_efficient_symmetric_additive(game, random, factor):
    n = game.num_players
    value = shapley(game)
    assert value.sum() == pytest.approx(game.worth[-1])
    order = random.sample(range(n), n)
    np.testing.assert_allclose(shapley(permuted(game, order)), value[order], atol=1e-9)
    other = CoalitionalGame(np.concatenate([[0.0], np.random.default_rng(0).normal(size=(1 << n) - 1)]))
    combined = CoalitionalGame(game.worth + factor * other.worth)
    np.testing.assert_allclose(shapley(combined), value + factor * shapley(other), atol=1e-9)
    dummy = CoalitionalGame(np.concatenate([game.worth, game.worth + 2.5]))  # earns 2.5 whoever is there
    np.testing.assert_allclose(shapley(dummy), [*value, 2.5], atol=1e-9)


def test_sampled_shapley_covers_the_exact_value():
    game = weighted_votes([4, 3, 2, 1, 1], 6)
    powers = 1 << np.arange(5)
    hits = 0
    for seed in range(40):
        found = shapley_sampled(5, lambda inside: game.worth[inside @ powers], 300, seed)
        hits += ((found.low <= shapley(game)) & (shapley(game) <= found.high)).sum()
        assert found.value.sum() == pytest.approx(1.0)
    assert 0.90 <= hits / 200 <= 0.99  # nominal 0.95


def test_sampled_shapley_of_many_players():
    """60 players: an airport with a known answer, far beyond what can be enumerated."""
    costs = np.arange(1, 61) / 60
    found = shapley_sampled(60, lambda inside: (inside * costs).max(axis=1), 2000)
    exact = np.cumsum(np.diff(np.concatenate([[0], costs])) / (60 - np.arange(60)))
    assert ((found.low - 0.01 <= exact) & (exact <= found.high + 0.01)).all()
    assert found.value.sum() == pytest.approx(1.0)


def test_banzhaf_of_a_dictator_and_a_dummy():
    np.testing.assert_allclose(banzhaf(weighted_votes([5, 1, 1], 5)), [1, 0, 0])
    np.testing.assert_allclose(banzhaf(weighted_votes([4, 3, 2, 1], 6)), [5 / 8, 3 / 8, 3 / 8, 1 / 8])


def test_majority_has_an_empty_core_and_a_proof():
    game = weighted_votes([1, 1, 1], 2)
    found = core(game)
    assert found.point is None
    assert found.proof is not None
    assert found.proof.worth == pytest.approx(1.5)
    assert found.proof.weights == {3: pytest.approx(0.5), 5: pytest.approx(0.5), 6: pytest.approx(0.5)}
    assert least_core(game).excess == pytest.approx(1 / 3)
    assert not is_balanced(game)


@settings(max_examples=40, deadline=None)
@given(coalitional_games())
def test_core_point_or_proof(game):
    found = core(game)
    if found.point is not None:
        assert in_core(game, found.point, 1e-8)
        assert least_core(game).excess <= 1e-8
    else:
        assert found.proof is not None
        covered = sum(w * memberships(game.num_players)[s] for s, w in found.proof.weights.items())
        np.testing.assert_allclose(covered, np.ones(game.num_players), atol=1e-8)
        assert min(found.proof.weights.values()) > 0
        assert sum(w * game.worth[s] for s, w in found.proof.weights.items()) > game.worth[-1] + 1e-9


def satisfies_kohlberg(game, allocation):
    """Kohlberg's criterion: at no level can all the worst complaints be eased, or some without others rising.

    For each level, take the coalitions whose excess is at least that. Every shift y of payments that sums to
    zero and takes from none of them must leave all of them as they are.
    """
    excess = game.excesses(allocation)
    members = memberships(game.num_players).astype(float)
    proper = np.arange(1, len(excess) - 1)
    for level in np.unique(excess[proper].round(7)):
        rows = members[[s for s in proper if excess[s] >= level - 1e-6]]
        shift = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)),
                        A_eq=np.ones((1, game.num_players)), b_eq=[0.0], bounds=(-1, 1))  # fmt: skip
        if -shift.fun > 1e-7:
            return False
    return True


@settings(max_examples=40, deadline=None)
@given(coalitional_games(least=2))
def test_prenucleolus_satisfies_kohlbergs_criterion(game):
    point = nucleolus(game, imputations=False)
    assert point.sum() == pytest.approx(game.worth[-1])
    assert satisfies_kohlberg(game, point)
    if np.abs(point).max() > 0:
        moved = point + np.eye(len(point))[0] * 0.01 - np.eye(len(point))[1] * 0.01
        assert not satisfies_kohlberg(game, moved)


@settings(max_examples=40, deadline=None)
@given(coalitional_games(least=2, most=4), st.integers(0, 1000))
def test_nucleolus_minimises_sorted_excesses_among_imputations(game, seed):
    alone = game.worth[1 << np.arange(game.num_players)]
    surplus = game.worth[-1] - alone.sum()
    if surplus < 0:
        with pytest.raises(TheoryError, match="imputations=False"):
            nucleolus(game)
        return
    point = nucleolus(game)
    assert (point >= alone - 1e-8).all()
    best = np.sort(game.excesses(point)[1:-1])[::-1]
    rng = np.random.default_rng(seed)
    rivals = alone + surplus * rng.dirichlet(np.ones(len(alone)), size=40)
    steps = point + 0.05 * (rivals - point)
    for rival in (*rivals, *steps):
        theirs = np.sort(game.excesses(rival)[1:-1])[::-1]
        first = np.flatnonzero(np.abs(theirs - best) > 1e-7)
        assert first.size == 0 or theirs[first[0]] > best[first[0]]


@settings(max_examples=30, deadline=None)
@given(coalitional_games(least=2), st.randoms(use_true_random=False))
def test_nucleolus_is_in_the_core_and_follows_names(game, random):
    found = core(game)
    if found.point is not None:
        assert in_core(game, nucleolus(game), 1e-7)
        assert in_core(game, nucleolus(game, imputations=False), 1e-7)
    order = random.sample(range(game.num_players), game.num_players)
    point = nucleolus(game, imputations=False)
    np.testing.assert_allclose(nucleolus(permuted(game, order), imputations=False), point[order], atol=1e-7)


def test_tight_coalitions_with_zero_dual_are_not_settled_too_early():
    """Guajardo and Jornsten's common mistake: settling every tight coalition of one optimal solution.

    Player 4 is only needed by {1, 4}; at the least core many coalitions can be tight by accident.
    """
    game = from_function(4, lambda s: float(len(s) >= 2) * len(s) + 2.0 * (set(s) >= {0, 3}))
    assert satisfies_kohlberg(game, nucleolus(game))
    rng = np.random.default_rng(0)
    for _ in range(10):
        worth = rng.integers(0, 2, size=64).astype(float) * 6
        worth[0], worth[-1] = 0.0, 12.0
        game = CoalitionalGame(worth)
        assert satisfies_kohlberg(game, nucleolus(game, imputations=False))


def test_convex_games_have_shapley_in_the_core():
    game = bankruptcy(200, [100, 200, 300])
    assert is_convex(game)
    assert is_superadditive(game)
    assert is_monotone(game)
    assert in_core(game, shapley(game))
    assert is_superadditive(gloves(2, 2))
    assert not is_convex(gloves(1, 2))


@settings(max_examples=60, deadline=None)
@given(coalitional_games(most=4, highest=6))
def test_structure_by_definition(game):
    v = game.worth
    everything = range(len(v))
    disjoint = all(v[a | b] >= v[a] + v[b] for a in everything for b in everything if not a & b)
    convex = all(v[a | b] + v[a & b] >= v[a] + v[b] for a in everything for b in everything)
    monotone = all(v[a] <= v[b] for a in everything for b in everything if a & b == a)
    assert (is_superadditive(game), is_convex(game), is_monotone(game)) == (disjoint, convex, monotone)


def test_constructors_agree():
    table = from_table({"a": 0, "b": 0, "c": 0, "a,b": 1, ("a", "c"): 1, "b,c": 0, "a,b,c": 1})
    np.testing.assert_array_equal(table.worth, gloves(1, 2).worth)
    function = from_function(3, lambda s: min(sum(i == 0 for i in s), sum(i > 0 for i in s)))
    np.testing.assert_array_equal(function.worth, gloves(1, 2).worth)
    np.testing.assert_array_equal(coalition_sums(np.array([1.0, 2.0, 4.0])), np.arange(8.0))
    assert table.coalition(5) == ("a", "c")


def test_one_player():
    game = CoalitionalGame(np.array([0.0, 7.0]))
    assert shapley(game) == nucleolus(game) == core(game).point == [7.0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: weighted_votes([3, -1, 2], 3), r"weights\[1\] is -1.0; numbers of at least 0"),
        (lambda: weighted_votes([1, 1], 5), "up to the total weight 2.0"),
        (lambda: bankruptcy(700, [100, 200, 300]), "up to the sum of claims, 600.0"),
        (lambda: CoalitionalGame(np.zeros(6)), r"a vector of 2\^n worths"),
        (lambda: CoalitionalGame(np.array([1.0, 2.0])), "empty coalition must be worth 0"),
        (lambda: CoalitionalGame(np.array([0.0, np.nan])), r"nan at index \[1\]"),
        (lambda: from_function(30, len), "shapley_sampled takes a characteristic function"),
        (lambda: from_table({"a": 1, "a,b": 2}), r"coalition \['b'\] is missing"),
        (lambda: from_table({"a": 1, "b": 1, "a,b": np.inf}), "is worth inf"),
        (lambda: nucleolus(CoalitionalGame(np.zeros(1 << 19))), "The Shapley value works for more"),
        (lambda: core(CoalitionalGame(np.zeros(1 << 19))), "works for up to 18"),
        (lambda: in_core(gloves(1, 2), [1, 2]), "one number per player"),
    ],
)
def test_bad_input_is_refused_with_what_would_work(make, sentence):
    with pytest.raises(TheoryError, match=sentence):
        make()
