"""Matches between players: separately trained, scripted, of different kinds."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from jaxtyping import PRNGKeyArray as Key

from comity.bridges.host import reraise_host_errors
from comity.core.agent import Player, add_group_axis, communicates, stack
from comity.core.batch import Trajectory
from comity.core.errors import ComityError
from comity.core.game import Environment, PerSeat, Seat
from comity.core.matchmaker import Occupant
from comity.play.mixed import MixedAgent, MixedParams, mix
from comity.play.outcomes import cooperation
from comity.play.rollout import reset, rollout

LARGEST_BATCH = 20_000  # games played side by side; more pairings are played in several batches


class LikeSeats(NamedTuple):
    """Seats that see and do the same, and everybody who ever sits in one of them as one crowd.

    `members` has leaves [members, ...]; a seat's member in each pairing is its place among them.
    """

    seats: tuple[int, ...]
    crowd: MixedAgent
    members: MixedParams


def seat_players(players: PerSeat[Player]) -> tuple[Occupant, ...]:
    """One player per seat; seats with one and the same player that communicates act as a team."""
    teams: list[tuple[Player, list[int]]] = []
    for seat, player in enumerate(players):
        alike = (seats for other, seats in teams if communicates(player.agent) and _same(other, player))
        own = next(alike, None)
        if own is None:
            teams.append((player, [seat]))
        else:
            own.append(seat)
    return tuple(
        Occupant(tuple(seats), player.agent, add_group_axis(player.params)) for player, seats in teams
    )


def _same(first: Player, second: Player) -> bool:
    return bool(first.agent == second.agent) and first.params is second.params


def play(game: Environment, players: PerSeat[Player], key: Key, episodes: int, length: int) -> Trajectory:
    """Plays some episodes of some steps side by side; leaves [time, episode, ...]."""
    if len(players) != len(game.seats):
        raise ComityError(f"The game has {len(game.seats)} seats, and {len(players)} players were given.")
    with reraise_host_errors():
        played: Trajectory = _jitted_play(game, seat_players(players), key, episodes, length)
        return played if game.resumable else jax.block_until_ready(played)


class Matches(NamedTuple):
    """What came of many pairings: mean reward per step, cooperative choices and choices (0: none defined).

    `returns` and `lengths` are those of the first episode of each game. Rewards are always the game's own.
    """

    reward: Float[np.ndarray, "pairings seats episodes"]
    cooperative: Float[np.ndarray, "pairings seats episodes"]
    choices: Float[np.ndarray, "pairings seats episodes"]
    returns: Float[np.ndarray, "pairings seats episodes"]
    lengths: Float[np.ndarray, "pairings seats episodes"]


def match_rewards(
    game: Environment,
    players: list[Player],
    pairings: Int[np.ndarray, "pairings seats"],
    key: Key,
    episodes: int,
    length: int,
) -> Float[np.ndarray, "pairings seats episodes"]:
    """Mean reward per step of many pairings: that of `play_matches`."""
    return play_matches(game, players, pairings, key, episodes, length).reward


def play_matches(
    game: Environment,
    players: list[Player],
    pairings: Int[np.ndarray, "pairings seats"],
    key: Key,
    episodes: int,
    length: int,
) -> Matches:
    """Plays many pairings, each of `episodes` episodes.

    `pairings[p, s]` is the number of the player who sits in seat s. Players of all kinds play in one
    program; very many pairings are played in several batches of one size. Where some communicate, like seats
    of one player are a team, and there is one program for each way in which the seats are shared out.
    """
    groups, places = seat_groups(game.seats, players, pairings)
    first_alike = [next(i for i, other in enumerate(players) if _same(other, player)) for player in players]
    shares = [_teams(groups, [first_alike[number] for number in own]) for own in pairings.tolist()]
    found = np.zeros((len(Matches._fields), *pairings.shape, episodes), np.float32)
    for number, teams in enumerate(dict.fromkeys(shares)):
        chosen = np.asarray([own == teams for own in shares])
        own_key = jax.random.fold_in(key, number) if number else key
        found[:, chosen] = _in_batches(game, groups, teams, places[chosen], own_key, episodes, length)
    return Matches(*found)


def _teams(groups: tuple[LikeSeats, ...], seated: list[int]) -> tuple[tuple[int, ...], ...]:
    """The seats that act together: each by itself, unless somebody in their crowd communicates."""
    teams: list[tuple[int, ...]] = []
    for group in groups:
        if communicates(group.crowd):
            who = dict.fromkeys(seated[s] for s in group.seats)
            teams += [tuple(s for s in group.seats if seated[s] == number) for number in who]
        else:
            teams += [(s,) for s in group.seats]
    return tuple(teams)


def _in_batches(
    game: Environment,
    groups: tuple[LikeSeats, ...],
    teams: tuple[tuple[int, ...], ...],
    places: Int[np.ndarray, "pairings seats"],
    key: Key,
    episodes: int,
    length: int,
) -> Float[np.ndarray, "parts pairings seats episodes"]:
    count = len(places)
    size = min(count, max(1, LARGEST_BATCH // episodes))
    batches = -(-count // size)
    padded = np.concatenate([places, np.repeat(places[:1], batches * size - count, axis=0)])
    found = []
    for number, part in enumerate(padded.reshape(batches, size, -1)):
        with reraise_host_errors():
            parts = _jitted_matches(
                game, groups, teams, jnp.asarray(part), jax.random.fold_in(key, number), episodes, length
            )
            found.append(np.asarray(parts))
    return np.concatenate(found, axis=1)[:, :count]


def seat_groups(
    seats: PerSeat[Seat], players: list[Player], pairings: Int[np.ndarray, "pairings seats"]
) -> tuple[tuple[LikeSeats, ...], Int[np.ndarray, "pairings seats"]]:
    """The crowds of like seats, and for every pairing and seat the place of its player in the seat's crowd.

    Where all seats are alike, one crowd of everybody serves them all.
    """
    spaces = [(seat.observation, seat.action) for seat in seats]
    places = np.zeros_like(pairings)
    groups = []
    for space in dict.fromkeys(spaces):
        alike = tuple(s for s, own in enumerate(spaces) if own == space)
        # Like seats keep everybody, also who sits nowhere: so the program does not depend on who meets whom.
        sitting = range(len(players)) if len(alike) == len(seats) else np.unique(pairings[:, alike]).tolist()
        crowd, members = mix([players[number] for number in sitting])
        place_of = {number: place for place, number in enumerate(sitting)}
        for s in alike:
            places[:, s] = [place_of[number] for number in pairings[:, s].tolist()]
        groups.append(LikeSeats(alike, crowd, stack(members)))
    return tuple(groups), places


def _play(
    game: Environment, occupants: tuple[Occupant, ...], key: Key, episodes: int, length: int
) -> Trajectory:
    reset_key, play_key = jax.random.split(key)
    envs = reset(game, occupants, episodes, reset_key)
    return rollout(game, occupants, envs, play_key, length)[0]


def _matches(
    game: Environment,
    groups: tuple[LikeSeats, ...],
    teams: tuple[tuple[int, ...], ...],
    places: Int[Array, "pairings seats"],
    key: Key,
    episodes: int,
    length: int,
) -> Float[Array, "parts pairings seats episodes"]:
    """The fields of `Matches`, stacked."""
    seats = len(game.seats)
    count = places.shape[0]
    of_seat = {s: group for group in groups for s in group.seats}
    occupants = tuple(
        Occupant(
            team,
            of_seat[team[0]].crowd,
            jax.tree.map(lambda x, s=team[0]: x[places[:, s]], of_seat[team[0]].members),
        )
        for team in teams
    )
    played = _play(game, occupants, key, count * episodes, length)
    means = jnp.stack([reward.mean(axis=0) for reward in played.step.game_reward])
    chosen = cooperation(game, played) or (jnp.zeros_like(means),) * 2
    ended = jax.lax.cummax((played.step.terminated | played.step.truncated).astype(jnp.int32), axis=0)
    first = jnp.concatenate([jnp.ones_like(ended[:1]), 1 - ended[:-1]]) == 1  # [time, game]
    returns = jnp.stack([jnp.where(first, own, 0.0).sum(axis=0) for own in played.step.game_reward])
    lengths = jnp.broadcast_to(first.sum(axis=0).astype(jnp.float32)[None], returns.shape)
    return jnp.stack([means, *chosen, returns, lengths]).reshape(-1, seats, count, episodes).swapaxes(1, 2)


_jitted_play = eqx.filter_jit(_play)
_jitted_matches = eqx.filter_jit(_matches)
