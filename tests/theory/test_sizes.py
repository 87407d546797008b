"""Payoffs of very different sizes, and inputs that a user would write in another way."""

import time

import jax.numpy as jnp
import numpy as np
import pytest

from comity.theory import (
    CoalitionalGame,
    NormalFormGame,
    TheoryError,
    bankruptcy,
    banzhaf_index,
    correlated_equilibrium,
    extortioner,
    generous,
    gloves,
    nucleolus,
    price_of_selfishness,
    quantal_response,
    read_coalitions,
    read_game,
    repeated_values,
    run_best_response,
    run_fictitious_play,
    run_logit,
    run_logit_populations,
    run_regret_matching,
    run_replicator,
    run_two_populations,
    support_enumeration,
    vertex_enumeration,
    weighted_votes,
)
from comity.theory.analysis import analyse_game
from comity.theory.equilibria.lemke_howson import lemke_howson_all_labels
from comity.theory.equilibria.taming import tame
from comity.theory.repeated.memory_one import always, tit_for_tat

BOTH = pytest.mark.parametrize("solve", [vertex_enumeration, support_enumeration])


def spoiled_rock_paper_scissors(worst):
    """Rock-paper-scissors with a fourth action that is as bad for who plays it as `worst`."""
    row = np.zeros((4, 4))
    row[:3, :3] = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    row[3, :] = worst
    return NormalFormGame.from_bimatrix(row, row.T)


