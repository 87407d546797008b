"""What the weight of the alignment term does in Commons Harvest, alone and among others. Seed 0.

The zoo's recipe of Proximal Advantage Alignment with nothing changed but the weight; .5 is the zoo's player.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.core.agent import Player
from comity.play.loading import zoo_player
from comity.play.zoo import zoo_recipe
from comity.report import html
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.focal_harvest import COMPANIES, GAME, LENGTH, harvest, harvest_game, seat_scripted
from comity.studies.progress import Progress, silent
from comity.studies.training import recipe, train

AGENT = "proximal-adalign"
WEIGHTS = (0.5, 1.0, 2.0)
MEASURES = ("focal", "others", "collective", "equality", "bushes")


@dataclass(frozen=True)
class HarvestWeights(Study):
    """Proximal Advantage Alignment in Commons Harvest by the weight of its term."""

    episodes: int = 8  # of each player in each company

    name = "harvest-weights"
    title = "Commons Harvest by weight"
    note = "Seed 0, nothing changed but the weight: more of it keeps more bushes and is exploited more."
    needs = "7 CPU-minutes a weight"
    committed = RESULTS / "harvest-weights.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains the weights that the zoo lacks, and lets each player harvest in each company."""
        if from_committed:
            return self.committed_results()
        game = harvest_game()
        rows = []
        for weight in WEIGHTS:
            player = self._player(weight, out, progress)
            for company, names in COMPANIES.items():
                found = harvest(game, player, seat_scripted(game, names, 5), self.episodes, LENGTH)
                rows.append({"weight": weight, "company": company, **found.to_data()})
        return {**self.about(), "length": LENGTH, "seed": 0, "rows": rows}

    def _player(self, weight: float, out: Path, progress: Progress) -> Player:
        agent: dict[str, Any] = zoo_recipe(GAME, AGENT)["agents"][0]
        if agent["term"]["weight"] == weight:
            return zoo_player(f"zoo:{GAME}/{AGENT}/0")
        experiment = recipe(GAME, AGENT, agents=[{**agent, "term": {**agent["term"], "weight": weight}}])
        place = out / "runs" / f"weight-{weight:g}"
        return train(experiment, (0,), place, self.command(), progress, f"weight {weight:g}")[0].player()

    def summary(self, results: Results) -> list[Table | str]:
        """One row for each weight and company."""
        rows = [
            [f"{row['weight']:g}", row["company"], *(f"{row[name]:.2f}" for name in MEASURES)]
            for row in results["rows"]
        ]
        headings = ("weight", "seats 6, 7", "focal, each", "others, each", "collective", "equality", "bushes")
        title = "Proximal Advantage Alignment in Commons Harvest by weight, seed 0"
        return [Table(title, headings, rows), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The table."""
        table, *_ = self.summary(results)
        assert isinstance(table, Table)
        part = html.section("What each weight makes of it", html.paragraph(self.note), table.html())
        return self.write_page(results, out, weights_verdict(results["rows"]), [part])


def weights_verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which weight keeps most with its own kind, and what each leaves to players who take all."""
    alone = {row["weight"]: row for row in rows if row["company"] == "itself"}
    best = max(alone, key=lambda weight: float(alone[weight]["collective"]))
    kept = f"{alone[best]['collective']:.0f} apples in all and {alone[best]['bushes']:.1f} bushes left"
    first = f"Among its own kind the learner with weight {best:g} harvests most, {kept}."
    company = next(row["company"] for row in rows if row["company"] != "itself")
    among = {row["weight"]: row for row in rows if row["company"] == company}
    shares = ", ".join(
        f"{row['focal']:.1f} ({row['others']:.1f}) with {weight:g}" for weight, row in among.items()
    )
    return f"{first} Beside {company} players each of the five gets, and each of these two: {shares}."
