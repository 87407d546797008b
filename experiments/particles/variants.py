"""What a faster MAPPO costs in what is learned: simple-spread, shorter than `teams.py`, three seeds each.

One value for the whole team (`critic_sees team`) instead of one for each seat, and products in bfloat16, for
a perceptron and a GRU. Reported as "PZ-sum", like `teams.py`.

    python experiments/particles/variants.py [FOLDER]

A run that was stopped goes on where it was. Writes FOLDER/results.json and prints the table.
"""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from teams import BATCH, SETTINGS, returns

from comity.api import load_players
from comity.cli.progress import Progress
from comity.core.files import write_json
from comity.evaluate.statistics import bootstrap_mean
from comity.play.specs import make_agent, make_game
from comity.train.experiment import Experiment, make_experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, versions
from comity.train.seeds import train_seeds

SEEDS = (0, 1, 2)
ITERATIONS = 200
# kind of network, what the critic sees, precision
VARIANTS = (
    ("mlp", "observations", "float32"),
    ("mlp", "team", "float32"),
    ("mlp", "team", "bfloat16"),
    ("gru", "team", "float32"),
    ("gru", "team", "bfloat16"),
)


def experiment(kind: str, sees: str, precision: str) -> Experiment:
    """MAPPO in simple-spread."""
    shape: dict[str, Any] = {"kind": kind, "precision": precision, "depth": 2 if kind == "mlp" else 1}
    nets = {f"{net}.{k}": v for net in ("network", "critic_network") for k, v in shape.items()}
    agent = make_agent("mappo", **(SETTINGS | nets | {"critic_sees": sees}))
    return make_experiment(make_game("simple-spread"), agent, iterations=ITERATIONS, batch=BATCH, chunk=25)


def main(out: Path) -> None:
    """Trains what is missing, measures, prints and writes."""
    rows: dict[str, Any] = {}
    for variant in VARIANTS:
        name, own = ", ".join(variant), experiment(*variant)
        with Progress({seed: f"{name}, seed {seed}" for seed in SEEDS}, ITERATIONS) as progress:
            folders = train_seeds(
                dataclasses.replace(own, seed=0), SEEDS, out / "runs" / "-".join(variant), Options(),
                "processes", "python experiments/particles/variants.py", progress.update,
            )  # fmt: skip
        found = np.asarray([returns("simple-spread", load_players(f, own.game)).sum() for f in folders])
        total = bootstrap_mean(found)
        cpu = [RunFolder(folder).notes()["cpu_seconds"] for folder in folders]
        rows[name] = {
            "experiment": own.to_data(),
            "seeds": [round(float(x), 3) for x in found],
            "mean": round(total.mean, 3),
            "low": round(total.low, 3),
            "high": round(total.high, 3),
            "cpu_seconds": [round(float(x), 1) for x in cpu],
        }
    steps = ITERATIONS * BATCH * 25
    write_json(out / "results.json", {"versions": versions(), "joint_steps": steps, "runs": rows})
    table = Table(title=f"simple-spread, PZ-sum after {steps / 1e6:.1f}M joint steps, {len(SEEDS)} seeds")
    for heading in ("network, critic sees, precision", "mean", "seeds", "CPU-seconds"):
        table.add_column(heading)
    for name, row in rows.items():
        seeds = " ".join(f"{x:.1f}" for x in row["seeds"])
        table.add_row(name, f"{row['mean']:.1f}", seeds, " ".join(f"{x:.0f}" for x in row["cpu_seconds"]))
    Console(width=100).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduce/variants"))
