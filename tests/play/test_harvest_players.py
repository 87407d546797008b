"""Scripted players of Commons Harvest: the dilemma is there, and each does what its name says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.api import scripted_player
from comity.core.errors import ComityError
from comity.games.commons_harvest import PLANES
from comity.play.match import play
from comity.play.specs import make_agent, make_game

GAME = make_game("commons-harvest-open", horizon=300)


def harvest(*names: str) -> tuple[np.ndarray, np.ndarray]:
    """What each seat earns in 300 steps, and how many apples are left, over four games."""
    players = tuple(scripted_player(name, GAME, i) for i, name in enumerate(names))
    played = play(GAME, players, jax.random.key(0), 4, 300)
    paid = np.asarray([np.asarray(reward).sum(axis=0).mean() for reward in played.step.reward])
    return paid, np.asarray(played.state.apples)[-1].sum(axis=-1)


@pytest.mark.slow
def test_greed_ends_in_a_desert_and_restraint_does_not() -> None:
    greedy, left = harvest(*["greedy"] * 7)
    sparing, kept = harvest(*["sustainable"] * 7)
    mixed, _ = harvest(*["sustainable"] * 5, "greedy", "free-rider")
    assert left.max() <= 2
    assert kept.min() >= 15
    assert sparing.sum() > 2 * greedy.sum()
    assert mixed[5:].mean() > mixed[:5].mean()


@pytest.mark.parametrize("name", ["greedy", "free-rider"])
def test_who_zaps(name: str) -> None:
    window = np.zeros((11, 11), np.int16)
    window[8, 5] = 1 << PLANES.index("player facing me")
    window |= 1 << PLANES.index("ready to zap")
    agent = make_agent(name, GAME)
    act = jax.jit(lambda key: agent.act((), (), jnp.asarray(window), key)[0])
    done = {int(act(key)) for key in jax.random.split(jax.random.key(0), 20)}
    assert (7 in done) == (name == "free-rider")


def test_the_nearest_apple_is_walked_to_past_a_wall() -> None:
    window = np.zeros((11, 11), np.int16)
    window[7, 6] = window[2, 2] = 1 << PLANES.index("apple")
    window[8, 5] = 1 << PLANES.index("wall")
    agent = make_agent("greedy", GAME)
    act = jax.jit(lambda key: agent.act((), (), jnp.asarray(window), key)[0])
    assert {int(act(key)) for key in jax.random.split(jax.random.key(0), 20)} == {4}


def test_pixels_are_refused() -> None:
    spec = make_game("commons-harvest-open", observe="pixels").spec
    with pytest.raises(ComityError, match="pixels"):
        make_agent("greedy", GAME).check(spec, (0,))
