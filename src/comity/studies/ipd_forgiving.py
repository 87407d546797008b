"""Advantage Alignment that forgives: among trembling hands, contrite players and strangers.

Beyond the paper: the players of `ipd` are grim, or exploited by patterns. These see the last four rounds;
what is claimed of them is computed exactly (`comity.evaluate.reciprocity`), against every opponent there is.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comity.core.agent import Player
from comity.evaluate.reciprocity import (
    PAYOFFS,
    HistoryTable,
    against,
    history_table,
    largest_lead,
    repair,
    slipping_self_play,
)
from comity.report import html
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.progress import Progress, silent
from comity.studies.training import player_of, recipe, train

GAME, AGENT, WINDOW = "prisoners-dilemma", "adalign-forgiving", 4
ROUNDS, SLIP = 200, 0.05
ACCIDENTS = (0, 1, 2, 10, 50)  # the rounds in which one of two copies defects by accident
REPAIRED_AFTER = 5  # rounds
LEAD, KEPT, REPAIRED = 0.35, 0.85, 0.5  # what must hold of every player
STATES = ("start", "CC", "CD", "DC", "DD")
HEADINGS = ("player", *STATES, "largest lead", "leading memory-one", "kept", "repaired")


@dataclass(frozen=True)
class IPDForgiving(Study):
    """Advantage Alignment in the prisoner's dilemma that forgives accidents and is not exploited."""

    name = "ipd-forgiving"
    title = "adalign in prisoners-dilemma, among trembling hands and strangers"
    note = (
        f"Payoffs 3, 0, 5, 1 and {ROUNDS} rounds. The largest lead is what the best of all opponents earns "
        f"per round more than the player, by dynamic programming. Kept is what two copies keep of 3 if "
        f"cooperation slips in {SLIP:.0%} of the cases. Repaired is the chance that both cooperate again "
        f"{REPAIRED_AFTER} rounds after an accident, the least over accidents in several rounds. "
        f"P(C) after the last joint action is the mean over all that came before it."
    )
    needs = "about a CPU-minute a seed"
    committed = RESULTS / "ipd-forgiving.json"

    seeds: int = 10  # how many seeds

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains, or takes the zoo's players, and computes what holds of them."""
        started = time.monotonic()
        if from_committed:
            sources = [f"zoo:{GAME}/{AGENT}/{seed}" for seed in range(self.seeds)]
        else:
            trained = train(recipe(GAME, AGENT), range(self.seeds), out / "runs", self.command(), progress)
            sources = [seed.folder.relative_to(out).as_posix() for seed in trained]
        rows = [{"player": source, **measures(player_of(source, out))} for source in sources]
        return {
            **self.about(from_committed),
            "seconds": round(time.monotonic() - started, 1),
            "bars": {"lead": LEAD, "kept": KEPT, "repaired": REPAIRED},
            "rows": rows,
        }

    def summary(self, results: Results) -> list[Table | str]:
        """One line for each player."""
        return [Table(self.title, HEADINGS, _rows(results), left=1), verdict(results), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """The table and how to read it."""
        parts = [
            html.section("Each seed", html.table(HEADINGS, _rows(results))),
            html.section("How to read it", html.paragraph(self.note)),
        ]
        return self.write_page(results, out, verdict(results), parts)


def measures(player: Player) -> dict[str, Any]:
    """What is computed of a player."""
    table = history_table(player, WINDOW)
    leads = {strategy: _lead(table, strategy) for strategy in itertools.product((0.0, 1.0), repeat=5)}
    random = np.random.default_rng(0).random((200, 5))
    leads |= {tuple(round(float(p), 3) for p in row): _lead(table, row) for row in random}
    worst = max(leads, key=leads.__getitem__)
    back = {str(when): float(repair(table, when)[REPAIRED_AFTER - 1]) for when in ACCIDENTS}
    return {
        "cooperates": {
            label: float(np.mean([p for p, state in zip(table.cooperates, table.states, strict=True)
                                  if state[-1] == seen]))
            for seen, label in enumerate(STATES)
        },
        "largest_lead": largest_lead(table, ROUNDS),
        "memory_one": {"strategy": list(worst), "lead": leads[worst], "opponents": len(leads)},
        "kept": slipping_self_play(table, SLIP, ROUNDS) / PAYOFFS[0],
        "self_play": slipping_self_play(table, 0.0, ROUNDS),
        "repaired": back,
    }  # fmt: skip


def verdict(results: Results) -> str:
    """How many players hold each bar."""
    rows = results["rows"]
    held = [
        (sum(row["largest_lead"] <= LEAD for row in rows), f"led by at most {LEAD} by anybody"),
        (sum(row["kept"] >= KEPT for row in rows), f"keep {KEPT:.0%} among slips"),
        (sum(min(row["repaired"].values()) >= REPAIRED for row in rows), "have most likely repaired"),
    ]
    return "Of " + f"{len(rows)} players, " + ", ".join(f"{count} {what}" for count, what in held) + "."


def _lead(table: HistoryTable, strategy: Sequence[float]) -> float:
    own, other = against(table, strategy, ROUNDS)
    return other - own


def _rows(results: Results) -> list[list[str]]:
    return [_row(row) for row in results["rows"]]


def _row(row: Mapping[str, Any]) -> list[str]:
    return [
        row["player"],
        *(f"{p:.2f}" for p in row["cooperates"].values()),
        f"{row['largest_lead']:.3f}",
        f"{row['memory_one']['lead']:.3f}",
        f"{row['kept']:.1%}",
        f"{min(row['repaired'].values()):.2f}",
    ]
