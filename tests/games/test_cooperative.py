"""Games of common interest: their rules, and the answers that are known."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.games.cooperative import Climbing, Penalty, TwoStep
from comity.games.foraging import Foraging, ForagingState

STAY, NORTH, SOUTH, WEST, EAST, LOAD = range(6)


def ints(*values: int) -> tuple[jax.Array, ...]:
    return tuple(jnp.int32(v) for v in values)


def test_the_best_joint_actions_are_the_known_ones() -> None:
    climbing, penalty = Climbing().payoffs, Penalty(penalty=-100.0).payoffs
    assert climbing.max() == 11.0
    assert climbing[0, 0, 1] == climbing[0, 1, 0] == -30.0
    assert np.argwhere(penalty[0] == 10.0).tolist() == [[0, 2], [2, 0]]
    assert penalty[0, 0, 0] == penalty[0, 2, 2] == -100.0
    np.testing.assert_array_equal(climbing[0], climbing[1])
    with pytest.raises(ComityError, match="penalty"):
        Penalty(penalty=1.0)


def test_two_steps() -> None:
    game = TwoStep()
    for first, a, b in itertools.product(range(2), repeat=3):
        state, _ = game.reset(jax.random.key(0))
        state, step = game.step(jax.random.key(0), state, ints(first, 1))
        assert (float(step.reward[0]), bool(step.terminated)) == (0.0, False)
        assert int(step.obs[0]) == 1 + first
        _, step = game.step(jax.random.key(0), state, ints(a, b))
        assert float(step.reward[1]) == (7.0 if first == 0 else [[0, 1], [1, 8]][a][b])
        assert bool(step.terminated)


def field(
    agents: list[list[int]], levels: list[int], food: list[list[int]], needs: list[int]
) -> ForagingState:
    needed = jnp.asarray(needs, jnp.int32)
    return ForagingState(
        jnp.asarray(agents, jnp.int32), jnp.asarray(levels, jnp.int32), jnp.asarray(food, jnp.int32),
        needed, needed.sum(), jnp.int32(0),
    )  # fmt: skip


def test_food_is_lifted_by_enough_levels_and_paid_by_share() -> None:
    game = Foraging()
    state = field([[1, 1], [3, 1]], [1, 2], [[2, 1], [4, 4]], [3, 1])
    _, alone = game.step(jax.random.key(0), state, ints(STAY, LOAD))
    assert [float(r) for r in alone.reward] == [0.0, 0.0]
    after, both = game.step(jax.random.key(0), state, ints(LOAD, LOAD))
    np.testing.assert_allclose([float(r) for r in both.reward], [3 / 4 * 1 / 3, 3 / 4 * 2 / 3], rtol=1e-6)
    assert after.food_levels.tolist() == [0, 1]
    assert not bool(both.terminated)
    assert both.obs[0][:3].tolist() == [-1.0, -1.0, 0.0]
    last = after._replace(agents=jnp.asarray([[4, 3], [0, 0]], jnp.int32))
    _, end = game.step(jax.random.key(0), last, ints(LOAD, STAY))
    assert bool(end.terminated)
    np.testing.assert_allclose(float(end.reward[0]), 1 / 4)


def test_walls_food_and_each_other_block() -> None:
    game = Foraging(players=3)
    state = field([[0, 0], [1, 1], [1, 3]], [1, 1, 1], [[2, 1], [4, 4]], [1, 1])
    after, _ = game.step(jax.random.key(0), state, ints(NORTH, SOUTH, WEST))
    assert after.agents.tolist() == [[0, 0], [1, 1], [1, 2]]
    # Two who want one cell stay; who wants the place of one that stays, stays too.
    state = field([[0, 0], [0, 2], [0, 3]], [1, 1, 1], [[2, 1], [4, 4]], [1, 1])
    after, _ = game.step(jax.random.key(0), state, ints(EAST, WEST, WEST))
    assert after.agents.tolist() == [[0, 0], [0, 2], [0, 3]]
    after, _ = game.step(jax.random.key(0), state, ints(STAY, WEST, WEST))
    assert after.agents.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_fields_are_drawn_by_the_rules() -> None:
    game = Foraging(players=3, food=4, together=True, max_level=3)
    states, _ = jax.vmap(game.reset)(jax.random.split(jax.random.key(0), 200))
    for i in range(200):
        cells = [tuple(c) for c in np.concatenate([states.agents[i], states.food[i]]).tolist()]
        assert len(set(cells)) == 7
        food = np.asarray(states.food[i])
        assert food.min() >= 1
        assert food.max() <= 4
        apart = np.abs(food[:, None] - food[None]).sum(axis=-1) + 9 * np.eye(4)
        assert apart.min() > 1
        assert (np.asarray(states.food_levels[i]) == int(states.levels[i].sum())).all()
    assert set(np.asarray(states.levels).ravel().tolist()) == {1, 2, 3}


def test_loading_in_vain_costs_what_was_said() -> None:
    game = Foraging(penalty=0.25)
    state = field([[0, 0], [3, 1]], [1, 2], [[2, 1], [4, 4]], [3, 1])
    _, step = game.step(jax.random.key(0), state, ints(LOAD, LOAD))
    assert [float(r) for r in step.reward] == [-0.25, -0.25]


def test_fields_that_are_too_small_are_refused() -> None:
    with pytest.raises(ComityError, match="food"):
        Foraging(width=3, height=3, food=2)
    with pytest.raises(ComityError, match="width"):
        Foraging(width=2)
