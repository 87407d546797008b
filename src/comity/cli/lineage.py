"""`comity lineage FOLDER`: who descends from whom in a population that was trained."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from comity.cli.parser import parse_arguments
from comity.cli.solve import console, save_picture, short, show
from comity.training.populations.lineage import Individual, read_lineage


@dataclass
class Settings:
    """Prints the line of a population's fittest member, and how each generation did."""

    # what `comity train ... --population pbt,... --out FOLDER` wrote
    folder: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="FOLDER")]]
    member: str = ""  # another member than the fittest, as in generation-002/member-1
    picture: Path | None = None  # draw all members to this file: .png, .svg or .pdf
    json: bool = False  # print the whole lineage as JSON for a program


def run(name: str, arguments: list[str]) -> int:
    """Prints and draws a lineage."""
    settings = parse_arguments(Settings, arguments or ["--help"], "comity lineage")
    lineage = read_lineage(settings.folder)
    if settings.picture is not None:
        from comity.report.lineage import draw_lineage

        save_picture(draw_lineage(lineage.to_data()), settings.picture)
    if settings.json:
        print(json.dumps(lineage.to_data()))
        return 0
    out = console()
    out.print(f"fitness is {lineage.measure}\n")
    rows = []
    for number, generation in enumerate(lineage.generations):
        known = sorted(own.fitness for own in generation if own.fitness is not None)
        copies = sum(own.parent is not None and _place(own.parent) != _place(own.name) for own in generation)
        if known:
            median = known[len(known) // 2]
            rows.append([str(number), short(known[-1]), short(median), short(known[0]), str(copies)])
    show(out, "Generations", ["generation", "best", "median", "worst", "copies"], rows)
    line = lineage.ancestors(settings.member or lineage.best.name)
    settings_names = list(line[0].settings)
    show(
        out,
        f"The line of {line[-1].name}",
        ["member", "fitness", *settings_names],
        [_row(own, settings_names) for own in line],
    )
    return 0


def _place(name: str) -> str:
    return name.rpartition("/")[2]


def _row(own: Individual, names: list[str]) -> list[str]:
    fitness = "-" if own.fitness is None else short(own.fitness)
    return [own.name, fitness, *(short(own.settings[name]) for name in names)]
