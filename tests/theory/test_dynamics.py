"""Learning dynamics in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.theory import (
    NormalFormGame,
    TheoryError,
    correlated_regret,
    fixation_probabilities,
    log_fixation,
    moran_stationary,
    named_game,
    quantal_response,
    run_best_response,
    run_fictitious_play,
    run_logit,
    run_logit_populations,
    run_regret_matching,
    run_replicator,
    run_two_populations,
    simulate_moran,
)

ROCK_PAPER_SCISSORS = jnp.asarray(named_game("rock-paper-scissors").payoffs[0], jnp.float32)


def random_mixtures(shape, seed=0):
    return jnp.asarray(
        np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1]), jnp.float32
    )


def test_replicator_follows_the_logistic_curve():
    """With payoffs 1 and 0 the first strategy's odds grow like exp(t)."""
    payoffs = jnp.array([[1.0, 1.0], [0.0, 0.0]])
    path = run_replicator(payoffs, jnp.array([0.1, 0.9]), steps=100, step_size=0.05)
    time = np.arange(101) * 0.05
    expected = 0.1 * np.exp(time) / (0.1 * np.exp(time) + 0.9)
    np.testing.assert_allclose(path[:, 0], expected, atol=1e-5)


def test_replicator_has_order_four():
    """Halving the step divides the error by about 2^4."""
    with jax.enable_x64(True):
        payoffs = jnp.asarray(np.random.default_rng(0).normal(size=(4, 4)))
        start = jnp.array([0.1, 0.2, 0.3, 0.4])
        exact = run_replicator(payoffs, start, 1024, 4.0 / 1024)[-1]
        errors = [
            float(jnp.abs(run_replicator(payoffs, start, n, 4.0 / n)[-1] - exact).max()) for n in (8, 16, 32)
        ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.5).all()
    assert (orders < 4.6).all()


def test_rock_paper_scissors_conserves_the_product():
    start = random_mixtures((20, 3))
    path = run_replicator(ROCK_PAPER_SCISSORS, start, 500, 0.02)
    products = np.prod(np.asarray(path, np.float64), axis=-1)
    np.testing.assert_allclose(products[-1], products[0], rtol=1e-3)


def test_batches_of_starts_and_games_are_the_single_runs():
    games = jnp.asarray(np.random.default_rng(1).normal(size=(5, 3, 3)), jnp.float32)
    starts = random_mixtures((5, 3))
    together = run_replicator(games, starts, 50, 0.05)
    for k in range(5):
        np.testing.assert_allclose(together[:, k], run_replicator(games[k], starts[k], 50, 0.05), atol=1e-5)
    many = random_mixtures((3001, 3))  # more than one block, not a multiple of it
    blocks = run_replicator(games[0], many, 20, 0.05)
    assert blocks.shape == (21, 3001, 3)
    np.testing.assert_allclose(blocks[:, 3000], run_replicator(games[0], many[3000], 20, 0.05), atol=1e-5)
    np.testing.assert_allclose(blocks[0], many, atol=1e-6)
    kept = run_replicator(games[0], many, 20, 0.05, keep_every=5)
    np.testing.assert_allclose(kept, blocks[::5], atol=1e-6)
    with pytest.raises(TheoryError, match="multiple of keep_every"):
        run_replicator(games[0], many, 20, 0.05, keep_every=3)


def test_two_populations_in_the_prisoners_dilemma_defect():
    game = named_game("prisoners-dilemma")
    row, column = jnp.asarray(game.payoffs, jnp.float32)
    x, y = run_two_populations(row, column, (random_mixtures((9, 2)), random_mixtures((9, 2), 1)), 1000, 0.05)
    np.testing.assert_allclose(x[-1, :, 1], np.ones(9), atol=1e-3)
    np.testing.assert_allclose(y[-1, :, 1], np.ones(9), atol=1e-3)


def test_one_population_is_two_equal_ones():
    start = random_mixtures((4, 3))
    alone = run_replicator(ROCK_PAPER_SCISSORS, start, 60, 0.05)
    x, y = run_two_populations(ROCK_PAPER_SCISSORS, ROCK_PAPER_SCISSORS.T, (start, start), 60, 0.05)
    np.testing.assert_allclose(x, alone, atol=1e-5)
    np.testing.assert_allclose(y, alone, atol=1e-5)


def test_logit_dynamics_rest_at_the_quantal_response():
    game = named_game("chicken")
    expected = quantal_response(game, 0.7)
    path = run_logit(jnp.asarray(game.payoffs[0], jnp.float32), jnp.array([0.9, 0.1]), 0.7, 2000, 0.05)
    np.testing.assert_allclose(path[-1], expected.strategies[0], atol=1e-4)
    row, column = jnp.asarray(game.payoffs, jnp.float32)
    x, y = run_logit_populations(
        (row, column), (jnp.array([0.5, 0.5]), jnp.array([0.5, 0.5])), 0.7, 2000, 0.05
    )
    np.testing.assert_allclose(x[-1], expected.strategies[0], atol=1e-4)
    np.testing.assert_allclose(y[-1], expected.strategies[1], atol=1e-4)


