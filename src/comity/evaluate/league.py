"""Leagues: every player meets every player, and what each earns is measured."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from comity.core.errors import ComityError, require
from comity.core.files import read_json, write_atomically, write_json
from comity.core.types import Environment, PerSeat, Player
from comity.evaluate.statistics import bootstrap_mean
from comity.games.transforms import with_horizon
from comity.play.match import match_rewards, same_kind
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


def read_league(path: Path) -> League:
    """Reads a league from its JSON file."""
    data = read_json(path, "a league")
    if not isinstance(data, dict) or data.get("kind") != "comity-league":
        raise ComityError(f"{path} is not a league: `comity league ... --json FILE` writes one.")
    if not isinstance(data.get("version"), int) or data["version"] > 1:
        raise ComityError(f"{path} was written by a newer Comity: upgrade to read it.")
    try:
        players = tuple(str(name) for name in data["players"])
        tables = [np.asarray(data[name], np.float64) for name in ("mean", "low", "high")]
        game = dict(data["game_settings"])
        numbers = [int(data[name]) for name in ("horizon", "episodes", "seed")]
    except (KeyError, TypeError, ValueError) as error:
        raise ComityError(f"{path} is damaged: {error!r}.") from None
    if any(table.shape != (len(players), len(players)) for table in tables) or "name" not in game:
        raise ComityError(f"{path} is damaged: its tables do not fit its {len(players)} players.")
    return League(game, numbers[0], numbers[1], numbers[2], players, tables[0], tables[1], tables[2])


def play_league(
    game: Environment,
    players: Mapping[str, Player],
    episodes: int = 100,
    horizon: int | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
) -> League:
    """Plays every player against every player.

    `report` is told how many of the pairings are done, and of how many. The seats of each pairing are
    filled both ways round; every ordered pair plays `episodes` episodes in each arrangement.
    """
    require(episodes >= 1, "episodes", episodes, "at least 1")
    require(len(players) >= 1, "players", list(players), "at least one player")
    game = with_horizon(game, horizon)
    length = game.horizon
    if length is None:
        raise ComityError("This game has no fixed length: give the league a horizon.")
    names = tuple(players)
    for name, player in players.items():
        _check_player(game, name, player)
    samples = np.zeros((len(names), len(names), episodes))
    pairings = _arrangements(game, [players[name] for name in names])
    count = sum(len(batch) for batch in pairings)
    done = 0
    key = jax.random.key(seed)
    arrangements = len(game.seats)
    for number, batch in enumerate(pairings):
        rewards = match_rewards(
            game, [item.seated for item in batch], jax.random.fold_in(key, number), episodes, length
        )
        for item, reward in zip(batch, np.asarray(rewards, np.float64), strict=True):
            samples[item.focal, item.other] += reward[item.seat] / arrangements
        done += len(batch)
        if report is not None:
            report(done, count)
    return _summarise(game, length, episodes, seed, names, samples)


@dataclass(frozen=True)
class _Pairing:
    focal: int
    other: int
    seat: int  # where the focal player sits
    seated: PerSeat[Player]


def _arrangements(game: Environment, players: list[Player]) -> list[list[_Pairing]]:
    """All pairings with the focal player in each seat, in batches of one kind."""
    kinds: list[int] = []
    for i, player in enumerate(players):
        same = [j for j in range(i) if same_kind(player, players[j])]
        kinds.append(kinds[same[0]] if same else i)
    batches: dict[tuple[int, int, int], list[_Pairing]] = {}
    for i, focal in enumerate(players):
        for j, other in enumerate(players):
            for seat in range(len(game.seats)):
                seated = tuple(focal if s == seat else other for s in range(len(game.seats)))
                batches.setdefault((kinds[i], kinds[j], seat), []).append(_Pairing(i, j, seat, seated))
    return list(batches.values())


def _check_player(game: Environment, name: str, player: Player) -> None:
    for seat in game.seats:
        try:
            player.agent.check(seat)
        except ComityError as error:
            raise ComityError(f"{name} cannot play in this game: {error}") from None
        template = jax.eval_shape(
            lambda seat=seat: player.agent.params(player.agent.init(jax.random.key(0), seat))
        )
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
