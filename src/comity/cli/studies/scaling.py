"""`comity reproduce scaling`: how long the Coin Game takes on larger grids, until three thresholds.

The study of Aghajohari et al., 2024 ("LOQA"): rewards per step, times 2 floor(n / 2) for a grid of n x n so
that sizes can be compared, in self-play and against always-defect.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from comity.api import scripted_player
from comity.cli.progress import Progress
from comity.core.compilation import compiled, use_compilation_cache
from comity.core.errors import ComityError, require
from comity.core.files import write_atomically, write_json
from comity.evaluate.league import play_league
from comity.play.zoo import zoo_recipe
from comity.report import html, plots, sections
from comity.train import loop
from comity.train.experiment import Experiment
from comity.train.folder import RunFolder
from comity.train.runner import check_finite, create, restore_or_start, versions

AGENTS = ("adalign", "loqa")
SIZES = (3, 4, 5, 6, 7)
THRESHOLDS = {
    "weak": (0.05, -1.2),
    "medium": (0.1, -0.5),
    "strong": (0.2, -0.2),
}  # self-play, against always-defect
PUBLISHED = {  # seconds on an A100 until the weak threshold
    "loqa": {3: 158, 4: 161, 5: 239, 6: 392, 7: 1193},
    "pola": {3: 1580, 4: 1594, 5: 2582, 6: 2745, 7: 5247},
}
EVERY = 20  # iterations between two measurements
EPISODES = 100
HORIZON = 50
NOTE = (
    "Seconds of one CPU core, measuring aside, until self-play and play against always-defect pass a "
    "threshold for the first time; published seconds are those of an A100 for the weak one. A dash: not "
    "within the time given, nor within the iterations of the recipe for the 3 x 3 grid. One seed."
)


def run(out: Path, minutes: float, from_committed: bool, as_json: bool) -> int:
    """Trains what is missing, then prints and writes."""
    if from_committed:
        raise ComityError(
            "The scaling study measures time, so no players stand for it: run it without --from-committed or "
            "read experiments/coin/scaling in the repository."
        )
    require(minutes > 0, "minutes", minutes, "above 0")
    histories = {
        (agent, size): climb(agent, size, out / "runs" / f"{agent}-{size}", minutes, as_json)
        for size in SIZES
        for agent in AGENTS
    }
    results = summary(histories, minutes)
    write_json(out / "results.json", results)
    _write_page(out, results)
    if as_json:
        print(json.dumps(results))
    else:
        _print(results)
        print(out / "report.html")
    return 0


def climb(agent: str, size: int, place: Path, minutes: float, quiet: bool = True) -> dict[str, Any]:
    """Trains on a grid until the strong threshold or the end of the time; goes on where it was stopped."""
    use_compilation_cache()
    experiment = grid_experiment(agent, size)
    folder = (
        RunFolder.open(place) if place.exists() else create(experiment, place, "comity reproduce scaling")
    )
    state = restore_or_start(folder, experiment)
    folder.rewind_metrics(int(state.iteration))
    history: list[dict[str, float]] = [
        row for row in folder.notes().get("history", []) if row["iteration"] <= int(state.iteration)
    ]
    advance = compiled(loop.advance, donate="all-except-first")
    spent = history[-1]["seconds"] if history else 0.0
    steps = experiment.batch * experiment.unroll
    label = f"{agent}, grid {size}"
    with Progress({0: label}, experiment.iterations, quiet=quiet) as progress:
        while int(state.iteration) < experiment.iterations and spent < 60.0 * minutes:
            if history and reached(history[-1], size, "strong"):
                break
            iteration, started = int(state.iteration), time.process_time()
            state, metrics = advance(experiment, state, EVERY)
            means = check_finite({k: np.asarray(v) for k, v in metrics.items()}, iteration, place)
            spent += time.process_time() - started
            now = int(state.iteration)
            history.append(
                {
                    "iteration": now,
                    "steps": now * steps,
                    "seconds": round(spent, 2),
                    **measure(experiment, state),
                }
            )
            folder.save(experiment, state, 1)
            folder.note(history=history)
            progress.update(0, now, {"reward": means["reward"]})
    folder.save_players(experiment, state)
    return {"agent": agent, "size": size, "history": history}


def grid_experiment(agent: str, size: int) -> Experiment:
    """The zoo's recipe for the 3 x 3 grid, on another one."""
    data = zoo_recipe("coin", agent)
    game = {**data["game"], "width": size, "height": size, "horizon": HORIZON}
    return dataclasses.replace(Experiment.from_data({**data, "game": game}), seed=0)


