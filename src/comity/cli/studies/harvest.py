"""`comity reproduce harvest`: Proximal Advantage Alignment and PPO in Commons Harvest."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from comity.api import load_player, scripted_player
from comity.cli.progress import Progress
from comity.core.files import read_json, write_atomically, write_json
from comity.core.types import PerSeat, Player
from comity.evaluate.harvest import MIXED, Harvested, harvest
from comity.evaluate.replay import replay
from comity.evaluate.statistics import bootstrap_mean
from comity.games.commons_harvest import CommonsHarvest
from comity.play.specs import make_game
from comity.play.zoo import FOLDER, zoo_recipe
from comity.report import html, plots, replays, sections
from comity.train.experiment import Experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, versions
from comity.train.seeds import train_seeds

GAME = "commons-harvest-open"
METHODS = {"Proximal AdAlign": "proximal-adalign", "PPO": "ppo", "PPO, summed rewards": "ppo-sum"}
SCRIPTED = {"random": "random", "sustainable": "sustainable"}
COMPANIES = {"itself": (), **{f"2 {name}": (name, name) for name in MIXED}}
SEEDS = 3
EPISODES = 8
LENGTH = 1000
SHOWN = 120  # steps of a replay
NOTE = (
    "Seven seats, episodes of 1,000 steps. Among others, five copies of the player sit with two scripted "
    "players, our stand-ins for the published background players, which are not distributed; focal is what "
    "each of the five gets. Random and sustainable players are scripted. The last iterate counts."
)
HEADINGS = ["player", "seats 6, 7", "focal, each", "interval", "seeds", "others, each", "collective"]
HEADINGS += ["equality", "sustainability", "bushes left", "apples left"]


def run(out: Path, seeds: int | None, episodes: int | None, from_committed: bool, as_json: bool) -> int:
    """Trains or loads, measures, prints and writes."""
    episodes = episodes or EPISODES
    game = make_game(GAME, horizon=LENGTH)
    assert isinstance(game, CommonsHarvest)
    started = time.monotonic()
    count = seeds or SEEDS
    players: dict[str, list[Player]] = {}
    curves: dict[str, list[Any]] = {}
    training: dict[str, Any] = {}
    for label, agent in METHODS.items():
        if from_committed:
            place = FOLDER / GAME / agent
            players[label] = [load_player(f"zoo:{GAME}/{agent}/{seed}") for seed in range(count)]
            curves[label] = json.loads((place / "curves.json").read_text(encoding="utf-8"))
            training[label] = read_json(place / "training.json", "how these players were trained")
        else:
            players[label], curves[label], training[label] = _train(label, agent, count, out, as_json)
    for label, name in SCRIPTED.items():
        players[label] = [scripted_player(name, game)]
    others = {
        company: tuple(scripted_player(name, game, 5 + i) for i, name in enumerate(names))
        for company, names in COMPANIES.items()
    }
    found = {
        (label, company): [harvest(game, player, rest, episodes, LENGTH) for player in own]
        for label, own in players.items()
        for company, rest in others.items()
    }
    results = _results(found, training, episodes, time.monotonic() - started, from_committed)
    write_json(out / "results.json", results)
    _write_page(out, game, players, others, found, curves, results)
    if as_json:
        print(json.dumps(results))
    else:
        table = Table(title="Commons Harvest Open: means over seeds [95% interval over seeds]")
        for heading in HEADINGS:
            table.add_column(heading)
        for row in _rows(found):
            table.add_row(*row)
        Console(width=None if sys.stdout.isatty() else 150).print(table)
        print(NOTE)
        print(out / "report.html")
    return 0


def _train(
    label: str, agent: str, count: int, out: Path, quiet: bool
) -> tuple[list[Player], list[Any], dict[str, Any]]:
    experiment = Experiment.from_data(zoo_recipe(GAME, agent))
    names = {seed: f"{label}, seed {seed}" for seed in range(count)}
    with Progress(names, experiment.iterations, quiet=quiet) as progress:
        command, place = "comity reproduce harvest", out / "runs" / agent
        folders = train_seeds(experiment, tuple(names), place, Options(), "auto", command, progress.update)
    runs = [RunFolder(folder) for folder in folders]
    training = {
        name: [run.notes().get(name) for run in runs] for name in ("cpu_seconds", "peak_memory_megabytes")
    }
    return [load_player(run.path) for run in runs], [run.metrics() for run in runs], training


def _results(
    found: dict[tuple[str, str], list[Harvested]],
    training: dict[str, Any],
    episodes: int,
    seconds: float,
    from_committed: bool,
) -> dict[str, Any]:
    return {
        "study": "harvest",
        "command": "comity reproduce harvest" + " --from-committed" * from_committed,
        "episodes": episodes,
        "length": LENGTH,
        "seconds": round(seconds, 1),
        "versions": versions(),
        "note": NOTE,
        "training": training,
        "rows": [
            {"player": label, "company": company, "seeds": [each.to_data() for each in seeds]}
            for (label, company), seeds in found.items()
        ],
    }


def _rows(found: dict[tuple[str, str], list[Harvested]]) -> list[list[str]]:
    rows = []
    for (label, company), seeds in found.items():
        focal = np.asarray([each.focal for each in seeds])
        interval = bootstrap_mean(focal)
        means = {
            name: float(np.mean([each.to_data()[name] for each in seeds])) for name in seeds[0].to_data()
        }
        alone = company == "itself"
        rows.append(
            [
                label, company, f"{interval.mean:.1f}",
                f"[{interval.low:.1f}, {interval.high:.1f}]" if len(seeds) > 1 else "",
                " ".join(f"{x:.1f}" for x in focal), "" if alone else f"{means['others']:.1f}",
                f"{means['collective']:.0f}", f"{means['equality']:.2f}", f"{means['sustainability']:.0f}",
                f"{means['bushes']:.2f}", f"{means['apples']:.1f}",
            ]
        )  # fmt: skip
    return rows


def _write_page(
    out: Path,
    game: CommonsHarvest,
    players: dict[str, list[Player]],
    others: dict[str, PerSeat[Player]],
    found: dict[tuple[str, str], list[Harvested]],
    curves: dict[str, list[Any]],
    results: dict[str, Any],
) -> None:
    training = [
        [label, *(" ".join("-" if x is None else f"{x:.0f}" for x in facts.get(name, [])) for name in facts)]
        for label, facts in results["training"].items()
    ]
    parts = [
        html.section(
            "What each player makes of it", html.paragraph(NOTE), html.table(HEADINGS, _rows(found))
        ),
        html.section(
            "What training cost",
            html.table(["player", "CPU-seconds of each seed", "peak memory, MB"], training),
        ),
    ]
    for company in others:
        lines = {
            label: list(enumerate(np.mean([each.over_time for each in found[label, company]], axis=0), 1))
            for label in players
        }
        figure = plots.lines(lines, "step", "apples left (of 64)", logarithmic=True)
        write_atomically(out / f"apples-{company.replace(' ', '-')}.svg", figure.encode())
        heading = "Apples left" + ("" if company == "itself" else f", with {company} players")
        parts.append(html.section(heading, html.figure(figure)))
    parts.append(sections.curves_section(curves))
    pictures = []
    for label in METHODS:
        for company, rest in others.items():
            seated = (players[label][0],) * (len(game.seats) - len(rest)) + rest
            steps = replay(game, seated, 0, SHOWN)
            moving = replays.animation(replays.frames(game.family, steps[::2]), 120)
            name = f"{METHODS[label]}-{company.replace(' ', '-')}.gif"
            write_atomically(out / name, moving)  # beside the page: nine of them would make it heavy
            caption = f"{label}, seed 0, with {company}: the first {SHOWN} steps, every second one."
            pictures.append(html.figure(f'<img alt="replay" src="{name}">', caption))
    parts.append(html.section("Replays", *pictures))
    parts.append(sections.repeat_section([results["command"]], results["versions"]))
    page = html.page(
        "Commons Harvest", "Seven players, apples that come back only while others are left.", parts
    )
    write_atomically(out / "report.html", page.encode())
