"""Alpha-rank, ratings, exploitability, PSRO and social metrics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from comity.theory import (
    EmpiricalGame,
    NormalFormGame,
    TheoryError,
    alpha_rank,
    alpha_rank_meta,
    cooperation_rate,
    decompose,
    decompose_win_rates,
    efficiency,
    equality,
    exploitability_gap,
    fit_elo,
    last_meta,
    league_exploitability,
    matrix_oracles,
    named_game,
    nash_conv,
    peace,
    psro,
    sustainability,
    uniform_meta,
    vertex_enumeration,
)
from comity.theory.dynamics.stationary import limit_stationary, stationary_from_log_rates
from comity.theory.empirical.alpha_rank import log_takeover
from comity.theory.empirical.psro import named_meta_solver

ROCK_PAPER_SCISSORS = named_game("rock-paper-scissors").payoffs[0]


def test_stationary_distribution_of_a_random_chain():
    rates = np.random.default_rng(0).uniform(size=(6, 6))
    np.fill_diagonal(rates, 0)
    pi = stationary_from_log_rates(np.log(rates + np.eye(6)))
    np.testing.assert_allclose(pi @ rates, pi * rates.sum(axis=1), atol=1e-14)


def test_stationary_distribution_with_rates_beyond_floating_point():
    """Two states with rates e^-2000 and e^-2001: e times as often in the second... by hand."""
    logs = np.array([[0.0, -2000.0], [-2001.0, 0.0]])
    np.testing.assert_allclose(stationary_from_log_rates(logs), [1 / (1 + np.e), np.e / (1 + np.e)])


def test_limit_of_a_chain_with_two_closed_classes():
    """Leaving A costs 2, leaving C costs 1, B leads to both: in the limit everything is A."""
    exponents = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    allowed = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    np.testing.assert_allclose(limit_stationary(exponents, np.ones((3, 3)), allowed), [1, 0, 0])
    exponents[0, 1] = 1.0
    np.testing.assert_allclose(limit_stationary(exponents, np.ones((3, 3)), allowed), [0.5, 0, 0.5])


def test_takeover_probability_by_its_formula():
    gains = np.array([-0.3, 0.0, 0.2])
    expected = [(1 - np.exp(0.6)) / (1 - np.exp(0.6 * 10)), 0.1, (1 - np.exp(-0.4)) / (1 - np.exp(-4.0))]
    np.testing.assert_allclose(np.exp(log_takeover(gains, 2.0, 10)), expected, rtol=1e-10)
    assert np.isfinite(log_takeover(np.array([-1e4]), 1e4, 100)).all()


def test_alpha_rank_of_known_games():
    np.testing.assert_allclose(alpha_rank(ROCK_PAPER_SCISSORS).distribution, np.full(3, 1 / 3))
    np.testing.assert_allclose(alpha_rank(named_game("prisoners-dilemma")).distribution, [0, 0, 0, 1])
    np.testing.assert_allclose(alpha_rank(named_game("prisoners-dilemma").payoffs[0]).distribution, [0, 1])
    # Two strict equilibria are two closed classes of the limiting chain; the limit weighs them equally here,
    np.testing.assert_allclose(alpha_rank(named_game("battle-of-the-sexes")).distribution, [0.5, 0, 0, 0.5])
    # and here the one that is harder to leave gets everything.
    hunt = NormalFormGame.from_bimatrix([[5, 0], [0, 1]], [[5, 0], [0, 1]])
    np.testing.assert_allclose(alpha_rank(hunt).distribution, [1, 0, 0, 0])
    # Matching pennies cycles through all four profiles.
    np.testing.assert_allclose(alpha_rank(named_game("matching-pennies")).distribution, np.full(4, 0.25))


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.float64, (2, 3, 2), elements=st.integers(0, 3)))
def test_the_limit_is_what_large_alpha_approaches(payoffs):
    game = NormalFormGame(payoffs)
    limit, large = alpha_rank(game).distribution, alpha_rank(game, alpha=1000.0).distribution
    np.testing.assert_allclose(limit, large, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.float64, (4, 4), elements=st.floats(-1, 1)), st.permutations(range(4)))
def test_alpha_rank_balances_and_follows_names(table, order):
    found = alpha_rank(table, alpha=3.0, population=10).distribution
    rates = np.exp(log_takeover(table.T - table, 3.0, 10))
    np.fill_diagonal(rates, 0)
    np.testing.assert_allclose(found @ rates, found * rates.sum(axis=1), atol=1e-12)
    moved = alpha_rank(table[np.ix_(order, order)], alpha=3.0, population=10).distribution
    np.testing.assert_allclose(moved, found[list(order)], atol=1e-9)


def test_elo_recovers_the_ratings_it_was_made_from():
    ratings = np.array([-200.0, -50.0, 0.0, 250.0])
    rates = 1 / (1 + 10 ** ((ratings[None] - ratings[:, None]) / 400))
    found = fit_elo(rates, games=1e6)
    np.testing.assert_allclose(found.ratings, ratings, atol=0.01)
    assert found.worst_error < 1e-4
    split = decompose_win_rates(rates)
    np.testing.assert_allclose(split.ratings, ratings, atol=1e-9)
    assert split.cyclic_share < 1e-20


def test_elo_fails_on_rock_paper_scissors():
    found = fit_elo(0.5 + 0.4 * ROCK_PAPER_SCISSORS)
    np.testing.assert_allclose(found.ratings, 0.0, atol=1e-9)
    assert found.worst_error == pytest.approx(0.4)
    assert decompose(ROCK_PAPER_SCISSORS).cyclic_share == pytest.approx(1.0)


def test_elo_stays_finite_for_a_player_who_always_wins():
    rates = np.array([[0.5, 1.0], [0.0, 0.5]])
    assert 300 < np.ptp(fit_elo(rates).ratings) < 3000


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.float64, (5, 5), elements=st.floats(-3, 3)))
def test_decomposition_adds_up_and_is_orthogonal(table):
    parts = decompose(table)
    np.testing.assert_allclose(parts.transitive + parts.cyclic, (table - table.T) / 2, atol=1e-12)
    np.testing.assert_allclose(parts.cyclic.sum(axis=1), 0, atol=1e-9)
    assert abs((parts.transitive * parts.cyclic).sum()) < 1e-8
    assert 0 <= parts.cyclic_share <= 1 + 1e-12


def test_league_exploitability_by_hand():
    dilemma = named_game("prisoners-dilemma").payoffs[0]
    found = league_exploitability(dilemma, fresh=np.array([5.5, 1.0]))
    np.testing.assert_allclose(found.by_league, [2, 0])
    np.testing.assert_array_equal(found.exploiter, [1, 1])
    assert found.by_fresh is not None
    np.testing.assert_allclose(found.by_fresh, [2.5, 0])
    np.testing.assert_allclose(exploitability_gap(dilemma), [5, -5])  # the cooperator is exploited


def test_regret_interval_contains_the_truth():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(4, 4))
    mean = truth + rng.uniform(-0.1, 0.1, size=(4, 4))
    empirical = EmpiricalGame.from_league(mean, mean - 0.1, mean + 0.1, ["a", "b", "c", "d"])
    exact = NormalFormGame(np.stack([truth, truth.T]))
    for found in vertex_enumeration(empirical.game):
        low, high = empirical.regret_interval(found.strategies)
        assert low <= exact.regrets(found.strategies).max() <= high
    precise = EmpiricalGame.from_league(mean)
    profile = [np.full(4, 0.25)] * 2
    np.testing.assert_allclose(precise.regret_interval(profile), [precise.game.regrets(profile).max()] * 2)


def test_resampled_games_have_the_spread_of_their_intervals():
    mean = np.zeros((3, 3))
    drawn = np.array([g.payoffs for g in EmpiricalGame.from_league(mean, mean - 1, mean + 1).resample(3000)])
    np.testing.assert_allclose((np.abs(drawn) <= 1).mean(axis=0), 0.95, atol=0.02)
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 1].swapaxes(1, 2))


@pytest.mark.parametrize("seed", range(4))
def test_psro_ends_at_an_equilibrium_of_the_whole_game(seed):
    table = np.random.default_rng(seed).normal(size=(12, 12))
    game = NormalFormGame.from_bimatrix(table)
    found = psro(*matrix_oracles(game), initial=[[0], [0]])
    whole = [np.zeros(12), np.zeros(12)]
    for mixture, policies, weights in zip(whole, found.populations, found.strategies, strict=True):
        np.add.at(mixture, list(policies), weights)
    assert nash_conv(game, whole) < 1e-7
    assert found.gains[-1] <= 1e-8 < found.gains[0]


def test_psro_in_general_sum_and_with_three_players():
    payoffs = np.random.default_rng(1).normal(size=(3, 4, 4, 4))
    game = NormalFormGame(payoffs)
    found = psro(*matrix_oracles(game), initial=[[0], [0], [0]], tolerance=1e-7)
    assert found.gains[-1] <= 1e-7
    dilemma = psro(*matrix_oracles(named_game("prisoners-dilemma")), initial=[[0], [0]])
    assert dilemma.populations == ((0, 1), (0, 1))
    assert dilemma.gains == (2.0, 0.0)


def test_psro_measures_each_profile_once():
    payoff, respond = matrix_oracles(named_game("rock-paper-scissors"))
    seen = []

    def counting(profile):
        seen.append(profile)
        return payoff(profile)

    found = psro(counting, respond, initial=[[0], [1]])
    assert len(seen) == len(set(seen)) == np.prod([len(p) for p in found.populations])


@pytest.mark.parametrize("solver", [uniform_meta, last_meta, alpha_rank_meta])
def test_other_meta_solvers_give_mixtures(solver):
    found = psro(*matrix_oracles(named_game("rock-paper-scissors")), [[0], [0]], solver, rounds=5)
    for mixture in found.strategies:
        assert mixture.min() >= 0
        assert mixture.sum() == pytest.approx(1.0)
    assert len(found.gains) <= 5


def test_social_metrics_by_hand():
    rewards = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    assert efficiency(rewards) == 1.0
    assert equality(rewards.sum(axis=0)) == 1.0
    assert equality(np.array([4.0, 0.0])) == 0.5
    assert sustainability(rewards) == pytest.approx((1.0 + 2.0) / 2)
    assert sustainability(np.zeros((3, 2))) == 0.0
    frozen = np.array([[False, True], [False, True], [False, False], [False, False]])
    assert peace(frozen) == 1.5
    assert cooperation_rate(np.array([True, False, True]), np.array([True, True, False])) == 0.5


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: EmpiricalGame.from_league(np.zeros((2, 3))), "a square table"),
        (lambda: EmpiricalGame.from_league(np.zeros((2, 2)), np.ones((2, 2))), "low <= mean <= high"),
        (lambda: EmpiricalGame.from_league(np.full((2, 2), np.nan)), "must be a finite number"),
        (lambda: alpha_rank(np.zeros((2, 2)), alpha=-1), "or infinity for the limit"),
        (lambda: alpha_rank(NormalFormGame(np.zeros((2, 99, 99)))), "restrict it"),
        (lambda: fit_elo(np.array([[0.5, 0.9], [0.9, 0.5]])), "add up to 1"),
        (lambda: exploitability_gap(np.zeros((1, 1))), "at least 2 members"),
        (lambda: psro(*matrix_oracles(named_game("chicken")), initial=[[0]]), "at least two players"),
        (lambda: efficiency(np.zeros(3)), r"\(time, players\) would work"),
        (lambda: cooperation_rate(np.array([True]), np.array([False])), "somebody alive"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_refused_with_what_would_work(call, sentence):
    with pytest.raises(TheoryError, match=sentence):
        call()


@pytest.mark.parametrize("name", ["nash", "alpha-rank", "regret-matching"])
def test_meta_solvers_find_the_equilibrium_of_rock_paper_scissors(name: str) -> None:
    game = named_game("rock-paper-scissors")
    for own in named_meta_solver(name)(game):
        np.testing.assert_allclose(own, 1 / 3, atol=1e-3)


def test_regret_matching_finds_a_mixed_equilibrium_that_is_not_even() -> None:
    """Matching pennies in which one match is worth 3: both show that side with probability 1/3."""
    game = NormalFormGame.from_bimatrix([[3.0, -1.0], [-1.0, 1.0]])
    row, column = named_meta_solver("regret-matching")(game)
    np.testing.assert_allclose(row, [1 / 3, 2 / 3], atol=0.015)
    np.testing.assert_allclose(column, [1 / 3, 2 / 3], atol=0.015)
    with pytest.raises(ValueError, match="no meta-solver"):
        named_meta_solver("guess")