def measure(experiment: Experiment, state: loop.RunState) -> dict[str, float]:
    """What the players earn per step now, with themselves and against always-defect."""
    game = experiment.game
    everyone = {"self": loop.players(experiment, state)[0], "defect": scripted_player("always-defect", game)}
    mean = play_league(game, everyone, EPISODES, HORIZON, seed=0).mean
    return {"self": round(float(mean[0, 0]), 4), "against_defect": round(float(mean[0, 1]), 4)}


def reached(row: dict[str, float], size: int, threshold: str) -> bool:
    """Whether a measurement passes a threshold."""
    scale = 2 * (size // 2)
    kind, firm = THRESHOLDS[threshold]
    return scale * row["self"] > kind and scale * row["against_defect"] > firm


def summary(histories: dict[tuple[str, int], dict[str, Any]], minutes: float) -> dict[str, Any]:
    """When each run passed each threshold, and how it stood at its end."""
    rows = []
    for (agent, size), found in histories.items():
        history = found["history"]
        first = {
            name: next((row for row in history if reached(row, size, name)), None) for name in THRESHOLDS
        }
        rows.append({"agent": agent, "size": size, "thresholds": first, "last": history[-1]})
    return {
        "study": "scaling",
        "command": f"comity reproduce scaling --minutes {minutes:g}",
        "minutes": minutes,
        "every": EVERY,
        "episodes": EPISODES,
        "horizon": HORIZON,
        "published_seconds_a100": PUBLISHED,
        "versions": versions(),
        "note": NOTE,
        "rows": rows,
    }


def _rows(results: dict[str, Any]) -> list[list[str]]:
    rows = []
    for row in results["rows"]:
        at = row["thresholds"]
        published = results["published_seconds_a100"].get(row["agent"], {})
        paper = published.get(row["size"], published.get(str(row["size"]), ""))
        cells = ["-" if x is None else f"{x['seconds']:.0f} s, {x['steps'] / 1e6:.1f}M" for x in at.values()]
        last = row["last"]
        end = f"{last['self']:.3f} / {last['against_defect']:.3f} at {last['seconds']:.0f} s"
        rows.append([row["agent"], f"{row['size']} x {row['size']}", str(paper), *cells, end])
    return rows


HEADINGS = ["agent", "grid", "published weak, A100 s", "weak", "medium", "strong", "last: self / against AD"]


def _print(results: dict[str, Any]) -> None:
    table = Table(title="Coin Game on larger grids: CPU-seconds and joint steps to three thresholds")
    for heading in HEADINGS:
        table.add_column(heading)
    for row in _rows(results):
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 130).print(table)
    print(results["note"])


def _write_page(out: Path, results: dict[str, Any]) -> None:
    lines = {
        f"{agent}, {name}": [
            (row["size"], row["thresholds"][name]["seconds"])
            for row in results["rows"]
            if row["agent"] == agent and row["thresholds"][name] is not None
        ]
        for agent in AGENTS
        for name in ("weak", "strong")
    }
    figure = plots.lines(lines, "grid size", "CPU-seconds to the threshold", marker="o")
    write_atomically(out / "scaling.svg", figure.encode())
    parts = [
        html.section("Time to three thresholds", html.paragraph(results["note"]), html.figure(figure)),
        html.section("Numbers", html.table(HEADINGS, _rows(results))),
        sections.repeat_section([results["command"]], results["versions"]),
    ]
    page = html.page("Larger grids", "The Coin Game from 3 x 3 to 7 x 7.", parts)
    write_atomically(out / "report.html", page.encode())
