"""Episodes that are cut off: after a number of steps, or earlier by chance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.core.errors import ComityError
from comity.games.transforms import TimeLimit

DILEMMA = comity.make_game("prisoners-dilemma", horizon=None)


def _lengths(game: TimeLimit, episodes: int) -> np.ndarray:
    assert game.horizon is not None
    steps = game.horizon

    def play(key: jax.Array) -> jax.Array:
        keys = jax.random.split(key, steps + 1)
        state, _ = game.reset(keys[0])

        def step(state: object, key: jax.Array) -> tuple[object, jax.Array]:
            state, found = game.step(key, state, (jnp.int32(0), jnp.int32(0)))
            return state, found.truncated

        return 1 + jax.lax.scan(step, state, keys[1:])[1].argmax()

    return np.asarray(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), episodes)))


def test_episodes_last_so_many_steps_or_end_by_chance_before() -> None:
    assert (_lengths(TimeLimit(game=DILEMMA, horizon=20), 50) == 20).all()
    lengths = _lengths(TimeLimit(game=DILEMMA, horizon=20, end_chance=0.1), 2000)
    assert (lengths.min(), lengths.max()) == (1, 20)
    expected = (1 - 0.9**20) / 0.1  # the mean of a geometric length that is cut off at 20: 8.8
    assert lengths.mean() == pytest.approx(expected, abs=5 * lengths.std() / 2000**0.5)


def test_a_chance_that_ends_everything_at_once_is_refused() -> None:
    with pytest.raises(ComityError, match="end_chance"):
        TimeLimit(game=DILEMMA, end_chance=1.0)
