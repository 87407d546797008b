"""Prioritised replay beside a linear scan: frequencies, weights, and what can be drawn at all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.learn.prioritised import PrioritisedReplay, PrioritisedState, importance_weights
from comity.learn.sum_tree import draw_places, empty_tree, find_places, priorities, set_priorities, total
from tests.learn.test_replay import GAMES, LENGTH, rollout


def filled(memory: PrioritisedReplay, rollouts: int) -> PrioritisedState:
    state = memory.init(jax.eval_shape(lambda: rollout(0)))
    for number in range(rollouts):
        state = memory.add(state, rollout(number * LENGTH))
    return state


@pytest.mark.parametrize("places", [1, 2, 5, 8, 13])
def test_the_tree_finds_what_a_linear_scan_finds(places: int) -> None:
    draws = np.random.default_rng(places)
    tree, plain = empty_tree(places), np.zeros(places, np.float32)
    for _ in range(20):
        where = draws.integers(0, places, 3)
        where = np.unique(where)
        value = draws.integers(0, 9, where.size).astype(np.float32)  # whole numbers: sums are exact
        tree = set_priorities(tree, jnp.asarray(where), jnp.asarray(value))
        plain[where] = value
        np.testing.assert_array_equal(priorities(tree)[:places], plain)
        assert float(total(tree)) == plain.sum()
        if plain.sum() > 0:
            mass = draws.uniform(0, 1, 50).astype(np.float32) * plain.sum()
            scanned = np.searchsorted(np.cumsum(plain), mass, side="right")
            np.testing.assert_array_equal(find_places(tree, jnp.asarray(mass)), scanned)


def test_places_are_drawn_as_often_as_their_priorities_say() -> None:
    priority = jnp.array([0.0, 1.0, 3.0, 0.0, 6.0])
    tree = set_priorities(empty_tree(5), jnp.arange(5), priority)
    place, probability = draw_places(tree, jax.random.uniform(jax.random.key(0), (10_000,)))
    counts = np.bincount(np.asarray(place), minlength=5)
    np.testing.assert_allclose(counts / 10_000, priority / 10.0, atol=0.001)  # one from each equal part
    np.testing.assert_allclose(probability, (priority / 10.0)[place], rtol=1e-6)


def test_importance_weights() -> None:
    weight = importance_weights(jnp.array([0.5, 0.25, 0.125]), 1.0)
    np.testing.assert_allclose(weight, [0.25, 0.5, 1.0])
    np.testing.assert_allclose(importance_weights(jnp.array([0.5, 0.25]), 0.0), 1.0)


@pytest.mark.parametrize("rollouts", [1, 2, 3, 4, 7])
def test_new_sequences_are_drawn_evenly_and_never_over_the_seam(rollouts: int) -> None:
    memory = PrioritisedReplay(capacity=8 * GAMES, batch=256, length=3, learning_starts=0)
    state = filled(memory, rollouts)
    batch = memory.sample(state, jax.random.key(rollouts))
    assert (np.diff(np.asarray(batch.reward), axis=0) == 100).all()
    last = rollouts * LENGTH
    firsts = {int(x) // 100 for x in np.unique(np.asarray(batch.reward[0]))}
    assert firsts == set(range(max(last - 8, 0), last - 2))
    assert batch.drawn is not None
    np.testing.assert_allclose(batch.drawn.importance, 1.0, rtol=1e-5)


def test_surprising_sequences_come_back_and_count_less() -> None:
    memory = PrioritisedReplay(
        capacity=6 * GAMES, batch=1000, learning_starts=0, priority_alpha=1.0, priority_beta=1.0
    )
    state = filled(memory, 2)
    batch = memory.sample(state, jax.random.key(0))
    surprise = jnp.where(batch.reward[0, 0] == 210, 9.0, 1.0) - memory.priority_epsilon  # step 2 of game 0
    again = memory.sample(memory.prioritise(state, batch, surprise), jax.random.key(1))
    assert again.drawn is not None
    found = np.asarray(again.reward[0, 0] == 210)
    assert found.mean() == pytest.approx(9 / 20, abs=0.005)
    np.testing.assert_allclose(again.drawn.importance[found], 1 / 9, rtol=1e-4)
    np.testing.assert_allclose(again.drawn.importance[~found], 1.0, rtol=1e-4)
    following = memory.add(memory.prioritise(state, batch, surprise), rollout(2 * LENGTH))
    assert float(priorities(following.tree).max()) == pytest.approx(9.0)  # new ones as the largest there was


def test_settings_out_of_range_name_the_field() -> None:
    with pytest.raises(ComityError, match=r"memory.priority_alpha = 2.0"):
        PrioritisedReplay(priority_alpha=2.0)
    with pytest.raises(ComityError, match=r"memory.priority_epsilon = 0.0"):
        PrioritisedReplay(priority_epsilon=0.0)
