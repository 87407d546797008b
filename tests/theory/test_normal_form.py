"""Dominance, welfare, security, structure, correlated equilibria and commitment."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comity.theory import (
    NormalFormGame,
    TheoryError,
    best_responses,
    correlated_equilibrium,
    correlated_regret,
    dominated_actions,
    eliminate_dominated,
    is_constant_sum,
    is_pareto_optimal,
    is_symmetric,
    is_zero_sum,
    named_game,
    nash_conv,
    pareto_profiles,
    potential,
    price_of_selfishness,
    pure_equilibria,
    regret,
    security,
    social_optimum,
    stackelberg,
    vertex_enumeration,
)


@st.composite
def n_player_games(draw):
    shape = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    table = hnp.arrays(np.float64, (len(shape), *shape), elements=st.integers(-2, 3).map(float))
    return NormalFormGame(draw(table))


def test_action_payoffs_of_three_players_by_hand():
    payoffs = np.arange(24.0).reshape(3, 2, 2, 2)
    game = NormalFormGame(payoffs)
    profile = [np.array([0.25, 0.75]), np.array([1.0, 0.0]), np.array([0.5, 0.5])]
    np.testing.assert_allclose(game.action_payoffs(0, profile), [0.5, 4.5])
    np.testing.assert_allclose(game.action_payoffs(1, profile), [8 + 3 + 0.5, 8 + 3 + 2.5])
    np.testing.assert_allclose(game.action_payoffs(2, profile), [16 + 3, 16 + 4])
    np.testing.assert_allclose(game.expected_payoffs(profile), [3.5, 11.5, 19.5])
    np.testing.assert_allclose(regret(game, profile), [1.0, 2.0, 0.5])
    assert nash_conv(game, profile) == pytest.approx(3.5)
    assert best_responses(game, 1, profile) == (1,)


def test_best_responses_lists_ties():
    game = NormalFormGame.from_bimatrix([[1, 1], [1, 0], [0, 5]], np.zeros((3, 2)))
    assert best_responses(game, 0, [np.eye(3)[0], np.array([1.0, 0.0])]) == (0, 1)


def test_mixed_dominance_needs_a_mixture():
    """The third action loses to half and half of the others, and to neither alone."""
    game = NormalFormGame.from_bimatrix([[3, 0], [0, 3], [1, 1]], np.zeros((3, 2)))
    assert dominated_actions(game, 0, mixed=False) == []
    (found,) = dominated_actions(game, 0)
    assert found.action == 2
    assert ((found.by @ game.payoffs[0]) > game.payoffs[0][2]).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_an_action_that_is_worse_by_little_is_dominated(scale, shift):
    """By 1e-9 of 1 it is named, strictly or weakly; by rounding it is not, and neither are equal actions."""
    table = np.array([[1.0, 2.0], [1.0 - 1e-9, 2.0 - 1e-9], [0.3, 5.0]])
    weakly = np.array([[1.0, 2.0], [1.0, 2.0 - 1e-9], [0.3, 5.0]])
    rounded = np.array([[0.3, 2.0], [0.1 + 0.2 - 1e-16, 2.0], [0.3, 2.0]])
    for payoffs, strict, found in ((table, True, [1]), (weakly, True, []), (weakly, False, [1]),
                                   (rounded, True, []), (rounded, False, [])):  # fmt: skip
        game = NormalFormGame(np.stack([scale * (payoffs + shift)] * 2))
        assert [d.action for d in dominated_actions(game, 0, strict)] == found


def test_a_mixture_that_gains_little_dominates():
    """Half and half of the first two earns 1e-9 more than the third; exactly as much is not enough."""
    for gain, found in ((1e-9, [2]), (0.0, [])):
        row = np.array([[1.0, 0.0], [0.0, 1.0], [0.5 - gain, 0.5 - gain]])
        assert [d.action for d in dominated_actions(NormalFormGame(np.stack([row, row])), 0)] == found


def test_weak_dominance_is_not_strict():
    game = NormalFormGame.from_bimatrix([[1, 1], [1, 0]], np.zeros((2, 2)))
    assert dominated_actions(game, 0, strict=True) == []
    assert [d.action for d in dominated_actions(game, 0, strict=False)] == [1]


def test_iterated_elimination_solves_the_guessing_game():
    """Guess 2/3 of the average of 1 to 4, three players: only the lowest guess survives weak dominance."""
    guesses = np.indices((4, 4, 4)) + 1
    distance = np.abs(guesses - 2 / 3 * guesses.mean(axis=0))
    wins = distance == distance.min(axis=0)
    result = eliminate_dominated(NormalFormGame(wins / wins.sum(axis=0)), strict=False)
    assert result.kept == ((0,), (0,), (0,))
    assert len(result.rounds) > 1


@settings(max_examples=25, deadline=None)
@given(n_player_games())
def test_strict_elimination_keeps_every_equilibrium_and_order_of_actions(game):
    result = eliminate_dominated(game)
    for found in pure_equilibria(game):
        assert all(int(s.argmax()) in kept for s, kept in zip(found.strategies, result.kept, strict=True))
    np.testing.assert_array_equal(result.game.payoffs, game.restrict(result.kept).payoffs)
    if game.num_players == 2:
        assert len(vertex_enumeration(result.game)) == len(vertex_enumeration(game))


def test_pareto_and_optimum_of_the_prisoners_dilemma():
    game = named_game("prisoners-dilemma")
    assert pareto_profiles(game) == [(0, 0), (0, 1), (1, 0)]
    assert social_optimum(game) == (((0, 0),), 6.0)
    price = price_of_selfishness(game, pure_equilibria(game))
    assert (price.anarchy, price.stability) == (3.0, 3.0)


def test_pareto_keeps_duplicates_of_the_best():
    assert is_pareto_optimal(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])).tolist() == [True, True, False]


def test_price_of_anarchy_differs_from_stability_in_the_stag_hunt():
    game = named_game("stag-hunt")
    price = price_of_selfishness(game, vertex_enumeration(game))
    assert price.stability == pytest.approx(1.0)
    assert price.anarchy == pytest.approx(8 / 6)
    losses = NormalFormGame(game.payoffs - 10)
    assert price_of_selfishness(losses, vertex_enumeration(losses)).anarchy is None


def test_security_of_matching_pennies_and_of_pure_play():
    safe = security(named_game("matching-pennies"), 0)
    assert safe.value == pytest.approx(0.0, abs=1e-12)
    assert (safe.pure_maximin, safe.pure_minimax) == (-1.0, 1.0)
    np.testing.assert_allclose(safe.punishment, [0.5, 0.5])


@settings(max_examples=25, deadline=None)
@given(n_player_games())
def test_nobody_earns_less_than_their_security_in_equilibrium(game):
    for i in range(game.num_players):
        safe = security(game, i)
        assert safe.pure_maximin - 1e-9 <= safe.value <= safe.pure_minimax + 1e-9
        for found in pure_equilibria(game):
            assert found.payoffs[i] >= safe.value - 1e-8
        joint = np.moveaxis(game.payoffs[i], i, 0).reshape(game.num_actions[i], -1)
        assert (joint @ safe.punishment).max() <= safe.value + 1e-8


def test_structure_tests():
    assert is_zero_sum(named_game("rock-paper-scissors"))
    assert not is_zero_sum(named_game("chicken"))
    shifted = NormalFormGame(named_game("matching-pennies").payoffs + 1)
    assert is_constant_sum(shifted)
    assert not is_zero_sum(shifted)
    assert is_symmetric(named_game("public-goods"))
    assert not is_symmetric(named_game("battle-of-the-sexes"))


@settings(max_examples=25, deadline=None)
@given(hnp.arrays(np.float64, (2, 3, 2), elements=st.integers(-5, 5)), st.integers(0, 2))
def test_potential_is_found_when_there_is_one(function, player):
    """Any function plus, for each player, something that they cannot influence."""
    rng = np.random.default_rng(0)
    payoffs = np.stack([function + rng.normal(size=function.take([0], axis=i).shape) for i in range(3)])
    found = potential(NormalFormGame(payoffs))
    assert found is not None
    np.testing.assert_allclose(found, function - function[0, 0, 0], atol=1e-9)
    payoffs[player, 0, 0, 0] += 1.0
    assert potential(NormalFormGame(payoffs)) is None


def test_chickens_best_correlated_equilibrium():
    """Aumann's example: half (swerve, swerve), a quarter each of the others, 5.25 each."""
    found = correlated_equilibrium(named_game("chicken"), "welfare")
    np.testing.assert_allclose(found.distribution, [[0.5, 0.25], [0.25, 0.0]], atol=1e-9)
    np.testing.assert_allclose(found.payoffs, [5.25, 5.25], atol=1e-9)
    assert found.regret < 1e-9


