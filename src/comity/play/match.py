"""Matches between players: separately trained, scripted, of different kinds."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError
from comity.core.types import Environment, Occupant, PerSeat, Player, Trajectory, stack
from comity.play.rollout import begin, rollout


def seat_players(players: PerSeat[Player]) -> tuple[Occupant, ...]:
    """One player per seat."""
    return tuple(
        Occupant((i,), player.agent, jax.tree.map(lambda x: jnp.asarray(x)[None], player.params))
        for i, player in enumerate(players)
    )


def play(game: Environment, players: PerSeat[Player], key: Key, episodes: int, length: int) -> Trajectory:
    """Plays some episodes of some steps side by side; leaves [time, episode, ...]."""
    if len(players) != len(game.seats):
        raise ComityError(f"The game has {len(game.seats)} seats, and {len(players)} players were given.")
    played: Trajectory = _jitted_play(game, seat_players(players), key, episodes, length)
    return played


def _play(
    game: Environment, occupants: tuple[Occupant, ...], key: Key, episodes: int, length: int
) -> Trajectory:
    begin_key, play_key = jax.random.split(key)
    table = begin(game, occupants, episodes, begin_key)
    return rollout(game, occupants, table, play_key, length)[0]


def _mean_rewards(
    game: Environment, occupants: tuple[Occupant, ...], key: Key, episodes: int, length: int
) -> Float[Array, "seats episodes"]:
    steps = _play(game, occupants, key, episodes, length).step
    return jnp.stack([reward.mean(axis=0) for reward in steps.reward])


_jitted_play = eqx.filter_jit(_play)
_jitted_mean_rewards = eqx.filter_jit(_mean_rewards)


def match_rewards(
    game: Environment,
    pairings: list[PerSeat[Player]],
    key: Key,
    episodes: int,
    length: int,
) -> Float[Array, "pairings seats episodes"]:
    """Mean reward per step of many pairings, each of `episodes` episodes, played as one batch.

    In each seat all pairings must have players of one kind (the same agent with parameters of the same
    shapes), so that their parameters can be stacked.
    """
    seats = len(game.seats)
    occupants = []
    for i in range(seats):
        agent = pairings[0][i].agent
        params: PyTree = stack([pairing[i].params for pairing in pairings])
        occupants.append(Occupant((i,), agent, params))
    batch = len(pairings) * episodes
    rewards: Array = _jitted_mean_rewards(game, tuple(occupants), key, batch, length)
    return rewards.reshape(seats, len(pairings), episodes).swapaxes(0, 1)


def same_kind(first: Player, second: Player) -> bool:
    """Whether two players can sit in one stack: equal agents, parameters of equal shapes."""
    if first.agent != second.agent:
        return False
    structures: list[Any] = [jax.tree.structure(player.params) for player in (first, second)]
    if structures[0] != structures[1]:
        return False
    pairs = zip(jax.tree.leaves(first.params), jax.tree.leaves(second.params), strict=True)
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
