"""Stand-ins for trained strangers in Commons Harvest Open: how they match them, and what defence is worth.

Melting Pot's scenarios seat five copies of a player with two trained exploiters. What is known of trained
ones, and what scripted rules earn among them, was measured elsewhere and is quoted beside our stand-ins.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from comity.core.agent import Player
from comity.evaluate.statistics import bootstrap_mean
from comity.evaluate.strangers import KINDS, Encounter, Rampage, meet, rampage
from comity.games.commons_harvest import CommonsHarvest
from comity.play.loading import zoo_player
from comity.play.specs import make_agent, make_game
from comity.report import html
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.focal_harvest import GAME, LENGTH
from comity.studies.progress import Progress, silent

TRAINED: dict[str, Any] = {  # of trained strangers of both kinds: ranges where they differ
    "each": [42, 42],
    "half": [45, 53],
    "bare": [170, 240],
    "bites": [0.14, 0.14, 0.14, 0.57],
    "zaps": 6.0,
    "hits": 0.06,
}
RULES: dict[str, tuple[str, dict[str, Any], float | None]] = {  # settings, and the score among trained ones
    "greedy": ("greedy", {}, 0.90),
    "sustainable": ("sustainable", {}, 0.90),
    "greedy, zaps strangers (told)": ("guardian", {"leaves": 0, "targets": "strangers"}, 1.0),
    "guardian: zaps over-harvesters": ("guardian", {"grudge": 0}, None),
    "guardian that knows them again": ("guardian", {}, None),
    "sustainable, zaps anybody": ("guardian", {"targets": "anybody"}, 1.77),
    "warden: chases over-harvesters": ("warden", {"grudge": 0}, None),
    "sustainable, zaps strangers (told)": ("guardian", {"targets": "strangers"}, 3.7),
    "warden that chases strangers (told)": ("warden", {"targets": "strangers"}, 7.1),
}
ZOO = {"ppo": 1.09, "proximal-adalign": 0.83, "ppo-sum": 0.79}  # scores among trained strangers
HEADINGS = ("five focal players", "zappers", "pacifists", "normalised", "interval", "trained strangers")


@dataclass(frozen=True)
class HarvestStrangers(Study):
    """Strangers in Commons Harvest, and scripted rules and the zoo's players among them."""

    episodes: int = 16  # of each player among strangers of each kind

    name = "harvest-strangers"
    title = "Strangers in Commons Harvest"
    note = (
        "Five copies of a player, doing what is most likely for them, among two stand-ins for trained "
        "exploiters; 0 is what random players get among Melting Pot's, 1 what an exploiter gets there. Told: "
        "identity planes say who the strangers are. The last column was measured among trained strangers."
    )
    needs = "10 minutes on one core, without training"
    committed = RESULTS / "harvest-strangers.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Measures the strangers, and rules and players among them."""
        if from_committed:
            return self.committed_results()
        started = time.monotonic()
        game = strangers_game("seat")
        found = {kind: _rampage_data(rampage(game, kind, self.episodes, LENGTH)) for kind in KINDS}
        rows = [
            {
                "player": label,
                **encounters(game, _rule(game, name, settings), self.episodes),
                "trained": trained,
            }
            for label, (name, settings, trained) in RULES.items()
        ]
        plain = strangers_game("none")
        rows += [
            {
                "player": f"zoo:{GAME}/{agent}/0",
                **encounters(plain, zoo_player(f"zoo:{GAME}/{agent}/0"), self.episodes),
                "trained": trained,
            }
            for agent, trained in ZOO.items()
        ]
        seconds = round(time.monotonic() - started, 1)
        return {**self.about(), "seconds": seconds, "match": {"trained": TRAINED, **found}, "rows": rows}

    def summary(self, results: Results) -> list[Table | str]:
        """How the stand-ins match, and one row for each rule or player."""
        match = [[label, *_match_cells(row)] for label, row in results["match"].items()]
        headings = (
            "strangers",
            "apples, each",
            "half gone",
            "all gone",
            "bites leaving 0, 1, 2, 3+",
            "zaps",
            "hits",
        )
        rows = [cells(row) for row in results["rows"]]
        return [
            Table("Strangers alone among five who stand still", headings, match),
            Table("Five among two strangers, each player's return", HEADINGS, rows),
            self.note,
        ]

    def page(self, results: Results, out: Path) -> Path:
        """The tables."""
        tables = [part for part in self.summary(results) if isinstance(part, Table)]
        parts = [html.section(table.title, table.html()) for table in tables]
        parts.append(html.section("How to read it", html.paragraph(self.note)))
        return self.write_page(results, out, strangers_verdict(results), parts)


