"""Proximal Advantage Alignment, PPO and PPO with summed rewards in Commons Harvest.

Source: Duque et al., 2024, "Advantage Alignment Algorithms", whose agents play Melting Pot's
commons_harvest__open (Agapiou et al., 2022) from pixels.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comity.core.agent import Player
from comity.core.files import read_json, write_atomically
from comity.evaluate.replay import replay
from comity.evaluate.statistics import bootstrap_mean
from comity.play.loading import scripted_player
from comity.play.zoo import FOLDER
from comity.report import html, plots, replays, sections
from comity.report.svg import as_file
from comity.studies.base import RESULTS, Results, Study, Table
from comity.studies.focal_harvest import (
    COMPANIES,
    GAME,
    LENGTH,
    Harvested,
    harvest,
    harvest_game,
    seat_scripted,
    shown_steps,
)
from comity.studies.progress import Progress, silent
from comity.studies.training import curves_of, player_of, recipe, train

METHODS = {"Proximal AdAlign": "proximal-adalign", "PPO": "ppo", "PPO, summed rewards": "ppo-sum"}
SCRIPTED = {"random": "random", "sustainable": "sustainable"}
SHOWN = 120  # steps of a replay
COSTS = ("cpu_seconds", "peak_memory_megabytes")
HEADINGS = ["player", "seats 6, 7", "focal, each", "interval", "seeds", "others, each", "collective"]
HEADINGS += ["equality", "sustainability", "bushes left", "apples left"]


@dataclass(frozen=True)
class Harvest(Study):
    """Three learners in Commons Harvest, alone and among players who take what they can get."""

    seeds: int = 3  # how many seeds of each learner
    episodes: int = 8  # of each player in each company

    name = "harvest"
    title = "Commons Harvest"
    note = (
        "Seven seats, episodes of 1,000 steps. Among others, five copies of the player sit with two scripted "
        "players, our stand-ins for the original's background bots, which come with its assets and are not "
        "run here; focal is what each of the five gets. Random and sustainable players are scripted. The "
        "last iterate counts."
    )
    needs = "408, 234 and 226 CPU-seconds a seed; measuring takes 8 minutes"
    committed = RESULTS / "harvest.json"

    def run(self, out: Path, from_committed: bool = False, progress: Progress = silent) -> Results:
        """Trains, or takes the zoo's players, and lets them harvest in each company."""
        started = time.monotonic()
        sources: dict[str, list[str]] = {}
        training: dict[str, Any] = {}
        for label, agent in METHODS.items():
            if from_committed:
                sources[label] = [f"zoo:{GAME}/{agent}/{seed}" for seed in range(self.seeds)]
                about = FOLDER / GAME / agent / "training.json"
                training[label] = read_json(about, "how these players were trained")
            else:
                place = out / "runs" / agent
                found = train(recipe(GAME, agent), range(self.seeds), place, self.command(), progress, label)
                sources[label] = [seed.folder.relative_to(out).as_posix() for seed in found]
                training[label] = {cost: [seed.metadata().get(cost) for seed in found] for cost in COSTS}
        game = harvest_game()
        players: dict[str, list[Player]] = {
            label: [player_of(source, out) for source in own] for label, own in sources.items()
        }
        players |= {label: [scripted_player(name, game)] for label, name in SCRIPTED.items()}
        others = {company: seat_scripted(game, names, 5) for company, names in COMPANIES.items()}
        rows = [
            _row(label, company, [harvest(game, each, rest, self.episodes, LENGTH) for each in own])
            for label, own in players.items()
            for company, rest in others.items()
        ]
        return {
            **self.about(from_committed),
            "length": LENGTH,
            "players": sources,
            "seconds": round(time.monotonic() - started, 1),
            "training": training,
            "rows": rows,
        }

    def summary(self, results: Results) -> list[Table | str]:
        """One row for each player in each company."""
        title = "Commons Harvest Open: means over seeds [95% interval over seeds]"
        return [Table(title, HEADINGS, [_cells(row) for row in results["rows"]]), self.note]

    def page(self, results: Results, out: Path) -> Path:
        """Numbers, costs, apples over time, learning curves and replays."""
        training = [
            [label, *(" ".join("-" if x is None else f"{x:.0f}" for x in costs) for costs in facts.values())]
            for label, facts in results["training"].items()
        ]
        rows = html.table(HEADINGS, [_cells(row) for row in results["rows"]])
        costs = html.table(["player", "CPU-seconds of each seed", "peak memory, MB"], training)
        curves = {label: curves_of(sources, out) for label, sources in results["players"].items()}
        parts = [
            html.section("What each player makes of it", html.paragraph(self.note), rows),
            html.section("What training cost", costs),
            *_apples(results, out),
            sections.curves_section(curves),
            _replays(results, out),
        ]
        return self.write_page(results, out, harvest_verdict(results["rows"]), parts)


