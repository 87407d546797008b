"""The gallery: pictures that studies and commands make, kept in docs/gallery with the command of each.

make gallery        # makes them again, in some minutes
"""

import json
import shlex
import shutil
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


# By study: the file that its page leaves beside it, the name here, and what is seen.
STUDIES = {
    "coin": (
        (
            "curves.svg",
            "coin-curves.svg",
            "Ten seeds learn to cooperate",
            "Advantage Alignment in the Coin Game.",
        ),
        ("replay-itself.gif", "coin-itself.gif", "Each takes its own coins", "A trained player with itself."),
    ),
    "ipd": (
        (
            "cooperation.svg",
            "ipd-cooperation.svg",
            "What Advantage Alignment does after each last move",
            "Prisoner's dilemma: P(cooperate) by its own last move and the other's, mean over ten seeds.",
        ),
    ),
    "ipd-loqa": (
        (
            "cooperation.svg",
            "ipd-loqa-cooperation.svg",
            "What LOQA does after each last move",
            "Prisoner's dilemma: P(cooperate) by its own last move and the other's, mean over ten seeds.",
        ),
    ),
    "negotiation": (
        (
            "replay-itself.gif",
            "negotiation.gif",
            "Two bargain over three items",
            "Advantage Alignment with itself.",
        ),
        (
            "curves.svg",
            "negotiation-curves.svg",
            "Learning to bargain",
            "Ten seeds in Negotiation, reward per step.",
        ),
    ),
    "coin-league": (
        (
            "league-50.svg",
            "coin-league-50.svg",
            "All methods head to head",
            "The Coin Game, 50 steps: reward per step of the row player, all seeds.",
        ),
    ),
    "scaling": (
        (
            "scaling.svg",
            "scaling.svg",
            "Larger grids",
            "CPU-seconds until the weak and the strong threshold of LOQA's study, one seed.",
        ),
    ),
    "harvest-scripted": (
        (
            "apples.svg",
            "apples.svg",
            "Greed empties the commons within 50 steps",
            "Commons Harvest, scripted players: apples left, mean of 20 episodes.",
        ),
        (
            "mixed.gif",
            "harvest-mixed.gif",
            "Five spare the bushes, two do not",
            "Commons Harvest, 160 steps.",
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
        if not only or name in only:
            with tempfile.TemporaryDirectory() as place:
                results._study(name).page(results.read(name), Path(place))
                for made, file, *_ in pictures:
                    shutil.copyfile(Path(place) / made, PLACE / file)
    for command, file, *_ in COMMANDS:
        if not only or file in only:
            run(shlex.split(command.replace("OUT", str(PLACE / file)))[1:])
    found = [picture._asdict() for picture in pictures_of_all()]
    write_atomically(PLACE / LIST, (json.dumps(found, indent=2) + "\n").encode())


def pictures_of_all() -> list[Picture]:
    """All pictures, those of studies first."""
    found = [
        Picture(file, title, caption, f"comity reproduce {name} --from-committed")
        for name, pictures in STUDIES.items()
        for _, file, title, caption in pictures
    ]
    return found + [
        Picture(file, title, caption, command.replace("OUT", file))
        for command, file, title, caption in COMMANDS
    ]


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
