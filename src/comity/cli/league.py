"""`comity league GAME PLAYER PLAYER ...`: a head-to-head matrix with confidence intervals."""

import dataclasses
import json
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from comity.api import load_players
from comity.cli.parser import parse_arguments
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.files import write_atomically
from comity.core.game import Environment, PerSeat
from comity.evaluate.league import League, play_league
from comity.play.specs import game_class

USAGE = """usage: comity league GAME PLAYER [PLAYER ...] [options]

A PLAYER is a run folder, a player file, the name of a scripted player, one of your own as MODULE:CLASS, or
one of the zoo as in zoo:coin/adalign/3; NAME=PLAYER gives it a name.
  comity league GAME --help    the options, with the settings of this game"""


@dataclass
class Settings:
    """Lets every player meet every player; prints what each earns per step, seats averaged."""

    episodes: int = 100  # episodes of each pairing, in each arrangement of the seats
    horizon: int | None = None  # steps in an episode; by default the game's own
    seed: int = 0  # everything random follows from it
    deterministic: bool = False  # everybody does what is most likely instead of drawing
    json: Path | None = None  # write the league as JSON to this file; - prints it instead of the table
    csv: Path | None = None  # write one line per pairing to this file
    picture: Path | None = None  # write the heat map as SVG to this file


def run(name: str, arguments: list[str]) -> int:
    """Plays a league."""
    names = []
    while arguments and (not arguments[0].startswith("-")):
        names.append(arguments.pop(0))
    if not names:
        print(USAGE)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    settings = _parse(names[0], arguments)
    if len(names) < 2:
        raise ComityError(
            f"A league needs at least one player, as in comity league {names[0]} random: comity league "
            f"--help says more."
        )
    players = _players(names[1:], settings.game)
    league = _play(settings, players)
    if settings.csv is not None:
        league.save_csv(settings.csv)
    if settings.picture is not None:
        from comity.report.plots import heat_map

        picture = heat_map(league.players, league.mean, league.low, league.high)
        write_atomically(settings.picture, picture.encode())
    if settings.json == Path("-"):
        print(json.dumps(league.to_data()))
        return 0
    if settings.json is not None:
        league.save(settings.json)
    print_league(league)
    return 0


def _parse(game_name: str, arguments: list[str]) -> Any:
    game, given = game_class(game_name)
    # A field, not a base class: the comments of a class made here would not be found for the help.
    fields: list[tuple[str, Any, Any]] = [
        ("own", Annotated[Settings, tyro.conf.arg(name="")], field(default_factory=Settings)),
        ("game", game, field(default_factory=partial(game, **given))),
    ]
    together = dataclasses.make_dataclass("Together", fields)
    together.__doc__ = Settings.__doc__
    parsed: Any = parse_arguments(together, arguments, f"comity league {game_name} PLAYER ...")
    return SimpleNamespace(**vars(parsed.own), **vars(parsed))


def _players(sources: list[str], game: Environment) -> dict[str, PerSeat[Player]]:
    players: dict[str, PerSeat[Player]] = {}
    for source in sources:
        label, separator, rest = source.partition("=")
        if not separator:
            in_zoo = source.startswith("zoo:")
            label, rest = source if in_zoo else Path(source).name or source, source
        if not label or not rest:
            raise ComityError(f"{source!r} is not a player: it must be PLAYER or NAME=PLAYER.")
        if label in players:
            raise ComityError(f"Two players are called {label!r}: give them names, as in first={source}.")
        players[label] = load_players(rest, game)
    return players


def _play(settings: Any, players: dict[str, PerSeat[Player]]) -> League:
    with Console(stderr=True).status(f"{len(players)} players, every one against every one"):
        return play_league(
            settings.game,
            players,
            settings.episodes,
            settings.horizon,
            settings.seed,
            settings.deterministic,
        )


def print_league(league: League) -> None:
    """The matrix as a table: mean, and half the width of the 95% interval; by role where seats differ."""
    played = f"{league.episodes} episodes x {league.horizon} steps"
    half = (league.high - league.low) / 2
    cells = [
        [f"{m:.3f} ±{h:.3f}" for m, h in zip(*row, strict=True)]
        for row in zip(league.mean, half, strict=True)
    ]
    _print_table(league, f"reward per step of the row player, {played}", cells)
    for role, table in league.unlike_roles.items():
        cells = [[f"{mean:.3f}" for mean in row] for row in table]
        _print_table(league, f"reward per step of the row player as {role}", cells)


def _print_table(league: League, title: str, cells: list[list[str]]) -> None:
    table = Table(title=title)
    table.add_column("")
    for name in league.players:
        table.add_column(name, justify="right")
    for name, row in zip(league.players, cells, strict=True):
        table.add_row(name, *row)
    Console(width=None if sys.stdout.isatty() else 24 + 18 * len(league.players)).print(table)
