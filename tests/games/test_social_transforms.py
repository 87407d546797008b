"""Inequity aversion and social value orientation: by hand, at the ends of their settings, and refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.games.transforms import InequityAversion, SocialValue
from comity.play.specs import make_game

KEY = jax.random.key(0)
C, D = jnp.int32(0), jnp.int32(1)


def rewards(game: Environment, *joint: tuple[jax.Array, ...]) -> np.ndarray:
    """What each seat learns from in each step of these joint actions, [time, seat]."""
    state, _ = game.reset(KEY)
    found = []
    for actions in joint:
        state, step = game.step(KEY, state, actions)
        found.append(step.reward)
    return np.asarray(found)


def test_inequity_by_hand() -> None:
    """The prisoner's dilemma pays (-3, 0) where the first alone cooperates, (-2, -2) where both defect."""
    game = InequityAversion(game=make_game("prisoners-dilemma"), envy=2.0, guilt=0.5, decay=0.5)
    first, second = rewards(game, (C, D), (D, D))
    # Earned lately: -3 and 0, so the first has 3 less; then -3.5 and -2, so it has 1.5 less.
    np.testing.assert_allclose(first, [-3.0 - 2.0 * 3.0, -0.5 * 3.0])
    np.testing.assert_allclose(second, [-2.0 - 2.0 * 1.5, -2.0 - 0.5 * 1.5])


def test_inequity_is_a_mean_over_the_others_and_ends_with_the_episode() -> None:
    game = InequityAversion(game=make_game("public-goods", players=3), envy=1.0, guilt=1.0, decay=0.9)
    state, _ = game.reset(KEY)
    state, step = game.step(KEY, state, (C, D, D))  # pot 2: 2/3 each, and the first gave 1
    np.testing.assert_allclose(np.asarray(step.reward), [-1 / 3 - 1.0, 2 / 3 - 0.5, 2 / 3 - 0.5], rtol=1e-5)
    assert [float(x) for x in step.game_reward] == pytest.approx([-1 / 3, 2 / 3, 2 / 3])
    again, _ = game.reset_where(KEY, state, jnp.bool_(True))
    np.testing.assert_array_equal(again.earned, 0.0)


def test_nothing_hurts_whom_nothing_hurts() -> None:
    plain = make_game("public-goods", players=3)
    joint = ((C, D, D), (D, D, C))
    expected = rewards(plain, *joint)
    np.testing.assert_array_equal(
        rewards(InequityAversion(game=plain, envy=0.0, guilt=0.0), *joint), expected
    )
    np.testing.assert_array_equal(rewards(SocialValue(game=plain, weight=0.0), *joint), expected)


def test_the_reward_angle_by_hand() -> None:
    """The first gets -3 and the other 0: 180 degrees. The second gets 0 and the other -3: -90."""
    game = SocialValue(game=make_game("prisoners-dilemma"), angle=45.0, weight=1.0)
    found = rewards(game, (C, D))[0]
    np.testing.assert_allclose(found, [-3.0 - np.deg2rad(135), 0.0 - np.deg2rad(135)], rtol=1e-6)
    coin = SocialValue(game=make_game("coin"), angle=90.0, weight=1.0)
    state, _ = coin.reset(KEY)
    gradient = jax.grad(lambda scale: scale * coin.step(KEY, state, (C, C))[1].reward[0])(1.0)
    assert np.isfinite(gradient)
    own = SocialValue(game=make_game("public-goods", players=3), angles=(0.0, 45.0, 90.0), weight=1.0)
    everybody = rewards(own, (C, C, C))[0]  # all earn 1: the angle is 45 degrees
    np.testing.assert_allclose(1.0 - everybody, np.deg2rad([45.0, 0.0, 45.0]), atol=1e-6)
    assert not own.symmetric


def test_where_nobody_is_paid_nothing_is_taken_off() -> None:
    quiet = SocialValue(game=make_game("public-goods", players=2, multiplier=0.0), angle=90.0, weight=5.0)
    np.testing.assert_array_equal(rewards(quiet, (D, D)), 0.0)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (InequityAversion, {"envy": -1.0}),
        (InequityAversion, {"decay": 1.0}),
        (SocialValue, {"angle": 200.0}),
        (SocialValue, {"angles": (1.0,)}),
        (SocialValue, {"weight": float("inf")}),
    ],
)
def test_settings_that_cannot_be(kind: type, settings: dict[str, float]) -> None:
    with pytest.raises(ComityError, match=next(iter(settings))):
        kind(game=make_game("prisoners-dilemma"), **settings)
    with pytest.raises(ComityError, match="several seats"):
        kind(game=make_game("probe-choice"))
