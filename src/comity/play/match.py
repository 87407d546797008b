"""Matches between players: separately trained, scripted, of different kinds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from jaxtyping import PRNGKeyArray as Key

from comity.bridges.host import told
from comity.core.errors import ComityError
from comity.core.types import Environment, Occupant, PerSeat, Player, Trajectory, lead, stack
from comity.play.crowd import Crowd, Member, gather
from comity.play.rollout import begin, rollout

LARGEST_BATCH = 20_000  # games played side by side; more pairings are played in several batches


def seat_players(players: PerSeat[Player]) -> tuple[Occupant, ...]:
    """One player per seat."""
    return tuple(Occupant((i,), player.agent, lead(player.params)) for i, player in enumerate(players))


def play(game: Environment, players: PerSeat[Player], key: Key, episodes: int, length: int) -> Trajectory:
    """Plays some episodes of some steps side by side; leaves [time, episode, ...]."""
    if len(players) != len(game.seats):
        raise ComityError(f"The game has {len(game.seats)} seats, and {len(players)} players were given.")
    with told():
        played: Trajectory = _jitted_play(game, seat_players(players), key, episodes, length)
        return played if game.resumable else jax.block_until_ready(played)


def match_rewards(
    game: Environment,
    players: list[Player],
    pairings: Int[np.ndarray, "pairings seats"],
    key: Key,
    episodes: int,
    length: int,
) -> Float[np.ndarray, "pairings seats episodes"]:
    """Mean reward per step of many pairings, each of `episodes` episodes.

    `pairings[p, s]` is the number of the player who sits in seat s. Players of all kinds play in one
    program; very many pairings are played in several batches of one size.
    """
    crowd, members = gather(players)
    everyone: Member = stack(members)
    count = len(pairings)
    size = min(count, max(1, LARGEST_BATCH // episodes))
    batches = -(-count // size)
    padded = np.concatenate([pairings, np.repeat(pairings[:1], batches * size - count, axis=0)])
    found = []
    for number, part in enumerate(padded.reshape(batches, size, -1)):
        with told():
            rewards = _jitted_rewards(
                game, crowd, everyone, jnp.asarray(part), jax.random.fold_in(key, number), episodes, length
            )
            found.append(np.asarray(rewards))
    return np.concatenate(found)[:count]


def _play(
    game: Environment, occupants: tuple[Occupant, ...], key: Key, episodes: int, length: int
) -> Trajectory:
    begin_key, play_key = jax.random.split(key)
    table = begin(game, occupants, episodes, begin_key)
    return rollout(game, occupants, table, play_key, length)[0]


def _rewards(
    game: Environment,
    crowd: Crowd,
    everyone: Member,
    pairings: Int[Array, "pairings seats"],
    key: Key,
    episodes: int,
    length: int,
) -> Float[Array, "pairings seats episodes"]:
    seats = len(game.seats)
    count = pairings.shape[0]
    occupants = tuple(
        Occupant((s,), crowd, jax.tree.map(lambda x, s=s: x[pairings[:, s]], everyone)) for s in range(seats)
    )
    steps = _play(game, occupants, key, count * episodes, length).step
    means = jnp.stack([reward.mean(axis=0) for reward in steps.reward])
    return means.reshape(seats, count, episodes).swapaxes(0, 1)


_jitted_play = eqx.filter_jit(_play)
_jitted_rewards = eqx.filter_jit(_rewards)