def strangers_verdict(results: Results) -> str:
    """Who keeps most among strangers, and how near the stand-ins are to trained ones."""
    best = max(results["rows"], key=lambda row: float(row["score"]))
    score = f"{best['score']:.2f} [{best['low']:.2f}, {best['high']:.2f}]"
    first = f"Among two strangers {best['player']} keeps most: {score}, where 1 is what an exploiter gets."
    match = results["match"]
    takes = " and ".join(f"{match[kind]['each'][0]:.0f} ({kind})" for kind in KINDS)
    trained = f"trained strangers {match['trained']['each'][0]:.0f}"
    return f"{first} The stand-ins take {takes} apples each, {trained}."


def strangers_game(identity: str) -> CommonsHarvest:
    """Commons Harvest Open in episodes of 1,000 steps, with identity planes or without."""
    game = make_game(GAME, horizon=LENGTH, identity=identity)
    assert isinstance(game, CommonsHarvest)
    return game


def encounters(
    game: CommonsHarvest, player: Player, episodes: int, deterministic: bool = True
) -> dict[str, Any]:
    """A player among strangers of both kinds, as JSON data; it does what is most likely, or draws."""
    found = {kind: meet(game, player, kind, episodes, LENGTH, deterministic=deterministic) for kind in KINDS}
    scores = np.mean([each.score for each in found.values()], axis=0)
    interval = bootstrap_mean(scores)
    return {
        "score": round(interval.mean, 3),
        "low": round(interval.low, 3),
        "high": round(interval.high, 3),
        "kinds": {kind: _encounter_data(each) for kind, each in found.items()},
    }


def cells(row: dict[str, Any]) -> list[str]:
    """A row of results for a table."""
    trained = row.get("trained")
    return [
        row["player"],
        *(f"{row['kinds'][kind]['focal']:.1f} ({row['kinds'][kind]['strangers']:.1f})" for kind in KINDS),
        f"{row['score']:.2f}",
        f"[{row['low']:.2f}, {row['high']:.2f}]",
        "" if trained is None else f"{trained:.2f}",
    ]


def _rule(game: CommonsHarvest, name: str, settings: dict[str, Any]) -> Player:
    agent = make_agent(name, game, **settings)
    agent.check(game.spec, (0,))
    return Player(agent, agent.policy(agent.init(jax.random.key(0), game.spec, (0,))))


def _encounter_data(found: Encounter) -> dict[str, Any]:
    steps = [1, 50, 100, 200, 400, 700, LENGTH]
    return {
        "focal": round(float(found.focal.mean()), 2),
        "strangers": round(float(found.strangers.mean()), 2),
        "zaps_in_100_steps": [round(x, 2) for x in found.zaps],
        "hits_in_100_steps": dict(
            zip(
                ("focal on focal", "focal on strangers", "strangers on focal", "strangers on strangers"),
                (round(x, 2) for x in found.hits),
                strict=True,
            )
        ),
        "hits_after_theft": round(found.after_theft, 2),
        "bushes_over_time": [[step, round(float(found.bushes[step - 1]), 2)] for step in steps],
    }


def _rampage_data(found: Rampage) -> dict[str, Any]:
    def ranged(samples: np.ndarray) -> list[float]:
        return [round(float(x), 1) for x in (samples.mean(), np.median(samples))]

    return {
        "each": ranged(found.each),
        "half": ranged(found.half),
        "bare": ranged(found.bare),
        "bites": [round(x, 3) for x in found.bites],
        "zaps": round(found.zaps, 2),
        "hits": round(found.hits, 3),
    }


def _match_cells(row: dict[str, Any]) -> list[str]:
    pairs = [" / ".join(f"{x:g}" for x in row[name]) for name in ("each", "half", "bare")]
    return [*pairs, " ".join(f"{x:.2f}" for x in row["bites"]), f"{row['zaps']:g}", f"{row['hits']:g}"]
