"""How long the Coin Game takes on larger grids, until three thresholds.

The study of Aghajohari et al., 2024 ("LOQA"): rewards per step, times 2 floor(n / 2) for a grid of n x n so
that sizes can be compared, in self-play and against always-defect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.core.agent import Player
from comity.core.errors import require
from comity.core.files import write_atomically
from comity.core.game import Environment, PerSeat
from comity.evaluate.league import play_league
from comity.play.loading import scripted_player
from comity.play.zoo import zoo_recipe
from comity.report import html, plots
from comity.report.svg import as_file
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.progress import Progress, silent
from comity.studies.training import Experiment, recipe, train_until

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
HEADINGS = ["agent", "grid", "published weak, A100 s", "weak", "medium", "strong", "last: self / against AD"]


@dataclass(frozen=True)
class Scaling(Study):
    """Advantage Alignment and LOQA in the Coin Game from 3 x 3 to 7 x 7: seconds to three thresholds."""

    minutes: float = 6.0  # CPU-minutes for each grid and agent

    name = "scaling"
    title = "Larger grids"
    note = (
        "Seconds of one CPU core, measuring aside, until self-play and play against always-defect pass a "
        "threshold for the first time; published seconds are those of an A100 for the weak one. A dash: not "
        "within the time given, nor within the iterations of the recipe for the 3 x 3 grid. One seed."
    )
    needs = "34 CPU-minutes with --minutes 20"
    committed = RESULTS / "scaling.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains what is missing; the committed results are times, so no players stand for them."""
        if from_committed:
            return self.committed_results()
        require(self.minutes > 0, "minutes", self.minutes, "above 0")
        histories = {
            (agent, size): climb(
                agent, size, out / "runs" / f"{agent}-{size}", self.minutes, self.command(), progress
            )
            for size in SIZES
            for agent in AGENTS
        }
        return {**self.about(), **thresholds_reached(histories)}

    def summary(self, results: Results) -> list[Table | str]:
        """One row for each agent and grid."""
        title = "Coin Game on larger grids: CPU-seconds and joint steps to three thresholds"
        return [Table(title, HEADINGS, _rows(results)), results["note"]]

    def page(self, results: Results, out: Path) -> Path:
        """The times as a picture and as a table."""
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
        write_atomically(out / "scaling.svg", as_file(figure))
        parts = [
            html.section("Time to three thresholds", html.paragraph(results["note"]), html.figure(figure)),
            html.section("Numbers", html.table(HEADINGS, _rows(results))),
        ]
        return self.write_page(results, out, scaling_verdict(results["rows"]), parts)


def scaling_verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """How far each agent gets, and how long that takes."""
    sentences = []
    for agent in dict.fromkeys(row["agent"] for row in rows):
        own = [row for row in rows if row["agent"] == agent]
        passed = [row for row in own if row["thresholds"]["strong"] is not None]
        if not passed:
            sentences.append(f"{agent} passes the strong threshold on no grid.")
            continue
        last = max(passed, key=lambda row: int(row["size"]))
        seconds = last["thresholds"]["strong"]["seconds"]
        sentences.append(
            f"{agent} passes the strong threshold on {len(passed)} of {len(own)} grids, the largest of them "
            f"{last['size']} x {last['size']} in {seconds:.0f} CPU-seconds."
        )
    return " ".join(sentences)


def climb(
    agent: str, size: int, place: Path, minutes: float, command: str, progress: Progress = silent
) -> list[dict[str, float]]:
    """Trains on a grid until the strong threshold or the end of the time; goes on where it was stopped."""
    experiment = grid_experiment(agent, size)
    return train_until(
        experiment,
        place,
        command,
        measure=lambda players: measure(experiment.game, players),
        enough=lambda row: reached(row, size, "strong"),
        every=EVERY,
        seconds=60.0 * minutes,
        progress=progress,
        label=f"{agent}, grid {size}",
    )


def grid_experiment(agent: str, size: int) -> Experiment:
    """The zoo's recipe for the 3 x 3 grid, on another one."""
    game = {**zoo_recipe("coin", agent)["game"], "width": size, "height": size, "horizon": HORIZON}
    return recipe("coin", agent, game=game)


def measure(game: Environment, players: PerSeat[Player]) -> dict[str, float]:
    """What the players earn per step now, with themselves and against always-defect."""
    everyone = {"self": players[0], "defect": scripted_player("always-defect", game)}
    mean = play_league(game, everyone, EPISODES, HORIZON, seed=0).mean
    return {"self": round(float(mean[0, 0]), 4), "against_defect": round(float(mean[0, 1]), 4)}


def reached(row: dict[str, float], size: int, threshold: str) -> bool:
    """Whether a measurement passes a threshold."""
    scale = 2 * (size // 2)
    kind, firm = THRESHOLDS[threshold]
    return scale * row["self"] > kind and scale * row["against_defect"] > firm


def thresholds_reached(histories: dict[tuple[str, int], list[dict[str, float]]]) -> Results:
    """When each run passed each threshold, and how it stood at its end."""
    rows = []
    for (agent, size), history in histories.items():
        first = {
            name: next((row for row in history if reached(row, size, name)), None) for name in THRESHOLDS
        }
        rows.append({"agent": agent, "size": size, "thresholds": first, "last": history[-1]})
    return {
        "every": EVERY,
        "episodes": EPISODES,
        "horizon": HORIZON,
        "published_seconds_a100": {
            agent: {str(size): seconds for size, seconds in grids.items()}
            for agent, grids in PUBLISHED.items()
        },
        "rows": rows,
    }


def _rows(results: dict[str, Any]) -> list[list[str]]:
    rows = []
    for row in results["rows"]:
        at = row["thresholds"]
        published = results["published_seconds_a100"].get(row["agent"], {})
        paper = published.get(str(row["size"]), "")
        cells = ["-" if x is None else f"{x['seconds']:.0f} s, {x['steps'] / 1e6:.1f}M" for x in at.values()]
        last = row["last"]
        end = f"{last['self']:.3f} / {last['against_defect']:.3f} at {last['seconds']:.0f} s"
        rows.append([row["agent"], f"{row['size']} x {row['size']}", str(paper), *cells, end])
    return rows
