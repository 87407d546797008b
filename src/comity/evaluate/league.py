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

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.files import read_json, write_atomically, write_json
from comity.core.game import Environment, PerSeat
from comity.evaluate.statistics import bootstrap_mean
from comity.games.transforms import with_horizon
from comity.play.match import match_rewards
from comity.play.most_likely import most_likely
from comity.play.specs import game_data

KIND = "comity-league"
VERSION = 2  # of the JSON file; version 1 knew nothing of seats
Matrix = Float[np.ndarray, "players players"]


@dataclass(frozen=True)
class League:
    """The result of a league.

    `mean[i, j]` is what player i earns per step when it meets player j, seats averaged, with the bounds
    `low` and `high` of a 95% bootstrap interval over episodes. In a game of more than two seats player i
    sits in one seat and player j in all the others. `samples[i, j]` are the episodes.

    `by_seat[s, i, j]` is the same for player i in seat s alone. Where the seats differ (`symmetric` is
    false) that, or the mean over the seats of a role, says more than the mean over all seats.
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
    seats: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()  # of each seat: its role, or its name if it has none
    symmetric: bool = True
    by_seat: Float[np.ndarray, "seats players players"] | None = None
    deterministic: bool = False  # whether everybody did what was most likely instead of drawing

    @property
    def by_role(self) -> dict[str, Matrix]:
        """For each role the mean over its seats; empty where that is not known."""
        if self.by_seat is None:
            return {}
        return {
            role: self.by_seat[[s for s, own in enumerate(self.roles) if own == role]].mean(axis=0)
            for role in dict.fromkeys(self.roles)
        }

    @property
    def unlike_roles(self) -> dict[str, Matrix]:
        """`by_role` if the seats differ, else nothing: what tables and pages show."""
        return {} if self.symmetric else self.by_role

    def to_data(self) -> dict[str, Any]:
        """The league as JSON data."""
        return {
            "kind": KIND,
            "version": VERSION,
            "game": self.game["name"],
            "game_settings": self.game,
            "horizon": self.horizon,
            "episodes": self.episodes,
            "seed": self.seed,
            "players": list(self.players),
            "mean": self.mean.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "seats": list(self.seats),
            "roles": list(self.roles),
            "symmetric": self.symmetric,
            "by_seat": None if self.by_seat is None else self.by_seat.tolist(),
            "deterministic": self.deterministic,
        }

    def save(self, path: Path) -> None:
        """Writes the league as JSON."""
        write_json(path, self.to_data())

    def save_csv(self, path: Path) -> None:
        """Writes one line per pairing; where the seats differ, with the mean in each role."""
        roles = self.unlike_roles
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["player", "opponent", "mean", "low", "high", *(f"mean as {role}" for role in roles)])
        for i, player in enumerate(self.players):
            for j, opponent in enumerate(self.players):
                tables = (self.mean, self.low, self.high, *roles.values())
                numbers = [table[i, j] for table in tables]
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
        by_seat=None if league.by_seat is None else np.stack([merge(table) for table in league.by_seat]),
    )


def read_league(path: Path) -> League:
    """Reads a league from its JSON file, as `League.save` writes it.

    A table made by hand is read too: {"mean": [[...]]}, what the row's player earns against the column's,
    and if they are known "low", "high" and "players".
    """
    return league_from_data(read_json(path, "a league"), str(path))


def league_from_data(data: Any, where: str) -> League:
    """The league that JSON data stand for; `where` says in messages what they are."""
    by_hand = isinstance(data, dict) and "kind" not in data and "mean" in data
    if by_hand:
        data = _by_hand(data, where)
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ComityError(f"{where} is not a league: `comity league ... --json FILE` writes one.")
    if not isinstance(data.get("version"), int) or data["version"] > VERSION:
        raise ComityError(f"{where} was written by a newer Comity: upgrade to read it.")
    fields = ("players", "mean", "low", "high", "game_settings", "horizon", "episodes", "seed")
    missing = [name for name in fields if name not in data]
    if missing:
        raise ComityError(
            f"{where} is damaged: it lacks {', '.join(missing)}. `comity league` writes them all."
        )
    try:
        players = tuple(str(name) for name in data["players"])
        tables = [np.asarray(data[name], np.float64) for name in ("mean", "low", "high")]
        game = dict(data["game_settings"])
        numbers = [int(data[name]) for name in ("horizon", "episodes", "seed")]
    except (TypeError, ValueError, OverflowError) as error:
        raise ComityError(
            f"{where} is damaged ({error}): a list of players, square tables and whole numbers would work."
        ) from None
    if any(table.shape != (len(players), len(players)) for table in tables) or "name" not in game:
        raise ComityError(f"{where} is damaged: its tables do not fit its {len(players)} players.")
    mean, low, high = tables
    if not np.isfinite(tables).all() or (low > high).any() or min(numbers[:2]) < 1:
        raise ComityError(
            f"{where} is damaged: finite tables, low up to high, and at least one step and episode "
            "would work."
        )
    if by_hand and ((low > mean) | (mean > high)).any():
        raise ComityError(f"{where} has a mean outside its limits: low <= mean <= high would work.")
    seat_results = _seat_results(data, len(players), where)
    return League(game, numbers[0], numbers[1], numbers[2], players, mean, low, high, **seat_results)


def _seat_results(data: Mapping[str, Any], players: int, where: str) -> dict[str, Any]:
    """What a file says of seats; nothing in version 1."""
    if data["version"] < 2:
        return {}
    seats, roles, by_seat = (data.get(name, ()) for name in ("seats", "roles", "by_seat"))
    flags = {name: data.get(name) for name in ("symmetric", "deterministic")}
    texts = all(isinstance(x, list) and all(isinstance(y, str) for y in x) for x in (seats, roles))
    if not texts or not all(isinstance(flag, bool) for flag in flags.values()):
        raise ComityError(f"{where} is damaged: lists of seats and roles, and two truth values would work.")
    table = None
    if by_seat is not None:
        try:
            table = np.asarray(by_seat, np.float64)
        except (TypeError, ValueError, OverflowError):
            table = np.zeros(0)
        if table.shape != (len(seats), players, players) or not np.isfinite(table).all():
            raise ComityError(f"{where} is damaged: by_seat must be one finite table for each of its seats.")
    if len(roles) != len(seats):
        raise ComityError(f"{where} is damaged: it has {len(roles)} roles for {len(seats)} seats.")
    return {"seats": tuple(seats), "roles": tuple(roles), "by_seat": table, **flags}


def _by_hand(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A table of payoffs as a league of one step and one episode; without limits it is certain."""
    known = ("mean", "low", "high", "players")
    unknown = [name for name in data if name not in known]
    if unknown:
        raise ComityError(f"{where} has {', '.join(unknown)}; a league by hand has {', '.join(known)} only.")
    mean = data["mean"]
    size = len(mean) if isinstance(mean, list) else 0
    given = {name: value for name, value in data.items() if value is not None}
    return {
        "kind": KIND,
        "version": 1,  # which says nothing of seats
        "game_settings": {"name": "table"},
        "horizon": 1,
        "episodes": 1,
        "seed": 0,
        "players": [str(i + 1) for i in range(size)],
        "low": mean,
        "high": mean,
        **given,
    }


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
    everybody do what is most likely.
    """
    require(episodes >= 1, "episodes", episodes, "at least 1")
    require(len(players) >= 1, "players", list(players), "at least one player")
    game = with_horizon(game, horizon)
    if game.horizon is None:
        raise ComityError("This game has no fixed length: give the league a horizon.")
    names = tuple(players)
    seats = len(game.seats)
    everyone = _everyone(game, players)
    if deterministic:
        everyone = [most_likely(player) for player in everyone]
    pairings = _pairings(len(names), seats)
    members = pairings.seated * seats + np.arange(seats)
    rewards = match_rewards(game, everyone, members, jax.random.key(seed), episodes, game.horizon)
    samples = np.zeros((len(names), len(names), episodes))
    by_seat = np.zeros((seats, len(names), len(names)))
    for focal, other, seat, pairing in pairings.roles:
        earned = rewards[pairing, seat].astype(np.float64)
        samples[focal, other] += earned / seats
        by_seat[seat, focal, other] = earned.mean()
    if not np.isfinite(samples).all():
        raise ComityError("The rewards are not finite numbers in float32: use smaller payoffs.")
    mean, low, high = _intervals(samples, seed)
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
            _check_player(game, name, player, seat)
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


def _check_player(game: Environment, name: str, player: Player, seat: int) -> None:
    spec = game.spec
    try:
        player.agent.check(spec, (seat,))
    except ComityError as error:
        raise ComityError(f"{name} cannot play in this game: {error}") from None
    template = jax.eval_shape(
        lambda: player.agent.policy(player.agent.init(jax.random.key(0), spec, (seat,)))
    )
    shapes = [leaf.shape for leaf in jax.tree.leaves(template)]
    if shapes != [leaf.shape for leaf in jax.tree.leaves(player.params)]:
        raise ComityError(
            f"{name} was trained in a game of another shape and cannot play in this one, in the seat "
            f"{game.seats[seat].name!r}."
        )


def _intervals(
    samples: Float[np.ndarray, "players players episodes"], seed: int
) -> Float[np.ndarray, "3 players players"]:
    """Mean, low and high of every pairing."""
    count = len(samples)
    found = [[bootstrap_mean(samples[i, j], seed=seed) for j in range(count)] for i in range(count)]
    return np.moveaxis(np.asarray(found), -1, 0)
