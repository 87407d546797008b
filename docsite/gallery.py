"""The gallery: pictures that studies and commands make, kept in docs/gallery with the command of each.

make gallery        # makes them again, in some minutes
"""

import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from docsite import results
from docsite.markup import cell

PLACE = Path(__file__).parents[1] / "docs" / "gallery"
LIST = "pictures.json"


class Picture(NamedTuple):
    """A picture of the gallery: its file, what is seen, and the command that makes it."""

    file: str
    title: str
    caption: str
    command: str


# By study: how to draw a picture of its committed results, its file, and what is seen.
STUDIES = {
    "coin-league": (
        (
            "league",
            "coin-league-50.svg",
            "All methods head to head",
            "The Coin Game, 50 steps: reward per step of the row player, all seeds of the zoo.",
        ),
    ),
    "coin": (
        (
            "curves",
            "coin-curves.svg",
            "Ten seeds learn to cooperate",
            "Advantage Alignment in the Coin Game.",
        ),
    ),
    "negotiation": (
        ("curves", "negotiation-curves.svg", "Learning to bargain", "Ten seeds in Negotiation."),
    ),
    "ipd": (
        (
            "bars",
            "ipd-cooperation.svg",
            "What Advantage Alignment does after each last move",
            "Prisoner's dilemma: P(cooperate) by its own last move and the other's, mean over ten seeds.",
        ),
    ),
    "ipd-loqa": (
        (
            "bars",
            "ipd-loqa-cooperation.svg",
            "What LOQA does after each last move",
            "Prisoner's dilemma: P(cooperate) by its own last move and the other's, mean over ten seeds.",
        ),
    ),
    "scaling": (
        (
            "page",
            "scaling.svg",
            "Larger grids",
            "CPU-seconds until the weak and the strong threshold of LOQA's study, one seed.",
        ),
    ),
}
# Pictures of commands; OUT is the file.
COMMANDS = (
    (
        "comity replay coin AdAlign=zoo:coin/adalign/0 always-defect --steps 25 --out OUT",
        "coin-against-defect.gif",
        "Not exploited",
        "Advantage Alignment and always-defect in the Coin Game.",
    ),
    (
        "comity league coin AdAlign=zoo:coin/adalign/0 LOQA=zoo:coin/loqa/0 POLA=zoo:coin/pola/0 "
        "always-cooperate always-defect tit-for-tat --picture OUT",
        "coin-heat-map.svg",
        "Who earns what against whom",
        "A league in the Coin Game: reward per step of the row player.",
    ),
    (
        "comity replay coin zoo:coin/adalign/0 --steps 25 --out OUT",
        "coin-itself.gif",
        "Each takes its own coins",
        "Advantage Alignment with itself in the Coin Game.",
    ),
    (
        "comity replay negotiation zoo:negotiation/adalign/0 --steps 12 --fps 1.5 --out OUT",
        "negotiation.gif",
        "Two bargain over three items",
        "Advantage Alignment with itself in Negotiation.",
    ),
    (
        "comity solve chicken --draw flow --picture OUT",
        "chicken-flow.svg",
        "Where learning leads in chicken",
        "The replicator dynamics of two populations, with stable and unstable rest points.",
    ),
)


def main() -> None:
    """Makes the pictures of the named studies and commands, or all of them, and the list of all."""
    from comity.cli import run
    from comity.core.files import write_atomically

    only = set(sys.argv[1:])
    for name, pictures in STUDIES.items():
        for way, file, *_ in pictures if not only or name in only else ():
            write_atomically(PLACE / file, drawn(way, name))
    for command, file, *_ in COMMANDS:
        if not only or file in only:
            run(shlex.split(command.replace("OUT", str(PLACE / file)))[1:])
    found = [picture._asdict() for picture in pictures_of_all()]
    write_atomically(PLACE / LIST, (json.dumps(found, indent=2) + "\n").encode())


def drawn(way: str, name: str) -> bytes:
    """A picture of the committed results of a study, as its own page draws it."""
    import numpy as np

    from comity.evaluate.curves import learning_curve
    from comity.report import plots
    from comity.report.svg import as_file
    from comity.studies.training import curves_of

    study, found = results.study(name), results.read(name)
    if way == "curves":
        curves = curves_of(found["players"], Path())
        return as_file(
            plots.learning_curves({found["agent"]: learning_curve(curves, "reward")}, "reward per step")
        )
    if way == "bars":
        states = [claim for claim in found["claims"] if claim["kind"] == "cooperates"]
        shares = {"mean over seeds": np.asarray([claim["mean"] for claim in states])}
        return as_file(plots.state_bars([claim["against"] for claim in states], shares, "P(cooperate)"))
    if way == "league":
        rows = [row for row in found["tables"]["50"] if row["comity"] is not None]
        names = list(dict.fromkeys(row["row"] for row in rows))
        names += [row["column"] for row in rows if row["column"] not in names]
        mean = np.full((len(set(names)),) * 2, np.nan)
        for row in rows:
            i, j = names.index(row["row"]), names.index(row["column"])
            mean[i, j], mean[j, i] = row["comity"]
        return as_file(plots.heat_map(list(dict.fromkeys(names)), mean))
    with tempfile.TemporaryDirectory() as place:
        study.page(found, Path(place))
        return next(Path(place).glob("*.svg")).read_bytes()


def pictures_of_all() -> list[Picture]:
    """All pictures that were made, those of studies first."""
    found = [
        Picture(file, title, caption, f"comity reproduce {name} --from-committed")
        for name, pictures in STUDIES.items()
        for _, file, title, caption in pictures
    ]
    found += [
        Picture(file, title, caption, text.replace("OUT", file)) for text, file, title, caption in COMMANDS
    ]
    return [picture for picture in found if (PLACE / picture.file).exists()]


def page() -> str:
    """The pictures of the gallery with their commands, as Markdown."""
    found = [Picture(**own) for own in json.loads((PLACE / LIST).read_text(encoding="utf-8"))]
    return "\n\n".join(
        f"## {cell(own.title)}\n\n![{cell(own.title)}](gallery/{own.file})\n\n"
        f"{cell(own.caption)}\n\n```\n{own.command}\n```"
        for own in found
    )


if __name__ == "__main__":
    main()
