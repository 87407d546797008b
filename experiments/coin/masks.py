"""Which part of the alignment term does what: Coin Game, self-play with cases of the term left out.

The zoo's recipe, shortened, with the paper's term (no goodwill) and less weight, and nothing changed but the
cases left out: three seeds of each. Published: the paper's figure 7 (masking C and E .002, E .027, S .107,
V .126, V and S .135).

    python experiments/coin/masks.py [FOLDER]

A run that was stopped goes on where it was. Writes FOLDER/results.json and prints the table.
"""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from comity.api import load_player
from comity.cli.progress import Progress
from comity.core.files import write_json
from comity.evaluate.league import play_league
from comity.evaluate.statistics import bootstrap_mean
from comity.play.zoo import zoo_recipe
from comity.train.experiment import Experiment
from comity.train.runner import Options, versions
from comity.train.seeds import train_seeds

SEEDS = (0, 1, 2)
ITERATIONS = 800
BATCH = 256
WEIGHT = 0.8  # at the zoo's 2.2 agents without vengeance and spite do best with themselves
HORIZON = 50
EPISODES = 400
# label: cases left out, and the published reward of self-play
MASKS: dict[str, tuple[tuple[str, ...], float]] = {
    "none": ((), 0.305),
    "V, S": (("vengeful", "spiteful"), 0.135),
    "V": (("vengeful",), 0.126),
    "S": (("spiteful",), 0.107),
    "E": (("empathetic",), 0.027),
    "C, E": (("cooperative", "empathetic"), 0.002),
}


def recipe(without: tuple[str, ...]) -> Experiment:
    """The zoo's experiment, shortened, with the paper's term but for some of its cases."""
    data: dict[str, Any] = {**zoo_recipe("coin", "adalign"), "iterations": ITERATIONS, "batch": BATCH}
    data["agents"] = [{**data["agents"][0], "goodwill": 0.0, "weight": WEIGHT, "without": list(without)}]
    return dataclasses.replace(Experiment.from_data(data), seed=0)


def self_play(folder: Path, experiment: Experiment) -> float:
    """What the trained player earns per step with itself."""
    league = play_league(experiment.game, {"player": load_player(folder)}, EPISODES, HORIZON, seed=0)
    return float(league.mean[0, 0])


def main(out: Path) -> None:
    """Trains what is missing, measures, prints and writes."""
    rows: dict[str, dict[str, Any]] = {}
    for label, (without, published) in MASKS.items():
        experiment, started = recipe(without), time.monotonic()
        names = {seed: f"without {label}, seed {seed}" for seed in SEEDS}
        with Progress(names, ITERATIONS) as progress:
            command = "python experiments/coin/masks.py"
            place = out / "runs" / label.lower().replace(", ", "-")
            folders = train_seeds(experiment, SEEDS, place, Options(), "auto", command, progress.update)
        values = np.asarray([self_play(folder, experiment) for folder in folders])
        rows[label] = {
            "without": list(without),
            "published": published,
            "seeds": [round(float(x), 4) for x in values],
            "mean": round(float(values.mean()), 4),
            "seconds": round(time.monotonic() - started, 1),
        }
        interval = bootstrap_mean(values)
        rows[label].update(low=round(interval.low, 4), high=round(interval.high, 4))
    results = {
        "iterations": ITERATIONS,
        "batch": BATCH,
        "weight": WEIGHT,
        "horizon": HORIZON,
        "episodes": EPISODES,
    }
    write_json(out / "results.json", {**results, "versions": versions(), "masks": rows})
    table = Table(title=f"Coin Game, self-play after {ITERATIONS} iterations, T = {HORIZON}")
    for heading in ("left out", "published", "Comity", "seeds"):
        table.add_column(heading)
    for label, row in rows.items():
        seeds = " ".join(f"{x:.3f}" for x in row["seeds"])
        table.add_row(label, f"{row['published']:.3f}", f"{row['mean']:.3f}", seeds)
    Console(width=100).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduce/masks"))
