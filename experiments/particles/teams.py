"""MAPPO and IPPO in the multi-particle games, five seeds each, beside random play.

simple-spread is reported as the sum over agents of what each earns in an episode of 25 steps ("PZ-sum"); the
older convention, which shares the sum and counts an agent's collision with itself, is 2 x PZ-sum - 75. The
games with unlike seats are reported seat by seat.

    python experiments/particles/teams.py [FOLDER]

A run that was stopped goes on where it was. Writes FOLDER/results.json and FOLDER/curves.png.
"""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import jax
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

from comity.api import load_players, scripted_player
from comity.cli.progress import Progress
from comity.core.files import write_json
from comity.core.types import PerSeat, Player
from comity.evaluate.statistics import bootstrap_mean
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.train.experiment import Experiment, make_experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, versions
from comity.train.seeds import train_seeds

SEEDS = (0, 1, 2, 3, 4)
EPISODES = 400
BATCH = 128
SETTINGS: dict[str, Any] = {
    "network.kind": "mlp",
    "network.width": 64,
    "network.depth": 2,
    "critic_network.kind": "mlp",
    "critic_network.width": 64,
    "critic_network.depth": 2,
    "epochs": 10,
    "learning_rate": 2e-3,
    "final_learning_rate": 0.05,
    "final_entropy": 0.1,
    "discount": 0.9,
}
# game and learner: iterations of BATCH x 25 joint steps, and what the sum over seats must be
RUNS: dict[tuple[str, str], tuple[int, float | None]] = {
    ("simple-spread", "mappo"): (1500, -30.0),
    ("simple-spread", "ippo"): (1500, -30.0),
    ("simple-speaker-listener", "mappo"): (300, None),
    ("simple-tag", "mappo"): (300, None),
}


def experiment(game: str, learner: str, iterations: int) -> Experiment:
    """The experiment of one learner in one game."""
    agent = make_agent(learner, **SETTINGS)
    return make_experiment(make_game(game), agent, iterations=iterations, batch=BATCH, chunk=25)


def returns(game: str, players: PerSeat[Player]) -> np.ndarray:
    """What each seat earns in an episode, averaged over episodes."""
    played = play(make_game(game), players, jax.random.key(0), EPISODES, 25)
    return np.asarray([np.asarray(reward).sum(axis=0).mean() for reward in played.step.reward])


def main(out: Path) -> None:
    """Trains what is missing, measures, prints and writes."""
    rows: dict[str, Any] = {}
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4))
    panels = dict(zip(dict.fromkeys(game for game, _ in RUNS), axes, strict=True))
    for (name, learner), (iterations, must) in RUNS.items():
        own = experiment(name, learner, iterations)
        started = time.monotonic()
        with Progress({seed: f"{name}, {learner}, seed {seed}" for seed in SEEDS}, iterations) as progress:
            folders = train_seeds(
                dataclasses.replace(own, seed=0), SEEDS, out / "runs" / f"{name}-{learner}", Options(),
                "auto", "python experiments/particles/teams.py", progress.update,
            )  # fmt: skip
        found = np.stack([returns(name, load_players(folder, own.game)) for folder in folders])
        idle = returns(
            name, tuple(scripted_player("random", own.game, i) for i in range(len(own.game.seats)))
        )
        total = bootstrap_mean(found.sum(axis=1))
        rows[f"{name}, {learner}"] = {
            "experiment": own.to_data(),
            "joint_steps": iterations * BATCH * 25,
            "seats": [seat.name for seat in own.game.seats],
            "random": [round(float(x), 3) for x in idle],
            "by_seat": [round(float(x), 3) for x in found.mean(axis=0)],
            "seeds": [round(float(x), 3) for x in found.sum(axis=1)],
            "mean": round(total.mean, 3),
            "low": round(total.low, 3),
            "high": round(total.high, 3),
            "must": must,
            "holds": None if must is None else bool(total.mean >= must),
            "seconds": round(time.monotonic() - started, 1),
        }
        _draw(panels[name], learner, folders)
    write_json(out / "results.json", {"versions": versions(), "episodes": EPISODES, "runs": rows})
    for name, panel in panels.items():
        panel.set_title(name)
        panel.set_xlabel("million joint steps")
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("return of an episode, sum over seats")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(out / "curves.png", dpi=120)
    table = Table(title="Return of an episode of 25 steps, summed over seats, 5 seeds")
    for heading in ("game", "random", "must", "Comity", "interval", "by seat (random)"):
        table.add_column(heading)
    for name, row in rows.items():
        seats = ", ".join(
            f"{seat} {x:.1f} ({r:.1f})"
            for seat, x, r in zip(row["seats"], row["by_seat"], row["random"], strict=True)
        )
        goal = "" if row["must"] is None else f"{row['must']:.0f}"
        between = f"[{row['low']:.1f}, {row['high']:.1f}]"
        table.add_row(name, f"{sum(row['random']):.1f}", goal, f"{row['mean']:.1f}", between, seats)
    Console(width=140).print(table)


def _draw(panel: Any, learner: str, folders: list[Path]) -> None:
    """Training curves: the mean over seeds, and each seed faintly."""
    curves = []
    for folder in folders:
        metrics = RunFolder(folder).metrics()
        paid = [[v for k, v in row.items() if k.startswith("reward")] for row in metrics]
        seats = len(RunFolder(folder).experiment().game.seats)
        curves.append([25 * (row[0] * seats if len(row) == 1 else sum(row)) for row in paid])
        steps = [row["iteration"] * BATCH * 25 / 1e6 for row in metrics]
    colour = panel.plot(steps, np.mean(curves, axis=0), label=learner)[0].get_color()
    for curve in curves:
        panel.plot(steps, curve, color=colour, alpha=0.2, linewidth=0.7)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduce/particles"))
