"""Measures of emergent language, on small languages worked out by hand."""

import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.evaluate.language import (
    bag_of_symbols_disentanglement,
    causal_influence,
    dictionary,
    edit_distance,
    entropy,
    instantaneous_coordination,
    mutual_information,
    positional_disentanglement,
    reward_per_bit,
    shuffled,
    speaker_consistency,
    topographic_similarity,
)

GRID = np.indices((4, 4)).reshape(2, -1).T  # 16 meanings of two attributes of four values


def test_information_by_hand():
    four = np.array([[0], [1], [2], [3]])
    assert entropy(four) == 2.0
    assert entropy(np.zeros((5, 2), int)) == 0.0
    assert entropy(np.array([[0], [0], [0], [1]])) == pytest.approx(0.811278, abs=1e-6)
    assert mutual_information(four, four) == 2.0
    assert mutual_information(four, four // 2) == 1.0
    assert mutual_information(GRID[:, :1], GRID[:, 1:]) == 0.0
    assert mutual_information(GRID, GRID[:, ::-1]) == 4.0
    assert instantaneous_coordination(four, 3 - four) == 2.0


def test_shuffled_messages_say_nothing_but_the_bias_of_small_samples():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 4, (2000, 1))
    assert mutual_information(words, words) == pytest.approx(2.0, abs=0.01)
    expected = 9 / (2 * np.log(2) * 2000)  # (4 - 1)(4 - 1) / (2 ln 2 n)
    assert shuffled(mutual_information, words, words) == pytest.approx(expected, rel=0.5)


def test_a_language_that_names_attributes_in_places():
    assert positional_disentanglement(GRID, GRID) == 1.0
    assert positional_disentanglement(GRID, GRID[:, ::-1]) == 1.0
    assert topographic_similarity(GRID, GRID) == pytest.approx(1.0)
    # The same symbols stand for both attributes, so that what is counted says little: bosdis is not 1.
    assert bag_of_symbols_disentanglement(GRID, GRID) < 0.3
    constant = np.concatenate([GRID, np.zeros((16, 1), int)], axis=1)
    assert positional_disentanglement(GRID, constant) == 1.0


def test_a_language_that_names_attributes_in_any_order():
    """Symbols 0 to 3 for the first attribute, 4 to 7 for the second, in either order."""
    words = np.stack([GRID[:, 0], GRID[:, 1] + 4], axis=1)
    swapped = np.where((GRID.sum(axis=1) % 2 == 0)[:, None], words, words[:, ::-1])
    assert bag_of_symbols_disentanglement(GRID, swapped) == pytest.approx(1.0)
    assert positional_disentanglement(GRID, swapped) < 0.6


def test_finite_samples_as_known_from_others():
    """1,000 samples of 2 attributes of 10 values: not 1, since I of independent ones is 81 / (2 ln 2 1,000).

    EGG's documentation has .979 for such a sample.
    """
    expected = 1 - 81 / (2 * np.log(2) * 1000) / np.log2(10)
    for seed in range(3):
        words = np.random.default_rng(seed).integers(0, 10, (1000, 2))
        assert positional_disentanglement(words, words) == pytest.approx(expected, abs=0.005)


def test_one_attribute_mixed_into_both_places_by_hand():
    """Two binary attributes x, y; the message is (x xor y, y): the first place says nothing of either
    alone."""
    grid = np.indices((2, 2)).reshape(2, -1).T
    words = np.stack([grid[:, 0] ^ grid[:, 1], grid[:, 1]], axis=1)
    assert positional_disentanglement(grid, words) == 0.5
    # Meanings apart (Hamming): 1 1 2 2 1 1; messages apart: 2 1 1 1 1 2. Ranks: means of ties.
    far, apart = np.array([2.5, 2.5, 5.5, 5.5, 2.5, 2.5]), np.array([5.5, 2.5, 2.5, 2.5, 2.5, 5.5])
    assert topographic_similarity(grid, words) == pytest.approx(np.corrcoef(far, apart)[0, 1])


def test_edit_distance_and_the_end_of_a_message():
    assert edit_distance((1, 2, 3), (2, 3)) == 1
    assert edit_distance((1, 2, 3), (3, 2, 1)) == 2
    assert edit_distance((), (5, 5)) == 2
    assert edit_distance((1, 2, 3, 4), (1, 3, 4, 5)) == 2
    meanings = np.array([[0], [1], [1]])
    noise = np.array([[3, 9, 7], [4, 9, 7], [4, 9, 2]])  # nothing after the end, 9, counts
    assert topographic_similarity(meanings, noise, end=9) == pytest.approx(1.0)
    assert topographic_similarity(meanings, noise) < 1.0
    assert topographic_similarity(meanings, np.zeros((3, 2), int)) == 0.0


def test_speakers_that_mean_what_they_say():
    words = np.array([[0], [1], [0], [1]])
    assert speaker_consistency(words, words) == 1.0
    assert speaker_consistency(words, np.array([[0], [0], [1], [1]])) == 0.0
    assert speaker_consistency(np.zeros((4, 1), int), words) == 0.0
    four = np.array([[0], [1], [2], [3]])
    assert speaker_consistency(four, four // 2) == 0.5


def test_causal_influence_by_hand():
    listens = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    deaf = np.array([[[0.3, 0.7], [0.3, 0.7]], [[1.0, 0.0], [1.0, 0.0]]])
    assert causal_influence(listens) == 1.0  # two messages, two actions: one bit
    assert causal_influence(deaf) == pytest.approx(0.0)
    assert causal_influence(np.concatenate([listens, deaf])) == pytest.approx(1 / 3)
    # Where one message is nearly always said, it is hardly news: H(.9, .1) = .469 bits.
    assert causal_influence(listens, np.array([[0.9, 0.1]])) == pytest.approx(0.468996, abs=1e-6)


def test_dictionary_and_reward_per_bit():
    meanings, words = np.array([[0], [0], [0], [1]]), np.array([[2], [3], [2], [5]])
    assert dictionary(meanings, words) == {(0,): {(2,): 2 / 3, (3,): 1 / 3}, (1,): {(5,): 1.0}}
    assert reward_per_bit(0.75, 0.25, 2.0) == 0.25


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: entropy(np.zeros((2, 2))), "whole numbers"),
        (lambda: mutual_information(GRID, GRID[:3]), "as many in both"),
        (lambda: topographic_similarity(GRID[:2], GRID[:2]), "at least 3"),
        (lambda: topographic_similarity(np.zeros((4000, 1), int), np.zeros((4000, 1), int)), "pairs"),
        (lambda: bag_of_symbols_disentanglement(GRID, GRID, 2), "vocabulary"),
        (lambda: causal_influence(np.ones((1, 2, 2))), "summing to 1"),
        (lambda: reward_per_bit(1.0, 0.0, 0.0), "bits"),
    ],
)
def test_what_cannot_be_measured_is_refused(call, said, unchecked):
    with pytest.raises(ComityError, match=said):
        call()
