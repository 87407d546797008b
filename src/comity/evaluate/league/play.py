"""Every player meets every player."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat
from comity.evaluate.league.outcomes import LEVELS, pairing_outcomes
from comity.evaluate.league.result import League
from comity.evaluate.replay import LONGEST
from comity.evaluate.statistics import resampled_counts, resampled_sums
from comity.games.transforms import with_horizon
from comity.play.loading import check_player
from comity.play.match import play_matches
from comity.play.most_likely import most_likely
from comity.play.specs import game_data


def play_league(
    game: Environment,
    players: Mapping[str, Player | PerSeat[Player]],
    episodes: int = 100,
    horizon: int | None = None,
    seed: int = 0,
    deterministic: bool = False,
) -> League:
    """Plays every player against every player.

    The seats of each pairing are filled in every way; each arrangement plays `episodes` episodes. Where
    the seats differ, a player may be given as a tuple: who it is in each seat. `deterministic` lets
    everybody do what is most likely. A game without a fixed length is played for 500 steps, new episodes
    following those that end, unless `horizon` says another number.
    """
    require(episodes >= 1, "episodes", episodes, "at least 1")
    require(len(players) >= 1, "players", list(players), "at least one player")
    game = with_horizon(game, LONGEST if horizon is None and game.horizon is None else horizon)
    assert game.horizon is not None
    names = tuple(players)
    seats = len(game.seats)
    everyone = _everyone(game, players)
    if deterministic:
        everyone = [most_likely(player) for player in everyone]
    pairings = _pairings(len(names), seats)
    members = pairings.seated * seats + np.arange(seats)
    played = play_matches(game, everyone, members, jax.random.key(seed), episodes, game.horizon)
    samples = np.zeros((len(names), len(names), episodes))
    by_seat = np.zeros((seats, len(names), len(names)))
    for focal, other, seat, pairing in pairings.roles:
        earned = played.reward[pairing, seat].astype(np.float64)
        samples[focal, other] += earned / seats
        by_seat[seat, focal, other] = earned.mean()
    if not np.isfinite(samples).all():
        raise ComityError("The rewards are not finite numbers in float32: use smaller payoffs.")
    counts = resampled_counts(episodes, seed=seed)
    mean, low, high = _intervals(samples, counts)
    return League(
        game_data(game),
        game.horizon,
        episodes,
        seed,
        names,
        mean,
        low,
        high,
        samples,
        seats=tuple(seat.name for seat in game.seats),
        roles=tuple(seat.role or seat.name for seat in game.seats),
        symmetric=game.symmetric,
        by_seat=by_seat,
        deterministic=deterministic,
        outcomes=pairing_outcomes(game, played, pairings.roles, counts),
    )


def _everyone(game: Environment, players: Mapping[str, Player | PerSeat[Player]]) -> list[Player]:
    """Who everybody is in each seat: all seats of the first, then of the second, and so on."""
    seats = len(game.seats)
    everyone: list[Player] = []
    for name, given in players.items():
        by_seat = (given,) * seats if isinstance(given, Player) else given
        allowed = f"one player, or one for each of {seats} seats"
        require(len(by_seat) == seats, name, f"{len(by_seat)} players", allowed)
        for seat, player in enumerate(by_seat):
            check_player(game, name, player, seat)
        everyone += by_seat
    return everyone


class _Pairings(NamedTuple):
    seated: Int[np.ndarray, "pairings seats"]  # the player in each seat
    roles: list[tuple[int, int, int, int]]  # focal player, opponent, the focal player's seat, pairing


def _pairings(players: int, seats: int) -> _Pairings:
    """Every player in every seat against every player in all the others.

    With two seats, one pairing shows both players: it is player i's in seat 1 and player j's in seat 2.
    """
    seated: list[tuple[int, ...]] = []
    roles = []
    for i in range(players):
        for j in range(players):
            for seat in range(seats):
                places = tuple(i if s == seat else j for s in range(seats))
                if places not in seated:
                    seated.append(places)
                roles.append((i, j, seat, seated.index(places)))
    return _Pairings(np.asarray(seated), roles)


def _intervals(
    samples: Float[np.ndarray, "players players episodes"], counts: Float[np.ndarray, "resamples episodes"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high of every pairing, by the bootstrap."""
    means = resampled_sums(samples, counts) / samples.shape[-1]
    low, high = np.quantile(means, LEVELS, axis=-1)
    return samples.mean(axis=-1), low, high
