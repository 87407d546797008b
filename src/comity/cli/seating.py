"""Games and who sits in their seats, from the words of a command line."""

import dataclasses
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import tyro

from comity.api import load_player
from comity.cli.parser import parse_arguments
from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat
from comity.play.specs import game_class

PLAYERS = """A PLAYER is a run folder, a player file, the name of a scripted player, one of your own as
MODULE:CLASS, or one of the zoo as in zoo:coin/adalign/3; NAME=PLAYER gives it a name."""


@dataclass
class EpisodeSettings:
    """Which episode is played, and how."""

    seed: int = 0  # everything random follows from it
    episode: int = 0  # which episode of the seed
    steps: int | None = None  # at most so many steps; by default the whole episode
    deterministic: bool = False  # players do what is most likely instead of drawing

    def check(self) -> None:
        """Raises for numbers that make no sense."""
        require(self.seed >= 0, "seed", self.seed, "at least 0")
        require(self.episode >= 0, "episode", self.episode, "at least 0")
        require(self.steps is None or self.steps >= 1, "steps", self.steps, "at least 1")


def parse(settings: type[Any], command: str, game_name: str, arguments: list[str]) -> Any:
    """The settings of a command together with those of its game."""
    game, given = game_class(game_name)
    # A field, not a base class: the comments of a class made here would not be found for the help.
    fields: list[tuple[str, Any, Any]] = [
        ("own", Annotated[settings, tyro.conf.arg(name="")], field(default_factory=settings)),
        ("game", game, field(default_factory=partial(game, **given))),
    ]
    together = dataclasses.make_dataclass("Together", fields)
    together.__doc__ = settings.__doc__
    parsed: Any = parse_arguments(together, arguments, f"comity {command} {game_name} PLAYER ...")
    return SimpleNamespace(**vars(parsed.own), **vars(parsed))


def read(settings: type[EpisodeSettings], command: str, arguments: list[str]) -> tuple[list[str], Any]:
    """The names before the first option, the game's first, and the settings, if they make sense."""
    count = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    found = parse(settings, command, arguments[0], arguments[count:])
    found.own.check()
    return arguments[:count], found


def asks_for_usage(arguments: list[str]) -> bool:
    """Whether a command was given without a game."""
    return not arguments or arguments[0].startswith("-")


def print_usage(usage: str, arguments: list[str]) -> int:
    """Says how a command is used; an error unless that was asked for."""
    print(usage)
    return 0 if arguments[:1] in (["-h"], ["--help"]) else 2


def no_players(command: str, game_name: str) -> ComityError:
    """What is said to a command without players."""
    example = f"comity {command} {shlex.quote(game_name)} random"
    return ComityError(
        f"comity {command} needs at least one player, as in {example}: comity {command} --help says more."
    )


def split_label(source: str) -> tuple[str, str]:
    """What a player is called, and where it is, from PLAYER or NAME=PLAYER."""
    label, separator, rest = source.partition("=")
    if not separator:
        label, rest = source if source.startswith("zoo:") else Path(source).name or source, source
    if not label or not rest:
        raise ComityError(f"{source!r} is not a player: it must be PLAYER or NAME=PLAYER.")
    return label, rest


def seat_named(
    sources: Sequence[str], game: Environment, seats: Sequence[int] | None = None
) -> tuple[tuple[str, ...], PerSeat[Player]]:
    """Names and players of some seats, by default all: one source serves them all, several one each."""
    places = range(len(game.seats)) if seats is None else seats
    if len(sources) not in (1, len(places)):
        raise ComityError(
            f"There are {len(places)} seats for players, and {len(sources)} were given: give one for all of "
            f"them, or {len(places)}."
        )
    chosen = list(sources) * (len(places) if len(sources) == 1 else 1)
    names, players = [], []
    for place, source in zip(places, chosen, strict=True):
        label, rest = split_label(source)
        names.append(label)
        players.append(load_player(rest, game, place))
    return tuple(names), tuple(players)
