"""Commons Harvest Open with scripted players: the dilemma in numbers, a figure and three replays.

Seven of a kind, and five that spare the bushes with two that do not. Episodes of 1,000 steps.

    python experiments/harvest/scripted.py [FOLDER]

Writes FOLDER/results.json, FOLDER/apples.png and the replays FOLDER/*.gif.
"""

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

from comity.api import scripted_player
from comity.core.files import write_atomically, write_json
from comity.core.types import PerSeat, Player
from comity.evaluate.commons import play_commons
from comity.evaluate.replay import replay
from comity.evaluate.statistics import bootstrap_mean
from comity.games.commons_harvest import CommonsHarvest
from comity.play.specs import make_game
from comity.report import replays
from comity.train.runner import versions

LENGTH, EPISODES, SEED = 1000, 20, 0
GROUPS = {
    "random": ("random",) * 7,
    "greedy": ("greedy",) * 7,
    "free-rider": ("free-rider",) * 7,
    "sustainable": ("sustainable",) * 7,
    "5 sustainable, 2 greedy": ("sustainable",) * 5 + ("greedy",) * 2,
    "5 sustainable, 2 free-riders": ("sustainable",) * 5 + ("free-rider",) * 2,
}
SHOWN = {"greedy": "greedy", "sustainable": "sustainable", "5 sustainable, 2 free-riders": "mixed"}


def seated(game: CommonsHarvest, names: tuple[str, ...]) -> PerSeat[Player]:
    """The players of a group in their seats."""
    return tuple(scripted_player(name, game, seat) for seat, name in enumerate(names))


def main(out: Path) -> None:
    """Plays, measures, prints, draws and writes."""
    game = make_game("commons-harvest-open", horizon=LENGTH)
    assert isinstance(game, CommonsHarvest)
    out.mkdir(parents=True, exist_ok=True)
    table = Table(title=f"Commons Harvest Open, {EPISODES} episodes of {LENGTH} steps")
    headings = ("players", "collective", "first five, each", "last two, each", "equality", "apples", "bushes")
    for heading in headings:
        table.add_column(heading)
    rows = {}
    figure, axes = plt.subplots(figsize=(7, 3.6))
    for label, names in GROUPS.items():
        started = time.monotonic()
        found = play_commons(game, seated(game, names), EPISODES, LENGTH, SEED)
        collective = bootstrap_mean(found.collective)
        rows[label] = {
            "collective": round(collective.mean, 1),
            "low": round(collective.low, 1),
            "high": round(collective.high, 1),
            "first_five": round(float(found.per_seat[:5].mean()), 1),
            "last_two": round(float(found.per_seat[5:].mean()), 1),
            "equality": round(float(found.equality.mean()), 3),
            "sustainability": round(float(found.sustainability.mean()), 1),
            "peace": round(float(found.peace.mean()), 2),
            "apples_at_end": round(float(found.apples[-1].mean()), 1),
            "bushes_at_end": round(float(found.bushes.mean()), 2),
            "seconds": round(time.monotonic() - started, 1),
        }
        row = rows[label]
        table.add_row(
            label, f"{row['collective']} [{row['low']}, {row['high']}]", str(row["first_five"]),
            str(row["last_two"]), str(row["equality"]), str(row["apples_at_end"]), str(row["bushes_at_end"]),
        )  # fmt: skip
        axes.plot(np.arange(1, LENGTH + 1), found.apples.mean(axis=1), label=label)
    for label, name in SHOWN.items():
        steps = replay(game, seated(game, GROUPS[label]), SEED, 160)
        pictures = replays.frames(game.family, steps[::2])
        write_atomically(out / f"{name}.gif", replays.animation(pictures, 120))
    axes.set_xscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("apples left (of 64)")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(out / "apples.png", dpi=120)
    command = "python experiments/harvest/scripted.py"
    settings = {"episodes": EPISODES, "length": LENGTH, "seed": SEED, "command": command}
    write_json(out / "results.json", {**settings, "versions": versions(), "groups": rows})
    Console(width=130).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduce/harvest-scripted"))