def test_best_response_dynamics_reach_a_strict_equilibrium():
    game = named_game("stag-hunt")
    row, column = jnp.asarray(game.payoffs, jnp.float32)
    start = (jnp.array([[0.9, 0.1], [0.5, 0.5]]), jnp.array([[0.9, 0.1], [0.5, 0.5]]))
    x, _ = run_best_response((row, column), start, 400, 0.05)
    np.testing.assert_allclose(x[-1, :, 0], [1.0, 0.0], atol=1e-4)
    # towards a constant target the path is exact, whatever the step
    np.testing.assert_allclose(x[10, 0, 1], 0.1 * np.exp(-0.5), rtol=1e-4)


def test_fictitious_play_solves_zero_sum_games_and_cycles_in_shapleys():
    start = (jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0]))
    x, y = run_fictitious_play((ROCK_PAPER_SCISSORS, -ROCK_PAPER_SCISSORS), start, 20_000, 10)
    assert np.abs(np.asarray([x[-1], y[-1]]) - 1 / 3).max() < 0.02
    row, column = jnp.asarray(named_game("shapley").payoffs, jnp.float32)
    x, _ = run_fictitious_play((row, column), start, 20_000, 10)
    late = np.asarray(x[500:])
    assert np.ptp(late, axis=0).min() > 0.1  # still swinging


def test_fictitious_play_by_hand():
    row, column = jnp.asarray(named_game("matching-pennies").payoffs, jnp.float32)
    x, y = run_fictitious_play((row, column), (jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])), 2)
    # Round 2: the row answers tails with tails, the column answers heads with tails.
    np.testing.assert_allclose(x[1], [0.5, 0.5])
    np.testing.assert_allclose(y[1], [0.0, 1.0])
    np.testing.assert_allclose(x[2], [1 / 3, 2 / 3], rtol=1e-6)


@pytest.mark.parametrize("plus", [False, True])
def test_regret_matching_approaches_coarse_correlated_equilibria(plus):
    rng = np.random.default_rng(0)
    games = rng.uniform(size=(4, 2, 3, 3))
    row, column = (jnp.asarray(games[:, k], jnp.float32) for k in range(2))
    start = (random_mixtures((4, 3)), random_mixtures((4, 3), 1))
    found = run_regret_matching((row, column), start, 4000, plus)
    for k in range(4):
        joint = np.asarray(found.joint[k], np.float64)
        assert correlated_regret(NormalFormGame(games[k]), joint, coarse=True) < 0.03
        np.testing.assert_allclose(joint.sum(), 1.0, atol=1e-4)
        np.testing.assert_allclose(joint.sum(axis=1), found.strategies[0][k], atol=1e-4)


def test_fixation_without_selection_is_one_over_n():
    np.testing.assert_allclose(fixation_probabilities(np.random.rand(3, 3), 20, 0.0), np.full((3, 3), 0.05))


def test_fixation_with_constant_fitness_is_the_textbook_formula():
    """A mutant with relative fitness r takes over with (1 - 1/r) / (1 - 1/r^N)."""
    payoffs = np.array([[0.0, 0.0], [np.log(2.0), np.log(2.0)]])
    rho = fixation_probabilities(payoffs, 10, 1.0)
    assert rho[0, 1] == pytest.approx((1 - 1 / 2) / (1 - 1 / 2**10))
    assert rho[1, 0] == pytest.approx((1 - 2) / (1 - 2**10))


def test_fixation_agrees_with_simulation():
    payoffs = np.array([[3.0, 0.0], [5.0, 1.0]])
    expected = fixation_probabilities(payoffs, 8, 0.3)[1, 0]
    runs = 20_000
    start = jnp.full(runs, 1)
    last = simulate_moran(jnp.asarray(payoffs, jnp.float32), 8, start, jax.random.key(0), 1500, 0.3)
    counts = np.asarray(last)
    assert set(np.unique(counts)) <= {0, 8}
    assert abs((counts == 8).mean() - expected) < 4 * np.sqrt(expected / runs)


def test_strong_selection_does_not_overflow():
    payoffs = np.array([[3.0, 0.0], [5.0, 1.0]])
    logs = np.asarray(log_fixation(jnp.asarray(payoffs, jnp.float32), 500, 100.0))
    assert np.isfinite(logs).all()
    assert logs[1, 0] < -1e4
    np.testing.assert_allclose(moran_stationary(payoffs, 500, 100.0), [0.0, 1.0])


def test_moran_stationary_solves_the_balance_equations():
    payoffs = np.random.default_rng(0).normal(size=(4, 4))
    rates = fixation_probabilities(payoffs, 10, 0.5) / 3
    np.fill_diagonal(rates, 0)
    pi = moran_stationary(payoffs, 10, 0.5)
    np.testing.assert_allclose(pi @ rates, pi * rates.sum(axis=1), atol=1e-12)