def harvest_verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which learner makes most of the commons, and which keeps most among players who take all."""
    learners = [row for row in rows if row["player"] in METHODS]

    def mean(row: Mapping[str, Any], name: str) -> float:
        return float(np.mean([seed[name] for seed in row["seeds"]]))

    alone = {row["player"]: mean(row, "collective") for row in learners if row["company"] == "itself"}
    best = max(alone, key=lambda name: alone[name])
    rest = ", ".join(f"{value:.0f} of {name}" for name, value in alone.items() if name != best)
    first = (
        f"Of the learners, {best} harvests most with its own kind, {alone[best]:.0f} apples against {rest}."
    )
    company = next(row["company"] for row in learners if row["company"] != "itself")
    among = [row for row in learners if row["company"] == company]
    firm = max(among, key=lambda row: mean(row, "focal"))
    kept = f"{mean(firm, 'focal'):.1f} each while these get {mean(firm, 'others'):.1f}"
    return f"{first} Beside {company} players {firm['player']} keeps most, {kept}."


def _row(label: str, company: str, seeds: list[Harvested]) -> dict[str, Any]:
    over_time = np.mean([each.over_time for each in seeds], axis=0)
    return {
        "player": label,
        "company": company,
        "seeds": [each.to_data() for each in seeds],
        "apples_over_time": [[step, round(float(over_time[step - 1]), 3)] for step in shown_steps(LENGTH)],
    }


def _cells(row: dict[str, Any]) -> list[str]:
    focal = np.asarray([each["focal"] for each in row["seeds"]])
    interval = bootstrap_mean(focal)
    means = {name: float(np.mean([each[name] for each in row["seeds"]])) for name in row["seeds"][0]}
    return [
        row["player"],
        row["company"],
        f"{interval.mean:.1f}",
        f"[{interval.low:.1f}, {interval.high:.1f}]" if len(focal) > 1 else "",
        " ".join(f"{x:.1f}" for x in focal),
        "" if row["company"] == "itself" else f"{means['others']:.1f}",
        f"{means['collective']:.0f}",
        f"{means['equality']:.2f}",
        f"{means['sustainability']:.0f}",
        f"{means['bushes']:.2f}",
        f"{means['apples']:.1f}",
    ]


def _apples(results: Results, out: Path) -> list[str]:
    """What is left of the apples over time, one picture for each company."""
    parts = []
    for company in COMPANIES:
        lines = {
            row["player"]: [(float(step), float(apples)) for step, apples in row["apples_over_time"]]
            for row in results["rows"]
            if row["company"] == company
        }
        figure = plots.lines(lines, "step", "apples left (of 64)", logarithmic=True)
        write_atomically(out / f"apples-{company.replace(' ', '-')}.svg", as_file(figure))
        heading = "Apples left" + ("" if company == "itself" else f", with {company} players")
        parts.append(html.section(heading, html.figure(figure)))
    return parts


def _replays(results: Results, out: Path) -> str:
    """The first steps of each learner in each company, as animations beside the page."""
    game = harvest_game()
    pictures = []
    for label, agent in METHODS.items():
        player = player_of(results["players"][label][0], out)
        for company, names in COMPANIES.items():
            rest = seat_scripted(game, names, 5)
            learners = len(game.seats) - len(rest)
            seated = (*[label] * learners, *names[: len(rest)])
            shown = replay(game, (player,) * learners + rest, 0, SHOWN, names=seated)
            moving = replays.animation(replays.frames(shown, every=2), 120)
            name = f"{agent}-{company.replace(' ', '-')}.gif"
            write_atomically(out / name, moving)  # beside the page: nine of them would make it heavy
            caption = f"{label}, seed 0, with {company}: the first {SHOWN} steps, every second one."
            pictures.append(html.figure(f'<img alt="replay" src="{name}">', caption))
    return html.section("Replays", *pictures)
