"""`comity league GAME PLAYER PLAYER ...`: a head-to-head matrix with confidence intervals."""

import dataclasses
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from comity.api import league
from comity.cli.seating import parse, split_label
from comity.core.errors import ComityError, require
from comity.core.files import write_atomically
from comity.evaluate.league import League
from comity.evaluate.standing import standings

WIDE = 1000  # columns where nobody looks: a file or another program
USAGE = """usage: comity league GAME PLAYER [PLAYER ...] [options]

A PLAYER is a run folder, a folder of several seeds, a player file, the name of a scripted player, one of
your own as MODULE:CLASS, or one of the zoo as in zoo:coin/adalign/3; NAME=PLAYER gives it a name.
  comity league GAME --help    the options, with the settings of this game"""


@dataclass
class Settings:
    """Lets every player meet every player; prints what each earns per step, seats averaged."""

    episodes: int = 100  # episodes of each pairing, in each arrangement of the seats
    horizon: int | None = None  # steps in an episode; by default the game's own, or 500
    seed: int = 0  # everything random follows from it
    deterministic: bool = False  # everybody does what is most likely instead of drawing
    # a folder of several seeds: one player with intervals over seeds, or each seed a player
    seeds: Literal["mean", "each"] = "mean"
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
    settings = parse(Settings, name, names[0], arguments)
    if len(names) < 2:
        raise ComityError(
            f"A league needs at least one player, as in comity league {names[0]} random: comity league "
            f"--help says more."
        )
    require(0 <= settings.seed < 2**31, "seed", settings.seed, "between 0 and 2147483647")
    sources = _sources(names[1:])
    found = dataclasses.replace(_play(settings, sources), sources=sources)
    if settings.csv is not None:
        found.save_csv(settings.csv)
    if settings.picture is not None:
        from comity.report.plots import heat_map
        from comity.report.svg import as_file

        picture = heat_map(found.players, found.mean, found.low, found.high)
        write_atomically(settings.picture, as_file(picture))
    if settings.json == Path("-"):
        print(json.dumps(found.to_data()))
        return 0
    if settings.json is not None:
        found.save(settings.json)
    print_league(found)
    return 0


def _sources(given: list[str]) -> dict[str, str]:
    """What each player is called, and where it is."""
    sources: dict[str, str] = {}
    for source in given:
        label, rest = split_label(source)
        if label in sources:
            raise ComityError(f"Two players are called {label!r}: give them names, as in first={source}.")
        sources[label] = rest
    return sources


def _play(settings: Any, sources: dict[str, str]) -> League:
    with Console(stderr=True).status(f"{len(sources)} players, every one against every one"):
        return league(
            settings.game,
            sources,
            episodes=settings.episodes,
            horizon=settings.horizon,
            seed=settings.seed,
            deterministic=settings.deterministic,
            seeds=settings.seeds,
        )


def print_league(found: League, out: Console | None = None) -> None:
    """How the players stand, the best first, and what each earns against each; by role where seats differ."""
    out = out or Console(width=None if sys.stdout.isatty() else WIDE)
    order = [found.players.index(row.player) for row in standings(found)]
    _print_standings(found, out)
    played = f"{found.episodes} episodes x {found.horizon} steps"
    half = (found.high - found.low) / 2
    cells = [[f"{found.mean[i, j]:.3f} ±{half[i, j]:.3f}" for j in order] for i in order]
    names = [found.players[i] for i in order]
    _print_matrix(out, f"reward per step of the row player, {played}", names, cells)
    for role, table in found.unlike_roles.items():
        cells = [[f"{table[i, j]:.3f}" for j in order] for i in order]
        _print_matrix(out, f"reward per step of the row player as {role}", names, cells)


def _print_standings(found: League, out: Console) -> None:
    """One line a player: what a league is about."""
    table = Table()
    shown = [name for name in ("cooperation", "equality") if name in found.outcomes]
    for heading in ("player", "self-play", "exploitation", "by", "less exploitation", *shown, "mean"):
        table.add_column(heading, justify="left" if heading in ("player", "by") else "right", overflow="fold")
    for row in standings(found):
        i = found.players.index(row.player)
        outcomes = [found.outcomes[name].mean[i, i] for name in shown]
        table.add_row(
            row.player,
            f"{row.self_play:.3f} ±{row.half:.3f}",
            f"{row.exploitation:.3f}",
            row.exploiter or "nobody",
            f"{row.secured:.3f}",
            *("-" if math.isnan(value) else f"{value:.2f}" for value in outcomes),
            f"{row.mean:.3f}",
        )
    out.print("players, the best first by self-play less exploitation, the most that one earns more than it")
    out.print(table)


def _print_matrix(out: Console, title: str, names: list[str], cells: list[list[str]]) -> None:
    """A table of all pairings; where names do not fit, columns have numbers and stand in several tables."""
    out.print(title)
    headings, rows, step = names, names, len(names)
    widest = max(len(cell) for line in cells for cell in line) + 3
    room = out.width - min(max(map(len, names)) + 3, out.width // 2) - 4
    if sum(max(widest, len(name) + 3) for name in names) > room:
        headings = [str(k) for k in range(1, len(names) + 1)]
        rows = [f"{k} {name}" for k, name in zip(headings, names, strict=True)]
        step = max(1, min(len(names), room // widest))
    for start in range(0, len(names), step):
        part = slice(start, start + step)
        table = Table()
        table.add_column("", overflow="fold")
        for heading in headings[part]:
            table.add_column(heading, justify="right", no_wrap=True)
        for name, line in zip(rows, cells, strict=True):
            table.add_row(name, *line[part])
        out.print(table)
