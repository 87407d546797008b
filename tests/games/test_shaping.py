"""Rewards by a function of the user's own: paid as it says, and only if the user named it."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from comity.core.errors import ComityError
from comity.core.game import PerSeat, TimeStep
from comity.core.trust import TRUST, trust
from comity.games.transforms import ShapedReward
from comity.play.specs import game_data, game_from_data, make_game

HERE = "tests.games.test_shaping"


def twice_and_what_was_seen(obs: PerSeat[Any], actions: PerSeat[Any], step: TimeStep) -> PerSeat[Any]:
    """Twice the reward, a hundredth of what was seen before, and a tenth of what was done."""
    return tuple(
        2.0 * reward + 0.01 * seen.astype(jnp.float32) + 0.1 * done.astype(jnp.float32)
        for reward, seen, done in zip(step.reward, obs, actions, strict=True)
    )


def as_it_was(obs: PerSeat[Any], actions: PerSeat[Any], step: TimeStep) -> PerSeat[Any]:
    """The game's own reward."""
    return step.reward


def one_for_all(obs: PerSeat[Any], actions: PerSeat[Any], step: TimeStep) -> Any:
    """Not one reward per seat."""
    return step.reward[0]


def test_the_function_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{HERE}:twice_and_what_was_seen"
    monkeypatch.setenv(TRUST, "")
    trust(name)
    inner = make_game("prisoners-dilemma")
    game = ShapedReward(game=inner, function=name)
    assert game_from_data(game_data(game)) == game
    state, obs = game.reset(jax.random.key(0))
    plain = inner.reset(jax.random.key(0))[0]
    for actions in ((0, 1), (1, 1)):
        done = tuple(jnp.int32(x) for x in actions)
        state, step = game.step(jax.random.key(1), state, done)
        plain, expected = inner.step(jax.random.key(1), plain, done)
        for i in range(2):
            paid = 2.0 * expected.reward[i] + 0.01 * float(obs[i]) + 0.1 * actions[i]
            assert float(step.reward[i]) == pytest.approx(float(paid), abs=1e-6)
        obs = step.obs


def test_what_a_file_names_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUST, "")
    data = {
        "name": "shaped-reward",
        "game": game_data(make_game("prisoners-dilemma")),
        "function": f"{HERE}:one_for_all",
    }
    with pytest.raises(ComityError, match=f"{TRUST}={HERE}:one_for_all"):
        game_from_data(data)


def test_a_wrong_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUST, f"{HERE}:one_for_all,{HERE}:nothing,nowhere:f")
    inner = make_game("prisoners-dilemma")
    game = ShapedReward(game=inner, function=f"{HERE}:one_for_all")
    state, _ = game.reset(jax.random.key(0))
    with pytest.raises(ComityError, match="one number for each of the 2 seats"):
        game.step(jax.random.key(0), state, (jnp.int32(0), jnp.int32(0)))
    for name, says in ((f"{HERE}:nothing", "has no nothing"), ("nowhere:f", "imported"), ("f", "MODULE")):
        with pytest.raises(ComityError, match=says):
            ShapedReward(game=inner, function=name)