# ---- More than two players -----------------------------------------------------------------------------


def three_player_game(seed=0):
    return np.random.default_rng(seed).uniform(size=(3, 2, 3, 4))


def slow_values(game, mixes, player):
    """What each action of `player` earns, profile by profile."""
    found = np.zeros(len(mixes[player]))
    for profile in np.ndindex(*game.shape[1:]):
        chance = np.prod([mixes[i][a] for i, a in enumerate(profile) if i != player])
        found[profile[player]] += chance * game[(player, *profile)]
    return found


def test_one_round_of_every_dynamic_for_three_players_by_hand():
    game = three_player_game()
    mixes = [np.asarray(random_mixtures((n,), n), np.float64) for n in (2, 3, 4)]
    values = [slow_values(game, mixes, player) for player in range(3)]
    tables = tuple(jnp.asarray(game, jnp.float32))
    start = tuple(jnp.asarray(mix, jnp.float32) for mix in mixes)
    best = [np.eye(len(v))[np.argmax(v)] for v in values]
    for path, mix, to in zip(run_best_response(tables, start, 1, 0.1), mixes, best, strict=True):
        np.testing.assert_allclose(path[1], mix + (1 - np.exp(-0.1)) * (to - mix), atol=1e-6)
    for path, mix, to in zip(run_fictitious_play(tables, start, 1), mixes, best, strict=True):
        np.testing.assert_allclose(path[1], (mix + to) / 2, atol=1e-6)
    small = 1e-4
    for path, mix, value in zip(
        run_logit_populations(tables, start, 2.0, 1, small), mixes, values, strict=True
    ):
        drift = np.exp(2 * value) / np.exp(2 * value).sum() - mix
        np.testing.assert_allclose((path[1] - path[0]) / small, drift, atol=5e-3)
    found = run_regret_matching(tables, start, 2)
    second = []
    for mix, value in zip(mixes, values, strict=True):
        regret = np.maximum(mix + value - mix @ value, 0.0)
        second.append(regret / regret.sum())
    joint = (np.einsum("a,b,c->abc", *mixes) + np.einsum("a,b,c->abc", *second)) / 2
    np.testing.assert_allclose(found.joint, joint, atol=1e-5)
    for player, strategy in enumerate(found.strategies):
        others = tuple(axis for axis in range(3) if axis != player)
        np.testing.assert_allclose(strategy, joint.sum(axis=others), atol=1e-5)


@pytest.mark.parametrize("plus", [False, True])
def test_regret_matching_of_three_players_over_starts_and_games(plus):
    games = np.stack([three_player_game(seed) for seed in range(4)])
    start = tuple(random_mixtures((5, 4, n), n) for n in (2, 3, 4))
    tables = tuple(jnp.asarray(games[:, player], jnp.float32) for player in range(3))
    found = run_regret_matching(tables, start, 4000, plus)
    assert found.joint.shape == (5, 4, 2, 3, 4)
    for start_at, game in np.ndindex(5, 4):
        joint = np.asarray(found.joint[start_at, game], np.float64)
        assert correlated_regret(NormalFormGame(games[game]), joint, coarse=True) < 0.03


def test_fictitious_play_of_three_players_agrees_on_one_action():
    """A common-interest game is a potential game, where fictitious play ends in an equilibrium."""
    common = jnp.zeros((2, 2, 2)).at[0, 0, 0].set(2.0).at[1, 1, 1].set(1.0)
    starts = tuple(random_mixtures((50, 2), player) for player in range(3))
    ends = [path[-1, :, 0] for path in run_fictitious_play((common,) * 3, starts, 3000, 3000)]
    settled = np.asarray(ends).mean(axis=0)
    assert ((settled > 0.99) | (settled < 0.01)).all()
    assert (settled > 0.99).any()
    assert (settled < 0.01).any()


def test_logit_populations_of_three_players_rest_at_the_quantal_response():
    game = named_game("public-goods")
    expected = quantal_response(game, 1.0)
    start = tuple(jnp.full(table.shape[player], 1 / table.shape[player], jnp.float32) for player, table in
                  enumerate(game.payoffs))  # fmt: skip
    paths = run_logit_populations(tuple(jnp.asarray(game.payoffs, jnp.float32)), start, 1.0, 2000, 0.05, 2000)
    for path, strategy in zip(paths, expected.strategies, strict=True):
        np.testing.assert_allclose(path[-1], strategy, atol=1e-4)


def test_dynamics_name_the_player_whose_table_does_not_fit():
    tables = (jnp.zeros((2, 3)), jnp.zeros((3, 2)))
    start = (jnp.array([0.5, 0.5]), jnp.array([0.2, 0.3, 0.5]))
    for run in (run_best_response, run_fictitious_play, run_regret_matching, run_logit_populations):
        with pytest.raises(TheoryError, match=r"player 1 have shape \(3, 2\).*\(2, 3\)"):
            run(tables, start)
        with pytest.raises(TheoryError, match="2 payoff tables and 1 starts"):
            run(tables, start[:1])
