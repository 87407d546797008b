"""`comity schelling GAME COOPERATOR DEFECTOR`: what each earns by how many of the others cooperate."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from comity.api import load_player
from comity.cli.seating import PLAYERS, asks_for_usage, parse, print_usage
from comity.cli.solve import console, show
from comity.core.errors import ComityError, require
from comity.core.files import write_atomically
from comity.evaluate.curves import Curve
from comity.evaluate.schelling import Schelling, schelling
from comity.games.transforms import with_horizon
from comity.report.plots import learning_curves
from comity.report.svg import as_file

USAGE = f"""usage: comity schelling GAME COOPERATOR DEFECTOR [options]

Plays a game with every number of cooperators beside defectors: what each of them earns by how many of the
others cooperate, and whether the game is a social dilemma.
{PLAYERS}
  comity schelling GAME --help    the options, with the settings of this game"""


@dataclass
class Settings:
    """Measures what a cooperator and a defector earn by how many of the others cooperate."""

    episodes: int = 20  # episodes of each seating
    horizon: int | None = None  # steps in an episode; by default the game's own, or 500
    seed: int = 0  # everything random follows from it
    picture: Path | None = None  # write the diagram as SVG to this file
    json: bool = False  # print the result as JSON instead of a table


def run(name: str, arguments: list[str]) -> int:
    """Plays, and prints the table and what follows from it."""
    if asks_for_usage(arguments):
        return print_usage(USAGE, arguments)
    count = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names = arguments[:count]
    parsed = parse(Settings, name, names[0], arguments[count:])
    settings: Settings = parsed.own
    require(0 <= settings.seed < 2**31, "seed", settings.seed, "between 0 and 2147483647")
    if len(names) != 3:
        raise ComityError(
            "comity schelling needs a game, who cooperates and who defects, as in comity schelling "
            "public-goods always-cooperate always-defect."
        )
    game = parsed.game if settings.horizon is None else with_horizon(parsed.game, settings.horizon)
    players = [tuple(load_player(word, game, seat) for seat in range(len(game.seats))) for word in names[1:]]
    found = schelling(game, players[0], players[1], settings.episodes, settings.seed)
    if settings.picture is not None:
        write_atomically(settings.picture, as_file(diagram(found)))
    if settings.json:
        print(json.dumps(found.as_data(), allow_nan=False))
        return 0
    _print(found)
    if settings.picture is not None:
        print(settings.picture)
    return 0


def diagram(found: Schelling) -> str:
    """Both curves with their intervals, as SVG."""
    x = np.arange(len(found.cooperates), dtype=np.float64)
    curves = {
        name: Curve(x, mean, found.low[row], found.high[row])
        for row, (name, mean) in enumerate((("cooperates", found.cooperates), ("defects", found.defects)))
    }
    return learning_curves(curves, "reward per step", xlabel="others who cooperate")


def _print(found: Schelling) -> None:
    out = console()
    rows = [
        [
            str(others),
            *(
                f"{mean[others]:.3f} [{found.low[row, others]:.3f}, {found.high[row, others]:.3f}]"
                for row, mean in enumerate((found.cooperates, found.defects))
            ),
        ]
        for others in range(len(found.cooperates))
    ]
    show(out, "Reward per step [95%]", ["others who cooperate", "who cooperates", "who defects"], rows)
    verdict = "a social dilemma" if found.is_dilemma else "no social dilemma"
    out.print(
        f"With these players this is {verdict}: fear {found.fear:+.3f} (what defecting gains where nobody "
        f"else cooperates), greed {found.greed:+.3f} (where all others do), and all gain "
        f"{found.gain:+.3f} by cooperating."
    )
