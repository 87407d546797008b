"""Whether the recipes of the zoo still give such players: one seed of each, trained with the code as it is.

A seed that is trained with other code or on another machine takes another course, so what comes out is held
to bounds around what all committed seeds reach (`about.json` beside them), and shown beside the committed
player of the same seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.core.errors import unknown_name
from comity.play.zoo import recipe_names
from comity.report import html
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.progress import Progress, silent
from comity.studies.training import Trained, player_of, recipe, train
from comity.studies.zoo_scores import zoo_about, zoo_scores

HEADINGS = ("player", "score", "committed", "trained again", "bounds", "", "CPU-seconds", "commit")


@dataclass(frozen=True)
class Retrain(Study):
    """Trains one seed of each recipe of the zoo again and compares with the committed player."""

    only: str = ""  # recipes, GAME/AGENT separated by commas; by default all
    seeds: int = 1  # how many seeds of each, counted from 0
    episodes: int = 200  # to measure a player

    name = "retrain"
    title = "The zoo's recipes, trained again"
    note = (
        "Committed: the zoo's player of the same seed. Bounds: the range of all committed seeds, widened by "
        "half its width, 5% of the mean or .01, whichever is most, at both ends (about.json beside them)."
    )
    needs = "about 60 CPU-minutes for one seed of each recipe"
    committed = RESULTS / "retrain.json"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.recipes():
            if name not in recipe_names():
                raise unknown_name("recipe in the zoo", name, recipe_names())

    def recipes(self) -> list[str]:
        """What is trained again."""
        return [name for name in self.only.split(",") if name] or recipe_names()

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains what is missing in `out` and measures; a run that was stopped goes on where it was."""
        if from_committed:
            return self.committed_results()
        rows = {
            f"{name}/{seed}": row
            for name in self.recipes()
            for seed, row in enumerate(self._rows(name, out, progress))
        }
        return {**self.about(), "rows": rows}

    def _rows(self, name: str, out: Path, progress: Progress) -> list[dict[str, Any]]:
        game, agent = name.split("/")
        place = out / "runs" / game / agent
        trained = train(recipe(game, agent), range(self.seeds), place, self.command(), progress, name)
        return [self._row(game, agent, seed, each, out) for seed, each in enumerate(trained)]

    def _row(self, game: str, agent: str, seed: int, trained: Trained, out: Path) -> dict[str, Any]:
        """One seed: what it cost, and its scores beside the committed player and within the bounds."""
        found = trained.metadata()
        source = trained.folder.relative_to(out).as_posix()
        scores = zoo_scores(game, agent, player_of(source, out), self.episodes)
        about = zoo_about(game, agent)
        player = about["players"].get(str(seed), {"scores": {}})
        return {
            "seed": seed,
            "iterations": found.get("iteration"),
            "cpu_seconds": found.get("cpu_seconds"),
            "commit": found.get("versions", {}).get("commit"),
            "machine": found.get("versions", {}).get("machine"),
            "scores": scores,
            "committed": player["scores"],
            "bounds": about["bounds"],
            "holds": {key: low <= scores[key] <= high for key, (low, high) in about["bounds"].items()},
        }

    def passed(self, results: Results) -> bool:
        """Whether everything that was trained again is within its bounds."""
        return all(all(row["holds"].values()) for row in results["rows"].values())

    def summary(self, results: Results) -> list[Table | str]:
        """One line for each score."""
        return [Table(self.title, HEADINGS, _rows(results), left=2), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The table."""
        parts = [
            html.section("Committed and trained again", html.table(HEADINGS, _rows(results))),
            html.section("How to read it", html.paragraph(self.note)),
        ]
        return self.write_page(results, out, retrain_verdict(results["rows"]), parts)


def retrain_verdict(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """How many runs are within their bounds, which are not, and which recipes were not tried."""
    misses = [name for name, row in rows.items() if not all(row["holds"].values())]
    runs = "1 run" if len(rows) == 1 else f"{len(rows)} runs"
    first = f"{len(rows) - len(misses)} of {runs} are within their bounds in every score."
    if misses:
        first = f"{first[:-1]}; {', '.join(misses)} left them."
    tried = {name.rsplit("/", 1)[0] for name in rows}
    absent = [name for name in recipe_names() if name not in tried]
    if not absent:
        return f"{first} Every recipe of the zoo was trained again."
    return f"{first} Of the {len(recipe_names())} recipes {len(absent)} were not trained again."


def _rows(results: Results) -> list[list[str]]:
    rows = []
    for name, row in results["rows"].items():
        for i, (key, (low, high)) in enumerate(row["bounds"].items()):
            seconds = row["cpu_seconds"]
            last = ["" if seconds is None else f"{seconds:.0f}", row["commit"] or ""]
            before = row["committed"].get(key)
            rows.append(
                [
                    name if i == 0 else "",
                    key,
                    "" if before is None else f"{before:.3f}",
                    f"{row['scores'][key]:.3f}",
                    f"[{low:.3f}, {high:.3f}]",
                    "holds" if row["holds"][key] else "misses",
                    *(last if i == 0 else ["", ""]),
                ]
            )
    return rows
