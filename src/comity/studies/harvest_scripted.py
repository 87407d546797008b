"""Commons Harvest Open with scripted players: the dilemma in numbers, a figure and three replays.

Seven of a kind, and five that spare the bushes with two that do not. Episodes of 1,000 steps.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.core.files import write_atomically
from comity.evaluate.commons import Commons, play_commons
from comity.evaluate.replay import replay
from comity.evaluate.statistics import bootstrap_mean
from comity.report import html, plots, replays
from comity.report.svg import as_file
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.focal_harvest import LENGTH, harvest_game, seat_scripted, shown_steps
from comity.studies.progress import Progress, silent

SEED = 0
GROUPS = {
    "random": ("random",) * 7,
    "greedy": ("greedy",) * 7,
    "free-rider": ("free-rider",) * 7,
    "sustainable": ("sustainable",) * 7,
    "5 sustainable, 2 greedy": ("sustainable",) * 5 + ("greedy",) * 2,
    "5 sustainable, 2 free-riders": ("sustainable",) * 5 + ("free-rider",) * 2,
}
SHOWN = {"greedy": "greedy", "sustainable": "sustainable", "5 sustainable, 2 free-riders": "mixed"}
HEADINGS = ("players", "collective", "first five, each", "last two, each", "equality", "apples", "bushes")


@dataclass(frozen=True)
class HarvestScripted(Study):
    """Six groups of scripted players in Commons Harvest; nothing is trained."""

    episodes: int = 20  # of each group

    name = "harvest-scripted"
    title = "Commons Harvest with scripted players"
    note = "Restraint pays for a group, and alone it is exploited."
    needs = "4 minutes on one core"
    committed = RESULTS / "harvest-scripted.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Plays and measures each group."""
        if from_committed:
            return self.committed_results()
        game = harvest_game()
        groups = {}
        for label, names in GROUPS.items():
            started = time.monotonic()
            found = play_commons(game, seat_scripted(game, names), self.episodes, LENGTH, SEED)
            groups[label] = {**_measures(found), "seconds": round(time.monotonic() - started, 1)}
        return {**self.about(), "length": LENGTH, "seed": SEED, "groups": groups}

    def summary(self, results: Results) -> list[Table | str]:
        """One row for each group."""
        rows = [
            [
                label,
                f"{row['collective']} [{row['low']}, {row['high']}]",
                *(str(row[name]) for name in ("first_five", "last_two", "equality")),
                *(str(row[name]) for name in ("apples_at_end", "bushes_at_end")),
            ]
            for label, row in results["groups"].items()
        ]
        title = f"Commons Harvest Open, {results['episodes']} episodes of {results['length']} steps"
        return [Table(title, HEADINGS, rows), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The table, apples over time and replays."""
        table, *_ = self.summary(results)
        assert isinstance(table, Table)
        parts = [html.section("What each group makes of it", html.paragraph(self.note), table.html())]
        lines = {
            label: [(float(step), float(apples)) for step, apples in row.get("apples_over_time", ())]
            for label, row in results["groups"].items()
        }
        if any(lines.values()):
            figure = plots.lines(lines, "step", "apples left (of 64)", logarithmic=True)
            write_atomically(out / "apples.svg", as_file(figure))
            parts.append(html.section("Apples left", html.figure(figure)))
        parts.append(_replays(out))
        return self.write_page(results, out, groups_verdict(results["groups"]), parts)


def groups_verdict(groups: Mapping[str, Mapping[str, Any]]) -> str:
    """Who harvests most among its own kind, and what it gets beside players who take all."""
    alike = {label: row["collective"] for label, row in groups.items() if len(set(GROUPS[label])) == 1}
    most, least = (choose(alike, key=lambda label: float(alike[label])) for choose in (max, min))
    mixed = next(label for label in groups if len(set(GROUPS[label])) > 1)
    row = groups[mixed]
    return (
        f"Seven {most} players harvest most, {alike[most]:.0f} apples against {alike[least]:.0f} of seven "
        f"{least} ones. With {mixed}, each of the five gets {row['first_five']:.1f} and each of the two "
        f"{row['last_two']:.1f}."
    )


def _measures(found: Commons) -> dict[str, Any]:
    collective = bootstrap_mean(found.collective)
    apples = found.apples.mean(axis=1)
    return {
        "collective": round(float(collective.mean), 1),
        "low": round(float(collective.low), 1),
        "high": round(float(collective.high), 1),
        "first_five": round(float(found.per_seat[:5].mean()), 1),
        "last_two": round(float(found.per_seat[5:].mean()), 1),
        "equality": round(float(found.equality.mean()), 3),
        "sustainability": round(float(found.sustainability.mean()), 1),
        "peace": round(float(found.peace.mean()), 2),
        "apples_at_end": round(float(found.apples[-1].mean()), 1),
        "bushes_at_end": round(float(found.bushes.mean()), 2),
        "apples_over_time": [[step, round(float(apples[step - 1]), 3)] for step in shown_steps(len(apples))],
    }


def _replays(out: Path) -> str:
    """The first 160 steps of three groups, as animations beside the page."""
    game = harvest_game()
    pictures = []
    for label, name in SHOWN.items():
        shown = replay(game, seat_scripted(game, GROUPS[label]), SEED, 160)
        moving = replays.animation(replays.frames(shown, every=2), 120)
        write_atomically(out / f"{name}.gif", moving)
        pictures.append(html.figure(f'<img alt="replay" src="{name}.gif">', label))
    return html.section("Replays", *pictures)
