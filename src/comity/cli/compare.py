"""`comity compare RUN_OR_FOLDER ...`: several kinds of runs on one page."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from comity.cli.parser import parse_arguments
from comity.comparing import Comparison, compare
from comity.core.errors import ComityError, require
from comity.core.files import write_atomically
from comity.evaluate.compared import Compared
from comity.evaluate.comparison import improvement, ranked
from comity.report.verdicts import comparison_verdict, interval, words


@dataclass
class Settings:
    """Compares runs: writes one HTML page with curves, final scores, a league, behaviour and replays.

    Runs that differ in nothing but the seed are of one kind. All runs are of one game.
    """

    sources: tyro.conf.Positional[tuple[str, ...]]  # run folders or folders of runs, also as NAME=FOLDER
    out: Path = Path("comparison.html")  # the page
    metric: str | None = None  # what is compared; by default an evaluation or the reward per step
    minimise: bool = False  # whether less of the metric is better
    smoothing: int | None = None  # logged rows that one point of a curve averages; by default a 50th of them
    opponents: tuple[str, ...] | None = None  # scripted players in the league; by default the usual two
    episodes: int = 100  # episodes of each pairing in the league; 0 plays nothing
    replays: bool = True  # whether to show an episode of each kind
    seed: int = 0  # of what is played
    json: bool = False  # print the result as JSON instead of a table


def run(name: str, arguments: list[str]) -> int:
    """Compares, writes the page and prints the scores."""
    settings = parse_arguments(Settings, arguments, f"comity {name}")
    if not settings.sources:
        raise ComityError("A comparison needs run folders: comity compare runs/first runs/second.")
    require(settings.episodes >= 0, "episodes", settings.episodes, "at least 0")
    require(
        settings.smoothing is None or settings.smoothing >= 1, "smoothing", settings.smoothing, "at least 1"
    )
    command = "comity " + shlex.join([name, *arguments])
    with Console(stderr=True).status("reading runs, playing the league, drawing"):
        found = compare(
            settings.sources,
            metric=settings.metric,
            minimise=settings.minimise,
            smoothing=settings.smoothing,
            opponents=settings.opponents,
            episodes=settings.episodes,
            replays=settings.replays,
            seed=settings.seed,
            command=command,
        )
    show_comparison(found, settings.out, settings.json)
    return 0


def show_comparison(found: Comparison, out: Path, as_json: bool) -> None:
    """Writes the page and prints the scores, or all of it as JSON."""
    write_atomically(out, found.page.encode())
    if as_json:
        print(json.dumps({**found.result.to_data(), "page": str(out)}))
        return
    print_scores(found.result)
    print(out)


def print_scores(found: Compared) -> None:
    """Final scores as a table, the best first, and the verdict."""
    order = ranked(found.scores, found.minimise)
    table = Table(title=f"{found.game}: final {words(found.metric)} [95% interval over runs]")
    table.add_column("")
    for heading in ("runs", "mean", "IQM", "better than the next"):
        table.add_column(heading, justify="right")
    for i, score in enumerate(order):
        better = f"{improvement(score, order[i + 1], found.minimise).mean:.2f}" if i + 1 < len(order) else ""
        table.add_row(score.name, str(len(score.runs)), interval(score.mean), interval(score.iqm), better)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    print(comparison_verdict(found.scores, found.metric, found.league, found.minimise))
    for note in found.notes:
        print(note)
