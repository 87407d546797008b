"""The n-player solver and logit quantal response equilibria."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comity.theory import (
    NormalFormGame,
    TheoryError,
    distinct_equilibria,
    logit_branch,
    named_game,
    quantal_response,
    solve_n_player,
)
from comity.theory.equilibria.n_player import minimised, newton_on_support
from comity.theory.equilibria.quantal_response import LogitSystem


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([(2, 2, 2), (3, 2, 3), (2, 2, 2, 2), (3, 3)]), st.data())
def test_degenerate_games_are_solved(shape, data):
    payoffs = data.draw(hnp.arrays(np.float64, (len(shape), *shape), elements=st.integers(0, 2).map(float)))
    assert solve_n_player(NormalFormGame(payoffs)).regret < 1e-8


@pytest.mark.parametrize("shape", [(3, 3, 3), (2, 2, 2, 2, 2), (4, 4, 4)])
def test_random_games_are_solved(shape):
    rng = np.random.default_rng(len(shape))
    for _ in range(3):
        game = NormalFormGame(rng.normal(size=(len(shape), *shape)) * 100)
        assert solve_n_player(game).regret < 1e-8


def test_a_game_with_irrational_probabilities():
    """Everyone earns 1 if all three meet at A, 2 if all meet at B, and 0 otherwise: p^2 = 2 (1 - p)^2."""
    payoffs = np.zeros((3, 2, 2, 2))
    payoffs[:, 0, 0, 0], payoffs[:, 1, 1, 1] = 1.0, 2.0
    p = np.sqrt(2) / (1 + np.sqrt(2))
    mixed = [np.array([p, 1 - p])] * 3
    game = NormalFormGame(payoffs)
    assert game.regrets(mixed).max() < 1e-12
    near = [np.array([0.6, 0.4])] * 3
    polished = newton_on_support(game, near, [np.array([True, True])] * 3)
    assert polished is not None
    np.testing.assert_allclose(polished, mixed, atol=1e-12)


def test_three_way_matching_pennies_has_one_equilibrium():
    """Jordan's game: each wants to match the next, the last to mismatch the first."""
    a, b, c = np.indices((2, 2, 2))
    payoffs = np.stack([a == b, b == c, c != a]).astype(float)
    found = solve_n_player(NormalFormGame(payoffs))
    np.testing.assert_allclose(found.strategies, np.full((3, 2), 0.5), atol=1e-9)


def test_several_starts_find_several_equilibria():
    found = distinct_equilibria(named_game("stag-hunt"), starts=12)
    assert len(found) >= 2
    assert max(e.regret for e in found) < 1e-8


def test_relabelling_actions_relabels_the_answer():
    payoffs = np.random.default_rng(7).normal(size=(3, 3, 2, 2))
    found = solve_n_player(NormalFormGame(payoffs))
    moved = solve_n_player(NormalFormGame(payoffs[:, [2, 0, 1]]))
    np.testing.assert_allclose(moved.strategies[0], found.strategies[0][[2, 0, 1]], atol=1e-8)
    np.testing.assert_allclose(moved.payoffs, found.payoffs, atol=1e-8)


def test_logit_response_of_a_symmetric_2x2_game_by_bisection():
    game = named_game("prisoners-dilemma")
    rationality = 0.8
    low, high = 0.0, 1.0
    for _ in range(200):
        p = (low + high) / 2
        gain = (3 * p + 0 * (1 - p)) - (5 * p + 1 * (1 - p))
        low, high = (p, high) if 1 / (1 + np.exp(-rationality * gain)) > p else (low, p)
    found = quantal_response(game, rationality)
    np.testing.assert_allclose([s[0] for s in found.strategies], [p, p], atol=1e-10)
    assert found.residual < 1e-12


@pytest.mark.parametrize("rationality", [0.0, 0.5, 3.0, 50.0])
def test_logit_equilibria_are_fixed_points(rationality):
    game = NormalFormGame(np.random.default_rng(1).normal(size=(3, 3, 2, 4)))
    found = quantal_response(game, rationality)
    assert found.residual < 1e-10
    for i, strategy in enumerate(found.strategies):
        scores = np.exp(rationality * game.action_payoffs(i, found.strategies))
        np.testing.assert_allclose(strategy, scores / scores.sum(), atol=1e-9)


def test_logit_branch_starts_uniform_and_ends_rational():
    points = list(logit_branch(named_game("chicken"), max_steps=100))
    np.testing.assert_allclose(points[0][1], np.full((2, 2), 0.5))
    game = named_game("chicken")
    assert game.regrets(points[-1][1]).max() < 0.01 * game.regrets(points[0][1]).max()


def test_jacobian_of_the_logit_system_by_finite_differences():
    game = NormalFormGame(np.random.default_rng(2).normal(size=(3, 2, 3, 2)))
    system = LogitSystem(game, [np.full(k, 1 / k) for k in game.num_actions])
    state = np.append(np.log(np.random.default_rng(3).uniform(0.2, 0.8, size=7)), 1.7)
    step = 1e-6
    numeric = np.column_stack(
        [
            (system.residual(state + step * e) - system.residual(state - step * e)) / (2 * step)
            for e in np.eye(8)
        ]
    )
    np.testing.assert_allclose(system.jacobian(state), numeric, atol=1e-7)


def test_minimising_gains_never_makes_a_point_worse():
    rng = np.random.default_rng(0)
    for _ in range(3):
        game = NormalFormGame(rng.uniform(size=(3, 2, 3, 2)))
        start = [rng.dirichlet(np.ones(k)) for k in game.num_actions]
        found = minimised(game, start)
        assert game.regrets(found).max() < 0.3 * game.regrets(start).max()


def test_bad_rationality_and_prior():
    with pytest.raises(TheoryError, match="finite number of at least 0"):
        quantal_response(named_game("chicken"), -1.0)
    with pytest.raises(TheoryError, match="only positive entries"):
        list(logit_branch(named_game("chicken"), [np.array([1.0, 0.0]), np.array([0.5, 0.5])]))
