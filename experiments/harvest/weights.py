"""Commons Harvest: what the weight of the alignment term does, alone and among others. Seed 0.

The zoo's recipe of Proximal Advantage Alignment with nothing changed but the weight; .5 is the zoo's player.

    python experiments/harvest/weights.py [FOLDER]

A run that was stopped goes on where it was. Writes FOLDER/results.json and prints the table.
"""

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from comity.api import load_player, scripted_player
from comity.cli.progress import Progress
from comity.core.files import write_json
from comity.core.types import Player
from comity.evaluate.harvest import MIXED, harvest
from comity.games.commons_harvest import CommonsHarvest
from comity.play.specs import make_game
from comity.play.zoo import zoo_recipe
from comity.train.experiment import Experiment
from comity.train.runner import Options, versions
from comity.train.seeds import train_seeds

GAME, AGENT = "commons-harvest-open", "proximal-adalign"
WEIGHTS = (0.5, 1.0, 2.0)
EPISODES, LENGTH = 8, 1000
COMMAND = "python experiments/harvest/weights.py"


def trained(weight: float, out: Path) -> Player:
    """The player of a weight: the zoo's, or one that is trained now."""
    data: dict[str, Any] = zoo_recipe(GAME, AGENT)
    if data["agents"][0]["weight"] == weight:
        return load_player(f"zoo:{GAME}/{AGENT}/0")
    experiment = Experiment.from_data({**data, "agents": [{**data["agents"][0], "weight": weight}]})
    with Progress({0: f"weight {weight:g}"}, experiment.iterations) as progress:
        place = out / "runs" / f"weight-{weight:g}"
        (folder,) = train_seeds(experiment, (0,), place, Options(), "auto", COMMAND, progress.update)
    return load_player(folder)


def main(out: Path) -> None:
    """Trains what is missing, measures, prints and writes."""
    game = make_game(GAME, horizon=LENGTH)
    assert isinstance(game, CommonsHarvest)
    companies = {"itself": ()} | {
        f"2 {name}": tuple(scripted_player(name, game, seat) for seat in (5, 6)) for name in MIXED
    }
    table = Table(title="Proximal Advantage Alignment in Commons Harvest by weight, seed 0")
    for heading in (
        "weight",
        "seats 6, 7",
        "focal, each",
        "others, each",
        "collective",
        "equality",
        "bushes",
    ):
        table.add_column(heading)
    rows = []
    for weight in WEIGHTS:
        player = trained(weight, out)
        for company, others in companies.items():
            found = harvest(game, player, others, EPISODES, LENGTH).to_data()
            rows.append({"weight": weight, "company": company, **found})
            numbers = [f"{found[x]:.2f}" for x in ("focal", "others", "collective", "equality", "bushes")]
            table.add_row(f"{weight:g}", company, *numbers)
    settings = {"episodes": EPISODES, "length": LENGTH, "seed": 0, "command": COMMAND}
    write_json(out / "results.json", {**settings, "versions": versions(), "rows": rows})
    Console(width=110).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduce/harvest-weights"))
