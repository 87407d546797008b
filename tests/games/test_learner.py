"""The learner of the learner-game follows its policy gradient, and learns what naive learners learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from comity.api import scripted_player
from comity.core.errors import ComityError
from comity.games.coin import CoinGame
from comity.games.learner import LearnerEpisode, LearnerGame, policy_gradient, seen_from_oneself
from comity.games.matrix import PrisonersDilemma
from comity.play.match import play
from comity.play.specs import make_game


def test_the_learner_follows_its_policy_gradient() -> None:
    """Against automatic differentiation, with returns and their comparison in slow loops."""
    keys = jax.random.split(jax.random.key(0), 4)
    steps, games, width, actions = 5, 3, 4, 3
    episode = LearnerEpisode(
        jax.random.normal(keys[0], (steps, games, width)),
        jax.random.randint(keys[1], (steps, games), 0, actions),
        jax.random.normal(keys[2], (steps, games)),
    )
    weights = jax.random.normal(keys[3], (width, actions))
    returns, reward = np.zeros((steps, games)), np.asarray(episode.reward)
    for game in range(games):
        for t in range(steps):
            returns[t, game] = sum(0.9 ** (k - t) * reward[k, game] for k in range(t, steps))
    advantage = returns - returns.mean(axis=1, keepdims=True)
    advantage /= advantage.std() + 1e-3

    def gain(weights: Array) -> Array:
        chance = jax.nn.log_softmax(episode.features @ weights)
        chosen = jnp.take_along_axis(chance, episode.action[..., None], axis=-1)[..., 0]
        return (jnp.asarray(advantage) * chosen).mean()

    found = policy_gradient(weights, episode, 0.9)
    np.testing.assert_allclose(found, jax.grad(gain)(weights), rtol=1e-4, atol=1e-6)


def test_everything_is_seen_from_where_one_stands() -> None:
    planes = np.zeros((3, 3, 4), np.float32)
    planes[0, 1, 2] = 1.0  # me
    planes[1, 1, 3] = 1.0  # one to the right
    planes[2, 0, 2] = 1.0  # one up, which is the last row as seen from me
    seen = np.asarray(seen_from_oneself(jnp.asarray(planes))).reshape(2, 3, 4)
    assert seen[0, 0, 1] == 1.0
    assert seen[1, 2, 0] == 1.0
    assert seen.sum() == 2.0


@pytest.mark.long
def test_a_naive_learner_learns_to_take_every_coin() -> None:
    """So who always cooperates with it is exploited in the end."""
    game = LearnerGame(games=8)
    shaper = scripted_player("always-cooperate", CoinGame())
    played = play(game, (shaper,) * game.games, jax.random.key(0), 4, game.horizon)
    earned = np.stack(played.step.reward).mean(axis=(0, 2)).reshape(game.episodes, -1).mean(axis=1)
    assert earned[:2].mean() > 0.0
    assert earned[-5:].mean() < -0.15


def test_the_learner_starts_again_with_each_meta_episode() -> None:
    game = LearnerGame(game=PrisonersDilemma(horizon=4), games=2, episodes=2)
    state, obs = game.reset(jax.random.key(0))
    assert len(obs) == 2
    step = jax.jit(game.step)
    for t in range(game.horizon):
        before = state.weights
        state, answer = step(jax.random.key(t), state, (jnp.int32(0), jnp.int32(1)))
        learns = (t + 1) % 4 == 0
        assert bool(jnp.any(state.weights != before)) == learns
        assert bool(answer.truncated) == (t == game.horizon - 1)
    assert not bool(jnp.any(game.reset(jax.random.key(1))[0].weights))


def test_a_share_of_the_pay_is_the_mean_over_all_games() -> None:
    paid = []
    for shared in (0.0, 0.4, 1.0):
        game = LearnerGame(game=PrisonersDilemma(horizon=4), games=3, shared=shared)
        state, _ = game.reset(jax.random.key(0))
        acts = (jnp.int32(0), jnp.int32(1), jnp.int32(1))
        paid.append(np.stack(jax.jit(game.step)(jax.random.key(5), state, acts)[1].reward))
    own, part, whole = paid
    assert np.ptp(own) > 0
    np.testing.assert_allclose(whole, own.mean(), rtol=1e-5)
    np.testing.assert_allclose(part, 0.4 * own.mean() + 0.6 * own, rtol=1e-5)


def test_what_it_cannot_be_is_refused() -> None:
    with pytest.raises(ComityError, match="two players and a horizon"):
        LearnerGame(game=CoinGame(players=3))
    with pytest.raises(ComityError, match="two players and a horizon"):
        LearnerGame(game=CoinGame(horizon=None))
    with pytest.raises(ComityError, match="discrete actions"):
        LearnerGame(game=make_game("negotiation"))
    with pytest.raises(ComityError, match="games"):
        LearnerGame(games=1)
