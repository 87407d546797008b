"""Measures of diversity, on cases whose answer is known."""

import numpy as np
import pytest

import comity
from comity.core.errors import ComityError
from comity.evaluate.diversity import (
    behaviour_distances,
    determinant_diversity,
    mean_distance_to_others,
    response_diversity,
)


def test_who_does_the_opposite_is_at_distance_one() -> None:
    """Along what they brought about; tit-for-tat does as whoever brought it about."""
    game = comity.make_game("prisoners-dilemma", horizon=5)
    names = ["always-cooperate", "always-defect", "tit-for-tat", "always-cooperate"]
    players = [comity.load_player(name, game) for name in names]
    found = behaviour_distances(game, players, episodes=2)
    np.testing.assert_allclose(np.diag(found), 0.0, atol=1e-6)
    np.testing.assert_allclose(found, found.T, atol=1e-6)
    assert found[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert found[0, 3] == pytest.approx(0.0, abs=1e-6)
    # One of the four sources is the defector's self-play: tit-for-tat defects in 4 of its 5 steps.
    assert found[0, 2] == pytest.approx(0.25 * 4 / 5, abs=1e-6)
    np.testing.assert_allclose(mean_distance_to_others(found)[1], (1 + 1 + found[1, 2]) / 3, rtol=1e-6)


def test_numbers_are_compared_too() -> None:
    game = comity.make_game("simple-spread", horizon=3)
    with pytest.raises(ComityError, match="fixed length"):
        behaviour_distances(comity.make_game("prisoners-dilemma", horizon=None), [])
    players = [comity.load_player("random", game)] * 2
    found = behaviour_distances(game, players, episodes=1)
    np.testing.assert_allclose(found, 0.0, atol=0.05)  # both draw evenly


def test_the_determinant_is_zero_for_twins_and_one_for_strangers() -> None:
    assert determinant_diversity(np.zeros((2, 2))) == pytest.approx(0.0, abs=1e-12)
    far = 100.0 * (1.0 - np.eye(3))
    assert determinant_diversity(far) == pytest.approx(1.0)
    near = np.array([[0.0, 0.5], [0.5, 0.0]])
    assert determinant_diversity(near) == pytest.approx(1.0 - np.exp(-1.0))  # k = exp(-1/2), det = 1 - k^2


def test_response_diversity_counts_kinds_by_what_they_earn() -> None:
    """With M = c I it is n c^2 / (1 + c^2); players who earn the same are one kind."""
    assert response_diversity(2.0 * np.eye(3)) == pytest.approx(3 * 4 / 5)
    assert response_diversity(np.zeros((3, 3))) == pytest.approx(0.0)
    twins = np.array([[100.0, 0.0], [100.0, 0.0]])
    assert response_diversity(twins) == pytest.approx(1.0, abs=1e-3)
    rock = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    assert response_diversity(rock) == pytest.approx(2 * 3 / 4)  # eigenvalues of M M^T: 3, 3, 0