def test_maxmin_is_fairer_than_welfare():
    game = NormalFormGame.from_bimatrix([[9, 0], [0, 2]], [[1, 0], [0, 2]])
    assert correlated_equilibrium(game, "welfare").payoffs.min() == pytest.approx(1.0)
    assert correlated_equilibrium(game, "maxmin").payoffs.min() == pytest.approx(2.0)


def test_coarse_correlated_equilibria_are_more():
    """A game in which binding oneself to the recommendation beforehand allows more welfare."""
    game = NormalFormGame.from_bimatrix([[1, 0, 0], [2, 2, 0], [0, 1, 2]], [[2, 0, 0], [0, 1, 2], [0, 1, 0]])
    coarse = correlated_equilibrium(game, "welfare", coarse=True)
    tight = correlated_equilibrium(game, "welfare")
    np.testing.assert_allclose(coarse.payoffs, [12 / 7, 8 / 7], atol=1e-9)
    np.testing.assert_allclose(tight.payoffs, [4 / 3, 1], atol=1e-9)
    assert correlated_regret(game, coarse.distribution, coarse=True) < 1e-9
    assert correlated_regret(game, coarse.distribution, coarse=False) > 0.5


@settings(max_examples=25, deadline=None)
@given(n_player_games(), st.sampled_from(["feasible", "welfare", "maxmin"]), st.booleans())
def test_correlated_equilibria_have_no_regret_and_beat_nash(game, objective, coarse):
    found = correlated_equilibrium(game, objective, coarse)
    assert found.regret < 1e-8
    assert found.distribution.min() >= 0
    assert abs(found.distribution.sum() - 1) < 1e-9
    for nash in pure_equilibria(game):
        if objective == "welfare":
            assert found.payoffs.sum() >= nash.payoffs.sum() - 1e-7
        if objective == "maxmin":
            assert found.payoffs.min() >= nash.payoffs.min() - 1e-7


