"""Exact equilibria of two-player games: known answers, and properties of random and degenerate games."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comity.theory import (
    NoConvergenceError,
    NormalFormGame,
    TheoryError,
    lemke_howson,
    lemke_howson_all_labels,
    named_game,
    pure_equilibria,
    solve_zero_sum,
    support_enumeration,
    vertex_enumeration,
)
from comity.theory.equilibria.lemke_howson import careful_path, tableaux
from comity.theory.equilibria.polytope import is_simple_and_complete, vertices_from_bases, vertices_from_hull
from comity.theory.normal_form.named_games import coordination

ENUMERATIONS = [vertex_enumeration, support_enumeration]


@st.composite
def games(draw, largest=5):
    """Two-player games with few different payoffs: most of them are degenerate."""
    rows, columns = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    table = draw(hnp.arrays(np.float64, (2, rows, columns), elements=st.integers(0, 2).map(float)))
    return NormalFormGame(table)


def as_set(equilibria):
    return {tuple(np.round(np.concatenate(e.strategies), 7) + 0.0) for e in equilibria}


@pytest.mark.parametrize("enumerate_all", ENUMERATIONS)
@pytest.mark.parametrize(
    ("name", "count"),
    [("prisoners-dilemma", 1), ("battle-of-the-sexes", 3), ("chicken", 3), ("stag-hunt", 3),
     ("matching-pennies", 1), ("rock-paper-scissors", 1), ("shapley", 1)],
)  # fmt: skip
def test_number_of_equilibria(enumerate_all, name, count):
    found = enumerate_all(named_game(name))
    assert len(found) == count
    assert max(e.regret for e in found) < 1e-12


def test_prisoners_dilemma_is_mutual_defection():
    (found,) = vertex_enumeration(named_game("prisoners-dilemma"))
    np.testing.assert_allclose(found.strategies, [[0, 1], [0, 1]])
    np.testing.assert_allclose(found.payoffs, [1, 1])


def test_battle_of_the_sexes_mixes_by_the_others_payoffs():
    found = vertex_enumeration(named_game("battle-of-the-sexes"))
    mixed = [e for e in found if e.supports == ((0, 1), (0, 1))]
    np.testing.assert_allclose(mixed[0].strategies, [[0.6, 0.4], [0.4, 0.6]])
    np.testing.assert_allclose(mixed[0].payoffs, [1.2, 1.2])


@pytest.mark.parametrize("enumerate_all", ENUMERATIONS)
@pytest.mark.parametrize("n", [3, 5])
def test_coordination_has_an_equilibrium_for_each_set_of_actions(enumerate_all, n):
    found = enumerate_all(coordination(n))
    assert len(found) == 2**n - 1
    supports = {e.supports for e in found}
    assert len(supports) == 2**n - 1
    assert all(a == b for a, b in supports)


@pytest.mark.parametrize("enumerate_all", ENUMERATIONS)
def test_degenerate_game_of_the_textbook(enumerate_all):
    """Row 1 has two best responses, so row 1 against [2/3, 1/3] to [1, 0] is a line of equilibria."""
    game = NormalFormGame.from_bimatrix([[3, 3], [2, 5], [0, 6]], [[3, 3], [2, 6], [3, 1]])
    third = 1 / 3
    expected = {(1, 0, 0, 1, 0), (1, 0, 0, 2 * third, third), (0, third, 2 * third, third, 2 * third)}
    assert as_set(enumerate_all(game)) == {tuple(np.round(e, 7)) for e in expected}


def test_a_game_of_equal_payoffs_has_every_pure_profile_as_extreme_equilibrium():
    game = NormalFormGame(np.ones((2, 3, 4)))
    assert as_set(vertex_enumeration(game)) == as_set(pure_equilibria(game))
    assert len(pure_equilibria(game)) == 12
    assert as_set(support_enumeration(game)) == as_set(pure_equilibria(game))


@settings(max_examples=60, deadline=None)
@given(games())
def test_enumerations_agree_and_have_no_regret(game):
    by_vertices, by_supports = vertex_enumeration(game), support_enumeration(game)
    assert as_set(by_vertices) == as_set(by_supports)
    assert len(by_vertices) == len(as_set(by_vertices)) >= 1
    for found in by_vertices + by_supports:
        assert found.regret < 1e-8
        for strategy in found.strategies:
            assert strategy.min() >= 0
            assert abs(strategy.sum() - 1) < 1e-12
    assert as_set(pure_equilibria(game)) <= as_set(by_vertices)


@settings(max_examples=40, deadline=None)
@given(games(largest=6))
def test_lemke_howson_ends_in_an_equilibrium_from_every_label(game):
    for label in (None, *range(sum(game.num_actions))):
        assert lemke_howson(game, label).regret < 1e-8


@settings(max_examples=30, deadline=None)
@given(games(largest=4))
def test_the_careful_path_ends_at_an_extreme_equilibrium(game):
    extreme = as_set(vertex_enumeration(game))
    for label in range(sum(game.num_actions)):
        x, y = careful_path(game, label, 1000)
        assert tuple(np.round(np.concatenate([x, y]), 7) + 0.0) in extreme


def perturbed_path(game, label):
    """Lemke-Howson with the right hand sides 1 + e, 1 + e^2, ... for a small but real e: no ties."""
    m, n = game.num_actions
    pair = tableaux(game)
    for tableau in pair:
        tableau.body[:, -1] += 1e-3 ** np.arange(1, len(tableau.basic) + 1)
    side, entering = (0 if label < m else 1), label
    for _ in range(1000):
        tableau = pair[side]
        down = tableau.columns[tableau.column_of[entering]]
        ratios = np.where(down > 1e-11, tableau.right / np.where(down > 1e-11, down, 1.0), np.inf)
        entering = tableau.pivot(entering, int(ratios.argmin()))
        if entering == label:
            return pair[0].point(range(m)), pair[1].point(range(m, m + n))
        side = 1 - side
    raise AssertionError("the perturbed path did not end")


@settings(max_examples=80, deadline=None)
@given(games(largest=3))
def test_ties_are_broken_as_by_an_infinitely_small_perturbation(game):
    for label in range(sum(game.num_actions)):
        for a, b in zip(careful_path(game, label, 1000), perturbed_path(game, label), strict=True):
            np.testing.assert_allclose(a, b, atol=0.02)


@settings(max_examples=20, deadline=None)
@given(games(largest=4), st.randoms(use_true_random=False))
def test_relabelling_relabels_the_equilibria(game, random):
    m, n = game.num_actions
    rows, columns = random.sample(range(m), m), random.sample(range(n), n)
    moved = NormalFormGame(game.payoffs[:, rows][:, :, columns])
    swapped = NormalFormGame(np.swapaxes(game.payoffs[::-1], 1, 2))
    original = vertex_enumeration(game)
    relabelled = {tuple(np.round(np.concatenate([e.strategies[0][rows], e.strategies[1][columns]]), 7) + 0.0)
                  for e in original}  # fmt: skip
    assert as_set(vertex_enumeration(moved)) == relabelled
    exchanged = {tuple(np.round(np.concatenate(e.strategies[::-1]), 7) + 0.0) for e in original}
    assert as_set(vertex_enumeration(swapped)) == exchanged


def test_shift_and_scale_change_no_equilibrium():
    rng = np.random.default_rng(3)
    game = NormalFormGame(rng.normal(size=(2, 4, 5)))
    moved = NormalFormGame(game.payoffs * np.array([1e-4, 1e5])[:, None, None] + 1e3)
    assert as_set(vertex_enumeration(game)) == as_set(vertex_enumeration(moved))


@pytest.mark.parametrize(("scale", "shift"), [(1e6, 0), (1e-6, 0), (1, 1e6), (1e9, -1e9)])
def test_lemke_howson_whatever_the_unit_of_payoffs(scale, shift):
    rng = np.random.default_rng(4)
    for _ in range(10):
        payoffs = rng.normal(size=(2, 12, 12))
        plain = lemke_howson(NormalFormGame(payoffs), 3)
        moved = lemke_howson(NormalFormGame(payoffs * np.array([scale, 1.0])[:, None, None] + shift), 3)
        np.testing.assert_allclose(
            np.concatenate(moved.strategies), np.concatenate(plain.strategies), atol=1e-7
        )
        assert moved.regret <= 1e-9 * max(scale, abs(shift), 1.0)


def test_random_games_have_an_odd_number_of_equilibria():
    rng = np.random.default_rng(0)
    for _ in range(10):
        found = vertex_enumeration(NormalFormGame(rng.normal(size=(2, 7, 6))))
        assert len(found) % 2 == 1
        assert max(e.regret for e in found) < 1e-10


def test_hull_and_bases_give_the_same_vertices():
    rng = np.random.default_rng(1)
    matrix = rng.uniform(1, 2, size=(5, 5))
    hull, bases = vertices_from_hull(matrix), vertices_from_bases(matrix)
    assert {t.tobytes() for t in hull.tight} == {t.tobytes() for t in bases.tight}
    assert is_simple_and_complete(hull.tight)
    assert not is_simple_and_complete(hull.tight[1:])  # a vertex is missing
    assert not is_simple_and_complete(vertices_from_bases(np.ones((2, 2))).tight)  # degenerate


def test_large_degenerate_games_are_enumerated_in_full():
    assert len(vertex_enumeration(coordination(7))) == 2**7 - 1


def test_lemke_howson_never_hangs_on_large_degenerate_games():
    rng = np.random.default_rng(0)
    for _ in range(10):
        game = NormalFormGame(rng.integers(0, 2, size=(2, 30, 30)).astype(float))
        assert lemke_howson(game, int(rng.integers(60))).regret < 1e-8
        assert lemke_howson(game).regret < 1e-8


def test_lemke_howson_finds_the_pure_equilibrium_of_each_label():
    found = list(lemke_howson_all_labels(coordination(4)))
    assert as_set(found) == as_set(pure_equilibria(coordination(4)))


def test_lemke_howson_stops_at_its_cap_with_a_clear_error():
    game = NormalFormGame(np.random.default_rng(0).normal(size=(2, 20, 20)))
    with pytest.raises(NoConvergenceError, match="within 2 pivots; a larger max_pivots or another label"):
        lemke_howson(game, 0, max_pivots=2)


def test_label_out_of_range():
    with pytest.raises(TheoryError, match="label is 4; this game has the labels 0 to 3"):
        lemke_howson(named_game("chicken"), 4)


@settings(max_examples=30, deadline=None)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(-3, 3))
)
def test_zero_sum_value_is_secured_by_both(table):
    found = solve_zero_sum(NormalFormGame.from_bimatrix(table))
    x, y = found.strategies
    assert found.regret < 1e-8
    assert abs((x @ table).min() - (table @ y).max()) < 1e-8


def test_zero_sum_value_of_a_known_game():
    found = solve_zero_sum(NormalFormGame.from_bimatrix([[3, -1], [-2, 1]]))
    np.testing.assert_allclose(found.payoffs, [1 / 7, -1 / 7], atol=1e-12)
    np.testing.assert_allclose(found.strategies[0], [3 / 7, 4 / 7], atol=1e-12)


def test_pure_equilibria_of_three_players():
    """Everyone picks a side; being in the minority of one costs nothing but earns nothing."""
    payoffs = np.zeros((3, 2, 2, 2))
    payoffs[:, 0, 0, 0] = payoffs[:, 1, 1, 1] = 1.0
    found = pure_equilibria(NormalFormGame(payoffs))
    assert {tuple(s.argmax() for s in e.strategies) for e in found} >= {(0, 0, 0), (1, 1, 1)}
    assert all(e.regret == 0.0 for e in found)
