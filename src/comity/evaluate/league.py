"""Leagues: every player meets every player, and what each earns is measured."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from comity.core.errors import ComityError, require
from comity.core.files import read_json, write_atomically, write_json
from comity.core.types import Environment, PerSeat, Player, with_everyone
from comity.evaluate.statistics import bootstrap_mean
from comity.games.transforms import with_horizon
from comity.play.match import match_rewards
from comity.play.specs import game_data

Matrix = Float[np.ndarray, "players players"]


@dataclass(frozen=True)
class League:
    """The result of a league.

    `mean[i, j]` is what player i earns per step when it meets player j, seats averaged, with the bounds
    `low` and `high` of a 95% bootstrap interval over episodes. In a game of more than two seats player i
    sits in one seat and player j in all the others. `samples[i, j]` are the episodes.
    """

    game: dict[str, Any]
    horizon: int
    episodes: int
    seed: int
    players: tuple[str, ...]
    mean: Matrix
    low: Matrix
    high: Matrix
    samples: Float[np.ndarray, "players players episodes"] | None = None

    def to_data(self) -> dict[str, Any]:
        """The league as JSON data."""
        return {
            "kind": "comity-league",
            "version": 1,
            "game": self.game["name"],
            "game_settings": self.game,
            "horizon": self.horizon,
            "episodes": self.episodes,
            "seed": self.seed,
            "players": list(self.players),
            "mean": self.mean.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

    def save(self, path: Path) -> None:
        """Writes the league as JSON."""
        write_json(path, self.to_data())

    def save_csv(self, path: Path) -> None:
        """Writes one line per pairing."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["player", "opponent", "mean", "low", "high"])
        for i, player in enumerate(self.players):
            for j, opponent in enumerate(self.players):
                numbers = (self.mean[i, j], self.low[i, j], self.high[i, j])
                writer.writerow([player, opponent, *(f"{x:.6f}" for x in numbers)])
        write_atomically(path, text.getvalue().encode())


def by_kind(league: League, kinds: Mapping[str, list[int]]) -> League:
    """A league in which some players count as one of a kind: the mean over all pairings of two kinds.

    A kind meets itself as it is trained: each of its players with itself.
    """
    groups = list(kinds.values())

    def merge(table: Matrix) -> Float[np.ndarray, "kinds kinds"]:
        rows = [[table[np.ix_(a, b)].mean() for b in groups] for a in groups]
        merged = np.asarray(rows)
        np.fill_diagonal(merged, [np.diag(table)[group].mean() for group in groups])
        return merged

    return replace(
        league,
        players=tuple(kinds),
        mean=merge(league.mean),
        low=merge(league.low),
        high=merge(league.high),
        samples=None,
    )


def read_league(path: Path) -> League:
    """Reads a league from its JSON file."""
    data = read_json(path, "a league")
    if not isinstance(data, dict) or data.get("kind") != "comity-league":
        raise ComityError(f"{path} is not a league: `comity league ... --json FILE` writes one.")
    if not isinstance(data.get("version"), int) or data["version"] > 1:
        raise ComityError(f"{path} was written by a newer Comity: upgrade to read it.")
    fields = ("players", "mean", "low", "high", "game_settings", "horizon", "episodes", "seed")
    missing = [name for name in fields if name not in data]
    if missing:
        raise ComityError(
            f"{path} is damaged: it lacks {', '.join(missing)}. `comity league` writes them all."
        )
    try:
        players = tuple(str(name) for name in data["players"])
        tables = [np.asarray(data[name], np.float64) for name in ("mean", "low", "high")]
        game = dict(data["game_settings"])
        numbers = [int(data[name]) for name in ("horizon", "episodes", "seed")]
    except (TypeError, ValueError, OverflowError) as error:
        raise ComityError(
            f"{path} is damaged ({error}): a list of players, square tables and whole numbers would work."
        ) from None
    if any(table.shape != (len(players), len(players)) for table in tables) or "name" not in game:
        raise ComityError(f"{path} is damaged: its tables do not fit its {len(players)} players.")
    mean, low, high = tables
    if not np.isfinite(tables).all() or (low > high).any() or min(numbers[:2]) < 1:
        raise ComityError(
            f"{path} is damaged: finite tables, low up to high, and at least one step and episode would work."
        )
    return League(game, numbers[0], numbers[1], numbers[2], players, mean, low, high)


def play_league(
    game: Environment,
    players: Mapping[str, Player | PerSeat[Player]],
    episodes: int = 100,
    horizon: int | None = None,
    seed: int = 0,
) -> League:
    """Plays every player against every player.

    The seats of each pairing are filled in every way; each arrangement plays `episodes` episodes. Where
    the seats differ, a player may be given as a tuple: who it is in each seat.
    """
    require(episodes >= 1, "episodes", episodes, "at least 1")
    require(len(players) >= 1, "players", list(players), "at least one player")
    game = with_horizon(game, horizon)
    length = game.horizon
    if length is None:
        raise ComityError("This game has no fixed length: give the league a horizon.")
    names = tuple(players)
    seats = len(game.seats)
    everyone: list[Player] = []
    for name, given in players.items():
        by_seat = (given,) * seats if isinstance(given, Player) else given
        require(
            len(by_seat) == seats,
            name,
            f"{len(by_seat)} players",
            f"one player, or one for each of {seats} seats",
        )
        for seat, player in enumerate(by_seat):
            _check_player(game, name, player, seat)
        everyone += by_seat
    pairings = _pairings(len(names), seats)
    members = pairings.seated * seats + np.arange(seats)
    rewards = match_rewards(game, everyone, members, jax.random.key(seed), episodes, length).astype(
        np.float64
    )
    samples = np.zeros((len(names), len(names), episodes))
    for focal, other, seat, pairing in pairings.roles:
        samples[focal, other] += rewards[pairing, seat] / seats
    if not np.isfinite(samples).all():
        raise ComityError("The rewards are not finite numbers in float32: use smaller payoffs.")
    return _summarise(game, length, episodes, seed, names, samples)


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


def _check_player(game: Environment, name: str, player: Player, seat: int) -> None:
    place = with_everyone(game, seat)
    try:
        player.agent.check(place)
    except ComityError as error:
        raise ComityError(f"{name} cannot play in this game: {error}") from None
    template = jax.eval_shape(lambda: player.agent.params(player.agent.init(jax.random.key(0), place)))
    shapes = [leaf.shape for leaf in jax.tree.leaves(template)]
    if shapes != [leaf.shape for leaf in jax.tree.leaves(player.params)]:
        raise ComityError(f"{name} was trained in a game of another shape and cannot play in this one.")


def _summarise(
    game: Environment,
    length: int,
    episodes: int,
    seed: int,
    names: tuple[str, ...],
    samples: Float[np.ndarray, "players players episodes"],
) -> League:
    mean, low, high = (np.zeros((len(names), len(names))) for _ in range(3))
    for i in range(len(names)):
        for j in range(len(names)):
            interval = bootstrap_mean(samples[i, j], seed=seed)
            mean[i, j], low[i, j], high[i, j] = interval
    return League(game_data(game), length, episodes, seed, names, mean, low, high, samples)
