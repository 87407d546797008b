"""The meta-game pays the inner game's exact values, and its co-players learn as naive learners do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from comity.core.errors import ComityError
from comity.games.matrix import PrisonersDilemma
from comity.games.meta import MetaGame, MetaState
from comity.play.specs import make_game
from comity.returns.differentiable import naive

# Logits of cooperation after start, CC, CD, DC, DD.
TIT_FOR_TAT = jnp.asarray([5.0, 5.0, -5.0, 5.0, -5.0])
ALWAYS_DEFECT = jnp.full(5, -5.0)


def two(column: Array) -> Array:
    """A table of both logits."""
    return jnp.stack([column, jnp.zeros_like(column)], axis=1)


def test_a_step_pays_the_exact_value_and_then_the_co_player_follows_its_gradient() -> None:
    game = MetaGame(step_size=0.7)
    state, obs = game.reset(jax.random.key(3))
    own = jnp.asarray([0.5, 1.0, -0.3, 0.2, -2.0])
    after, step = jax.jit(game.step)(jax.random.key(0), state, (own,))

    inner = PrisonersDilemma()

    def values(params: tuple[Array, ...]) -> Array:
        return inner.exact_returns(tuple(jax.nn.softmax(two(x)) for x in params), 0.96)

    other = state.tables[1][:, 0]
    expected = values((own, other))
    np.testing.assert_allclose(step.reward[0], (1 - 0.96) * expected[0], rtol=1e-5)
    way = naive(values, (own, other))[1]
    np.testing.assert_allclose(after.tables[1][:, 0], other + 0.7 * way, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(obs[0][5:], jax.nn.sigmoid(other), rtol=1e-5)
    np.testing.assert_allclose(step.obs[0][:5], jax.nn.sigmoid(own), rtol=1e-5)


@pytest.mark.parametrize(("policy", "learns"), [(TIT_FOR_TAT, 1.0), (ALWAYS_DEFECT, 0.0)])
def test_a_naive_learner_learns_to_cooperate_with_tit_for_tat_only(policy: Array, learns: float) -> None:
    game = MetaGame(horizon=200)

    def play(key: Array) -> Array:
        def step(state: MetaState, _: None) -> tuple[MetaState, Array]:
            state, answer = game.step(key, state, (policy,))
            return state, answer.reward[0]

        state, _ = game.reset(key)
        state, _ = jax.lax.scan(step, state, None, length=200)
        probabilities = jax.nn.sigmoid(state.tables[1][:, 0])
        return probabilities[1] if learns else probabilities[4]  # after CC, after DD

    found = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(1), 8))
    assert abs(float(found.mean()) - learns) < 0.2


def test_with_as_many_shapers_as_players_nobody_learns() -> None:
    game = MetaGame(shapers=2)
    assert len(game.seats) == 2
    assert game.symmetric
    state, _ = game.reset(jax.random.key(0))
    after, step = jax.jit(game.step)(jax.random.key(0), state, (TIT_FOR_TAT, ALWAYS_DEFECT))
    np.testing.assert_array_equal(after.tables[1][:, 0], ALWAYS_DEFECT)
    # After one step of being exploited, both defect: .04 of -3 and 0, the rest -2, but for logits of 5.
    np.testing.assert_allclose([float(r) for r in step.reward], [-2.03, -1.93], atol=0.03)


def test_an_inner_game_without_exact_values_is_refused() -> None:
    with pytest.raises(ComityError, match="inner game of a meta-game"):
        MetaGame(game=make_game("negotiation"))
    with pytest.raises(ComityError, match="shapers"):
        MetaGame(shapers=3)