def test_stackelberg_commitment_beats_the_only_equilibrium():
    """Conitzer and Sandholm's first example: 2 in equilibrium, 3 by pure and 3.5 by mixed commitment."""
    game = NormalFormGame.from_bimatrix([[2, 4], [1, 3]], [[1, 0], [0, 1]])
    found = stackelberg(game)
    np.testing.assert_allclose(found.strategy, [0.5, 0.5])
    assert found.response == 1
    assert found.leader_payoff == pytest.approx(3.5)
    assert found.regret < 1e-9


@settings(max_examples=25, deadline=None)
@given(hnp.arrays(np.float64, (2, 3, 3), elements=st.integers(-3, 3)))
def test_commitment_is_at_least_as_good_as_any_equilibrium(payoffs):
    game = NormalFormGame(payoffs)
    for leader in (0, 1):
        found = stackelberg(game, leader)
        assert found.regret < 1e-8
        assert found.leader_payoff >= max(e.payoffs[leader] for e in vertex_enumeration(game)) - 1e-7


# Wrong on purpose, and so not typed.
RAGGED: Any = [[[1, 2], [3]], [[1, 2], [3, 4]]]
WORDS: Any = [["a", "b"]]
UNKNOWN: Any = "best"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: NormalFormGame(RAGGED), "rows of equal length"),
        (lambda: NormalFormGame(np.full((2, 2, 2), np.nan)), r"nan at index \[0, 0, 0\]"),
        (
            lambda: NormalFormGame.from_bimatrix([[1, np.inf]], [[1, 2]]),
            "replace an infinite payoff by a large",
        ),
        (lambda: NormalFormGame(WORDS), "not a table of numbers"),
        (lambda: NormalFormGame(np.zeros((3, 2, 2))), "for example"),
        (lambda: NormalFormGame(np.zeros((2, 0, 2))), "at least one action"),
        (lambda: NormalFormGame.from_bimatrix(np.zeros((2, 3)), np.zeros((3, 2))), "two tables of one shape"),
        (lambda: NormalFormGame(np.zeros((2, 2, 2)), players=("a",)), "one name each"),
        (lambda: vertex_enumeration(named_game("public-goods")), "is for 2 players and this game has 3"),
        (lambda: vertex_enumeration(NormalFormGame(np.zeros((2, 40, 40)))), "lemke_howson finds one"),
        (
            lambda: correlated_equilibrium(named_game("chicken"), UNKNOWN),
            "'feasible', 'welfare' or 'maxmin'",
        ),
        (lambda: regret(named_game("chicken"), [np.array([0.5, 0.6]), np.array([1.0, 0.0])]), "add up to 1"),
        (lambda: named_game("chess"), "There is no game named 'chess'; battle-of-the-sexes"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_games_are_refused_with_what_would_work(make, sentence):
    with pytest.raises(TheoryError, match=sentence):
        make()
