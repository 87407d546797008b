"""M-FOS against a naive learner in the prisoner's dilemma: PPO and evolution on the meta-game, 5 seeds.

Published (Lu et al., 2022): it extorts, so it earns more than mutual cooperation would (-1 per step).

    python experiments/prisoners_dilemma/mfos.py [FOLDER]

A run that was stopped goes on where it was. Writes FOLDER/results.json and the trained players' rewards.
"""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from comity.api import load_player
from comity.cli.progress import Progress
from comity.core.files import write_json
from comity.evaluate.statistics import bootstrap_mean
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.train.experiment import make_experiment
from comity.train.runner import Options, versions
from comity.train.seeds import train_seeds

SEEDS = (0, 1, 2, 3, 4)
EPISODES = 256
MUST = -1.05
LEARNERS: dict[str, dict[str, Any]] = {
    "mfos": {"iterations": 150, "batch": 64},
    "evolution": {"iterations": 300, "batch": 64},
}


def measure(folder: Path) -> dict[str, float]:
    """What the shaper earns per step over meta-episodes, and in their last tenth."""
    game = make_game("meta-game")
    assert game.horizon is not None
    played = play(game, (load_player(folder),), jax.random.key(0), EPISODES, game.horizon)
    reward = np.asarray(played.step.reward[0])
    # What the naive learner does at the end: P(cooperate) after start, CC, CD, DC, DD in its own view.
    other = np.asarray(played.step.obs[0])[-1, :, 5:].mean(axis=0)
    last = reward[-game.horizon // 10 :].mean()
    return {"reward": float(reward.mean()), "last": float(last), "after_cc": float(other[1])}


def main(out: Path) -> None:
    """Trains what is missing, measures, prints and writes."""
    rows: dict[str, Any] = {}
    for name, settings in LEARNERS.items():
        game = make_game("meta-game")
        experiment = make_experiment(game, make_agent(name, game), chunk=10, **settings)
        started = time.monotonic()
        names = {seed: f"{name}, seed {seed}" for seed in SEEDS}
        with Progress(names, experiment.iterations) as progress:
            folders = train_seeds(
                dataclasses.replace(experiment, seed=0),
                SEEDS,
                out / "runs" / name,
                Options(),
                "auto",
                "python experiments/prisoners_dilemma/mfos.py",
                progress.update,
            )
        found = [measure(folder) for folder in folders]
        values = np.asarray([row["reward"] for row in found])
        interval = bootstrap_mean(values)
        rows[name] = {
            "experiment": experiment.to_data(),
            "seeds": [{key: round(value, 4) for key, value in row.items()} for row in found],
            "mean": round(interval.mean, 4),
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
            "must": MUST,
            "holds": bool(interval.mean >= MUST),
            "seconds": round(time.monotonic() - started, 1),
        }
    write_json(out / "results.json", {"versions": versions(), "episodes": EPISODES, "learners": rows})
    table = Table(title="Meta-game, prisoner's dilemma: reward per step against a naive learner")
    for heading in ("learner", "must", "mean", "interval", "seeds"):
        table.add_column(heading)
    for name, row in rows.items():
        seeds = " ".join(f"{item['reward']:.3f}" for item in row["seeds"])
        between = f"[{row['low']:.3f}, {row['high']:.3f}]"
        table.add_row(name, f"{MUST:.2f}", f"{row['mean']:.3f}", between, seeds)
    Console(width=100).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduce/mfos"))
