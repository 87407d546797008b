"""Studies that compare variants of an experiment: train seeds of each, measure them, write one table."""

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from comity.evaluate.groups import game_name
from comity.evaluate.statistics import bootstrap_mean
from comity.report import html, sections
from comity.studies.base import Results, Study, Table
from comity.studies.progress import Progress, silent
from comity.studies.training import Experiment, Trained, curves_of, train

Measures = dict[str, float]


@dataclass(frozen=True)
class Variant:
    """One row: an experiment, what the mean must reach, and facts that stand in the results as given."""

    experiment: Experiment
    must: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison(Study):
    """A subclass lists the variants, measures one trained seed, and says what a row of the table shows.

    Results have `rows`: for each variant its `facts`, the `experiment`, `seeds` (the first measure of each
    seed), their `mean` with `low` and `high` over seeds, `measures` (all measures of each seed), `means` of
    these, `must` and `holds`, the `players`, `seconds` and `cpu_seconds`.
    """

    seeds: int = 3  # how many seeds of each variant
    episodes: int = 400  # to measure a seed

    headings: ClassVar[tuple[str, ...]]
    executor: ClassVar[Literal["auto", "processes"]] = "auto"

    @abstractmethod
    def variants(self) -> dict[str, Variant]:
        """What is compared, by label."""

    @abstractmethod
    def measure(self, variant: Variant, trained: Trained) -> Measures:
        """What a trained seed reaches; the first measure is the one that is compared."""

    @abstractmethod
    def cells(self, label: str, row: Mapping[str, Any]) -> list[str]:
        """A row of the table, as `headings` has it."""

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains what is missing and measures; the committed results are those of an earlier run."""
        if from_committed:
            return self.committed_results()
        rows = {label: self._row(label, found, out, progress) for label, found in self.variants().items()}
        return {**self.about(), "rows": rows}

    def _row(self, label: str, variant: Variant, out: Path, progress: Progress) -> dict[str, Any]:
        started = time.monotonic()
        place = out / "runs" / label.lower().replace(", ", "-").replace(" ", "-")
        seeds = range(self.seeds)
        trained = train(variant.experiment, seeds, place, self.command(), progress, label, self.executor)
        measures = [self.measure(variant, seed) for seed in trained]
        values = np.asarray([next(iter(found.values())) for found in measures], np.float64)
        interval = bootstrap_mean(values)
        must = variant.must
        return {
            **variant.facts,
            "experiment": variant.experiment.to_data(),
            "players": [seed.folder.relative_to(out).as_posix() for seed in trained],
            "seeds": [round(float(x), 4) for x in values],
            "mean": round(float(interval.mean), 4),
            "low": round(float(interval.low), 4),
            "high": round(float(interval.high), 4),
            "measures": [{name: round(x, 4) for name, x in found.items()} for found in measures],
            "means": {name: round(float(np.mean([m[name] for m in measures])), 4) for name in measures[0]},
            "must": must,
            "holds": None if must is None else bool(interval.mean >= must),
            "seconds": round(time.monotonic() - started, 1),
            "cpu_seconds": [seed.metadata().get("cpu_seconds") for seed in trained],
        }

    def summary(self, results: Results) -> list[Table | str]:
        """One row for each variant."""
        rows = [self.cells(label, row) for label, row in results["rows"].items()]
        return [Table(self.title, self.headings, rows), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The table, and learning curves where the runs are at hand."""
        table = html.table(self.headings, [self.cells(label, row) for label, row in results["rows"].items()])
        parts = [html.section("What each variant reaches", html.paragraph(self.note), table)]
        runs = {label: row["players"] for label, row in results["rows"].items() if row.get("players")}
        if runs:
            curves = {label: curves_of(players, out) for label, players in runs.items()}
            parts.append(sections.curves_section(curves))
        return self.write_page(results, out, variants_verdict(results["rows"]), parts)


def variants_verdict(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Which variant reaches most, and which do not reach what they must."""
    best = max(rows, key=lambda label: float(rows[label]["mean"]))
    row = rows[best]
    held = [label for label, found in rows.items() if found.get("holds") is not None]
    misses = [label for label in held if not rows[label]["holds"]]
    games = {game_name(found["experiment"]) for found in rows.values() if "experiment" in found}
    first = f"{best} reaches most: {row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}] over its seeds."
    if len(games) > 1:
        first = f"{len(rows)} variants in {len(games)} games, whose rewards are not compared with each other."
    if not held:
        return f"{first} No variant has a bar to reach."
    missed = f"; {', '.join(misses)} misses" if misses else ""
    return f"{first} {len(held) - len(misses)} of {len(held)} reach what they must{missed}."