@BOTH
@pytest.mark.parametrize("worst", [-2.0, -1e6, -1e9, -1e12])
def test_a_dreadful_action_changes_nothing(solve, worst):
    (found,) = solve(spoiled_rock_paper_scissors(worst))
    for strategy in found.strategies:
        np.testing.assert_allclose(strategy, [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-12)
    assert found.regret < 1e-8


@BOTH
@pytest.mark.parametrize("prize", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("size", [4, 5])
def test_coordination_with_one_large_prize_has_all_its_equilibria(solve, prize, size):
    table = np.diag([prize, *np.ones(size - 1)])
    found = solve(NormalFormGame.from_bimatrix(table, table))
    assert len(found) == 2**size - 1
    for each in found:
        assert each.regret <= 1e-8
        weights = np.where(each.strategies[0] > 0, each.strategies[0] * np.diag(table), np.nan)
        assert np.nanmax(weights) == pytest.approx(np.nanmin(weights), rel=1e-6)


@BOTH
@pytest.mark.parametrize("sucker", [-1e3, -1e9, -1e12])
def test_a_dilemma_with_a_ruined_sucker_has_one_equilibrium(solve, sucker):
    row = np.array([[3.0, sucker], [5.0, 1.0]])
    (found,) = solve(NormalFormGame.from_bimatrix(row, row.T))
    assert found.regret == 0.0
    np.testing.assert_array_equal(found.strategies, [[0, 1], [0, 1]])


def test_taming_keeps_best_responses():
    rng = np.random.default_rng(0)
    for _ in range(50):
        row, column = rng.normal(size=(2, 4, 3)) * 10.0 ** rng.integers(-3, 4, size=(2, 4, 3))
        tamed = tame(row, column)
        assert tamed.row.min() >= 0.0
        assert tamed.row.max() <= 1.0
        x, y = (rng.dirichlet(np.ones(k)) for k in tamed.row.shape)
        whole_x, whole_y = tamed.strategies(x, y)
        assert tamed.rows[np.argmax(tamed.row @ y)] == np.argmax(row @ whole_y)
        assert tamed.columns[np.argmax(x @ tamed.column)] == np.argmax(whole_x @ column)


def test_zero_determinant_strategies_in_a_game_with_other_units():
    """The standard dilemma with the other's payoffs doubled: a factor is between the surpluses of each."""
    game = NormalFormGame.from_bimatrix([[3, 0], [5, 1]], [[6, 10], [0, 2]])
    for make, own, other in ((extortioner, 1.0, 2.0), (generous, 3.0, 6.0)):
        strategy = make(game, 1.5, 0.95)
        for opponent in (always(1.0), always(0.5), tit_for_tat()):
            values = repeated_values(game, strategy, opponent, 0.95)
            assert values[0] - own == pytest.approx(1.5 * (values[1] - other), abs=1e-9)


def test_pure_starts_may_be_whole_numbers():
    table = np.array([[3, 0], [5, 1]])
    start = ([1, 0], [0, 1])
    for run in (run_best_response, run_fictitious_play, run_logit_populations):
        x, y = run((table, table.T), start, steps=3)
        np.testing.assert_array_equal(x[0], [1.0, 0.0])
        np.testing.assert_array_equal(y[0], [0.0, 1.0])
    assert run_regret_matching((table, table.T), start, 3).joint.shape == (2, 2)
    np.testing.assert_array_equal(run_replicator(table, np.array([1, 0]), 3)[-1], [1.0, 0.0])
    run_logit(table, np.array([1, 0]), steps=3)
    run_two_populations(table, table.T, (np.array([1, 0]), np.array([0, 1])), 3)


def test_any_players_table_may_carry_the_games():
    row = jnp.array([[3.0, 0.0], [5.0, 1.0]])
    columns = jnp.stack([row.T + k for k in range(5)])
    start = (jnp.array([0.5, 0.5]), jnp.array([0.5, 0.5]))
    for run in (run_best_response, run_fictitious_play, run_logit_populations):
        assert [path.shape for path in run((row, columns), start, steps=4)] == [(5, 5, 2)] * 2
    assert run_regret_matching((row, columns), start, 4).joint.shape == (5, 2, 2)
    assert run_two_populations(row, columns, start, 4)[1].shape == (5, 5, 2)


def test_a_zero_sum_game_has_no_price():
    game = NormalFormGame.from_bimatrix([[2, 0], [1, 7]], [[-2, 0], [-1, -7]])
    price = price_of_selfishness(game, vertex_enumeration(game))
    assert price.anarchy is None
    assert price.stability is None


def test_the_whole_estate_and_small_weights():
    np.testing.assert_allclose(nucleolus(bankruptcy(0.9, [0.7, 0.1, 0.1])), [0.7, 0.1, 0.1], atol=1e-9)
    votes = weighted_votes([2e-10, 1e-10, 1e-10], 3e-10)
    np.testing.assert_array_equal(votes.worth, weighted_votes([2, 1, 1], 3).worth)


def test_what_cannot_be_done_is_said():
    with pytest.raises(TheoryError, match="undefined"):
        banzhaf_index(CoalitionalGame(np.array([0, 0.1, 0.2, 0.3, -0.3, -0.2, -0.1, 0])))
    with pytest.raises(TheoryError, match="left is -1"):
        gloves(-1, 3)
    with pytest.raises(TheoryError, match="regret matching"):
        correlated_equilibrium(NormalFormGame(np.zeros((2, 400, 400))))
    game = NormalFormGame.from_bimatrix([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    found = quantal_response(game, 1.0, prior=np.full((2, 2), 0.5))
    np.testing.assert_allclose(found.strategies, quantal_response(game, 1.0).strategies)


HUGE = "1" + "0" * 400


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.json", f'{{"payoffs": [[[{HUGE}, 1], [2, 3]], [[1, 2], [3, 4]]]}}', read_game),
        ("a.json", f'{{"row": [[{HUGE}, 1], [2, 3]]}}', read_game),
        ("a.json", f'{{"row": [[{"9" * 5000}, 1], [2, 3]]}}', read_game),
        ("a.json", "[" * 100_000, read_game),
        ("a.csv", "1" * 200_000 + ",2\n3,4\n", read_game),
        ("a.json", f'{{"worth": {{"a": {HUGE}, "b": 1, "a,b": 3}}}}', read_coalitions),
        ("a.json", f'{{"weights": [1, 2], "quota": {HUGE}}}', read_coalitions),
        ("a.json", f'{{"estate": {HUGE}, "claims": [1, 2]}}', read_coalitions),
    ],
)
def test_monstrous_files_are_refused(tmp_path, name, text, read):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TheoryError, match=r"would work|give one each"):
        read(path)


def test_a_large_game_is_solved_in_seconds_and_left_when_its_time_is_over():
    random = np.random.default_rng(0)
    payoffs = random.normal(size=(2, 60, 60))
    game = NormalFormGame(payoffs)
    begun = time.process_time()
    with pytest.raises(TheoryError, match="not solved within 0 seconds; more time would work"):
        correlated_equilibrium(game, seconds=0.5)  # less than its first step takes on a busy machine
    assert time.process_time() - begun < 1.0
    report = analyse_game(game, seconds=1e-3)
    assert "correlated" not in report
    assert any(note.startswith("correlated: The linear program was not solved") for note in report["notes"])
    assert report["equilibria"]


@pytest.mark.long
def test_the_correlated_equilibrium_of_sixty_actions_each_takes_a_tenth_of_what_it_took():
    payoffs = np.random.default_rng(0).normal(size=(2, 60, 60))
    begun = time.process_time()
    found = correlated_equilibrium(NormalFormGame(payoffs))
    assert time.process_time() - begun < 15.2  # a tenth of 152 CPU-seconds; 3 to 5 here
    assert found.regret < 1e-6
    best_nash = max(e.payoffs.sum() for e in lemke_howson_all_labels(NormalFormGame(payoffs)))
    assert found.payoffs.sum() >= best_nash - 1e-6
