"""One episode, moment by moment, as data for pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax

from comity.core.agent import Player
from comity.core.batch import Trajectory
from comity.core.game import Environment, PerSeat, Seat
from comity.play.episode import Episode
from comity.play.episode import Moment as Moment
from comity.play.most_likely import most_likely

LONGEST = 500  # steps of an episode that has no end of its own


@dataclass(frozen=True, eq=False)
class Replay:
    """Who played what, and every moment of it, the start first."""

    title: str
    seats: PerSeat[Seat]
    players: tuple[str, ...]  # what those in the seats are called
    horizon: int | None
    moments: tuple[Moment, ...]
    played: Trajectory | None = None  # all of it, as learners are given it, if that was recorded


def moments(
    game: Environment, players: PerSeat[Player], seed: int = 0, episode: int = 0, deterministic: bool = False
) -> Iterator[Moment]:
    """An episode as it is played: the start, and how the game stands after every step until it is over.

    Every number of `episode` is another one of the same seed.
    """
    played = _begin(game, players, seed, episode, deterministic, record=False)
    yield played.moment
    while not played.moment.over:
        yield played.step()


def _begin(
    game: Environment, players: PerSeat[Player], seed: int, episode: int, deterministic: bool, record: bool
) -> Episode:
    seated = tuple(most_likely(player) for player in players) if deterministic else players
    return Episode(game, seated, jax.random.fold_in(jax.random.key(seed), episode), record)


def replay(
    game: Environment,
    players: PerSeat[Player],
    seed: int = 0,
    length: int | None = None,
    *,
    names: Sequence[str] = (),
    title: str = "",
    episode: int = 0,
    deterministic: bool = False,
    record: bool = False,
) -> Replay:
    """One episode of at most `length` steps; `names` are those of the players, in the order of the seats."""
    most = (game.horizon or LONGEST) if length is None else length
    episode_played = _begin(game, players, seed, episode, deterministic, record)
    found = [episode_played.moment]
    while not found[-1].over and len(found) <= most:
        found.append(episode_played.step())
    shown = tuple(names) or tuple("" for _ in game.seats)
    whole = episode_played.trajectory() if record and len(found) > 1 else None
    return Replay(title or game.family, game.seats, shown, game.horizon, tuple(found), whole)
