"""Memory-one strategies, zero-determinant strategies, the folk theorem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.theory import (
    MemoryOne,
    NormalFormGame,
    TheoryError,
    best_reply,
    enforce_line,
    equaliser,
    extortioner,
    generous,
    grim_trigger_discount,
    named_game,
    payoff_region,
    pure_equilibria,
    repeated_values,
)
from comity.theory.repeated.memory_one import always, grim_trigger, tit_for_tat, win_stay_lose_shift

DILEMMA = named_game("prisoners-dilemma")
probability = st.floats(0, 1)
memory_one = st.builds(lambda first, after: MemoryOne(first, np.array(after)), probability,
                       st.lists(probability, min_size=4, max_size=4))  # fmt: skip


def test_values_by_hand():
    np.testing.assert_allclose(repeated_values(DILEMMA, tit_for_tat(), tit_for_tat(), 0.9), [3, 3])
    # Tit for tat is fooled once by a defector, then both are punished.
    np.testing.assert_allclose(
        repeated_values(DILEMMA, tit_for_tat(), always(0.0), 0.9), [0.9 * 1, 0.1 * 5 + 0.9 * 1], atol=1e-12
    )
    # Win-stay lose-shift against a defector alternates between sucker and punishment.
    row = repeated_values(DILEMMA, win_stay_lose_shift(), always(0.0), 0.5)[0]
    assert row == pytest.approx((0.5 * 1) / (1 + 0.5))
    # Two that take turns: CD, DC, CD, ...
    turns = MemoryOne(1.0, np.array([0.0, 0.0, 1.0, 0.0])), MemoryOne(0.0, np.array([0.0, 0.0, 1.0, 0.0]))
    np.testing.assert_allclose(repeated_values(DILEMMA, *turns, 0.8), [0.8 * 5 / 1.8, 5 / 1.8], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(memory_one, memory_one, st.floats(0, 0.95))
def test_values_are_the_sum_of_rounds(row, column, discount):
    state = np.outer([row.first, 1 - row.first], [column.first, 1 - column.first]).ravel()
    p, q = row.after, column.after[[0, 2, 1, 3]]
    transition = np.stack([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], axis=1)
    total = np.zeros(2)
    for t in range(800):
        total += (1 - discount) * discount**t * (DILEMMA.payoffs.reshape(2, 4) @ state)
        state = state @ transition
    np.testing.assert_allclose(repeated_values(DILEMMA, row, column, discount), total, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(memory_one, st.floats(0, 0.95), st.integers(0, 1))
def test_best_reply_beats_all_deterministic_memory_one_strategies(opponent, discount, player):
    game = NormalFormGame(np.random.default_rng(0).normal(size=(2, 2, 2)))
    found = best_reply(game, opponent, discount, player)
    values = []
    for bits in np.ndindex(2, 2, 2, 2, 2):
        reply = MemoryOne(float(bits[0]), np.array(bits[1:], dtype=float))
        first, second = (reply, opponent) if player == 0 else (opponent, reply)
        values.append(repeated_values(game, first, second, discount)[player])
    assert found.value == pytest.approx(max(values), abs=1e-9)
    first, second = (found.strategy, opponent) if player == 0 else (opponent, found.strategy)
    assert repeated_values(game, first, second, discount)[player] == pytest.approx(found.value, abs=1e-9)


def test_tit_for_tat_deserves_cooperation_from_the_patient():
    assert best_reply(DILEMMA, tit_for_tat(), 0.9).value == pytest.approx(3.0)
    impatient = best_reply(DILEMMA, tit_for_tat(), 0.1, current=always(1.0))
    assert impatient.value == pytest.approx(0.9 * 5 + 0.1 * 1)
    assert impatient.gain == pytest.approx(impatient.value - 3.0)


@settings(max_examples=20, deadline=None)
@given(memory_one, st.sampled_from([0.8, 0.95, 0.999]), st.integers(0, 1))
def test_zero_determinant_strategies_enforce_their_line(opponent, discount, player):
    def values(strategy):
        pair = (strategy, opponent) if player == 0 else (opponent, strategy)
        earned = repeated_values(DILEMMA, *pair, discount)
        return earned[player], earned[1 - player]

    own, other = values(extortioner(DILEMMA, 3.0, discount, player))
    assert own - 1 == pytest.approx(3 * (other - 1), abs=1e-8)
    own, other = values(generous(DILEMMA, 2.0, discount, player))
    assert own - 3 == pytest.approx(2 * (other - 3), abs=1e-8)
    own, other = values(equaliser(DILEMMA, 2.0, discount, player))
    assert other == pytest.approx(2.0, abs=1e-8)


def test_impossible_lines_are_refused():
    with pytest.raises(TheoryError, match="No memory-one strategy enforces"):
        equaliser(DILEMMA, 4.5, 0.9)
    with pytest.raises(TheoryError, match="No memory-one strategy enforces"):
        enforce_line(DILEMMA, 1.0, 0.0, -2.0, 0.9)  # nobody can fix their own payoff in the dilemma


def test_payoff_region_of_the_prisoners_dilemma():
    region = payoff_region(DILEMMA)
    np.testing.assert_allclose(region.minimax, [1, 1], atol=1e-9)
    expected = np.array([[1, 1], [13 / 3, 1], [3, 3], [1, 13 / 3]])
    np.testing.assert_allclose(region.rational, expected, atol=1e-9)
    np.testing.assert_allclose(region.feasible, [[0, 5], [1, 1], [5, 0], [3, 3]])


def test_flat_payoff_regions():
    pennies = payoff_region(named_game("matching-pennies"))
    np.testing.assert_allclose(pennies.feasible, [[-1, 1], [1, -1]])
    np.testing.assert_allclose(pennies.rational, [[0, 0]], atol=1e-9)
    point = payoff_region(NormalFormGame(np.ones((2, 2, 2))))
    np.testing.assert_allclose(point.rational, [[1, 1]])


def test_grim_trigger_sustains_cooperation_from_one_half():
    (defection,) = pure_equilibria(DILEMMA)
    needed = grim_trigger_discount(DILEMMA, (0, 0), defection.strategies)
    assert needed == pytest.approx(0.5)
    # Just above it deviating does not pay against grim trigger, just below it does.
    for discount, pays in ((0.51, False), (0.49, True)):
        assert (best_reply(DILEMMA, grim_trigger(), discount).value > 3 + 1e-9) is pays
    assert grim_trigger_discount(DILEMMA, (0, 1), defection.strategies) is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: repeated_values(DILEMMA, always(1), always(1), 1.0), "0.999 for patient players"),
        (lambda: repeated_values(DILEMMA, always(1.5), always(1), 0.9), "between 0 and 1 would work"),
        (lambda: repeated_values(named_game("shapley"), always(1), always(1), 0.9), "2 actions each"),
        (lambda: grim_trigger_discount(DILEMMA, (0, 0), DILEMMA.pure((0, 0))), "not an equilibrium"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(TheoryError, match=sentence):
        call()
