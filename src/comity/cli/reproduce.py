"""`comity reproduce STUDY`: trains the seeds of a study, or takes the zoo's, and compares with the paper."""

import base64
import dataclasses
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from comity.api import load_player, scripted_player
from comity.cli.studies import coin_league, harvest, scaling
from comity.core.errors import require
from comity.core.files import write_atomically, write_json
from comity.core.types import Environment, Player
from comity.evaluate.claims import STUDIES, Study
from comity.evaluate.league import League, by_kind
from comity.evaluate.replay import replay
from comity.evaluate.study import Measured, measure, study_game
from comity.play.zoo import FOLDER, zoo_recipe
from comity.report import html, plots, replays, sections
from comity.train.experiment import Experiment
from comity.train.folder import RunFolder
from comity.train.runner import Options, versions

EPISODES = 200
SCRIPTED = ("always-cooperate", "always-defect", "tit-for-tat", "random")


Name = Literal[
    "ipd",
    "coin",
    "negotiation",
    "ipd-loqa",
    "coin-loqa",
    "ipd-pola",
    "coin-pola",
    "coin-league",
    "scaling",
    "harvest",
]


@dataclass
class Settings:
    """Reproduces a study: prints published numbers and Comity's side by side, writes figures and a page."""

    study: tyro.conf.Positional[Name]  # which study
    from_committed: bool = False  # take the zoo's trained players instead of training anew
    seeds: int | None = None  # how many seeds; by default those of the study
    episodes: int | None = None  # of each pairing in each arrangement of the seats; 200, in harvest 8
    minutes: float = 6.0  # scaling: CPU-minutes for each grid and agent
    out: Path | None = None  # folder of runs, figures and page; by default reproduce/STUDY
    json: bool = False  # print the comparison as JSON instead of a table


def run(name: str, arguments: list[str]) -> int:
    """Trains or loads, measures, prints and writes."""
    settings = tyro.cli(Settings, args=arguments, prog="comity reproduce")
    for name in ("seeds", "episodes"):
        number = getattr(settings, name)
        require(number is None or number >= 1, name, number, "at least 1")
    out = settings.out or Path("reproduce") / settings.study
    if settings.study == "coin-league":
        return coin_league.run(out, settings.episodes or EPISODES, settings.json)
    if settings.study == "scaling":
        return scaling.run(out, settings.minutes, settings.from_committed, settings.json)
    if settings.study == "harvest":
        return harvest.run(out, settings.seeds, settings.episodes, settings.from_committed, settings.json)
    study = STUDIES[settings.study]
    game = study_game(study)
    count = settings.seeds or study.seeds
    started = time.monotonic()
    if settings.from_committed:
        sources = [f"zoo:{study.game}/{study.agent}/{seed}" for seed in range(count)]
        players = [load_player(source) for source in sources]
        curves = json.loads((FOLDER / study.game / study.agent / "curves.json").read_text(encoding="utf-8"))
    else:
        players, curves = _train(study, settings, count, out)
    scripted = {player: scripted_player(player, game) for player in SCRIPTED}
    measured, leagues = measure(study, game, players, scripted, settings.episodes or EPISODES)
    results = _results(study, settings, measured, time.monotonic() - started)
    write_json(out / "results.json", results)
    _write_page(out, study, game, players, measured, leagues, curves, results)
    if settings.json:
        print(json.dumps(results))
    else:
        _print(study, measured)
        print(out / "report.html")
    return 0


def _train(study: Study, settings: Settings, count: int, out: Path) -> tuple[list[Player], list[Any]]:
    from comity.cli.progress import Progress
    from comity.train.seeds import train_seeds

    experiment = Experiment.from_data(zoo_recipe(study.game, study.agent))
    seeds = tuple(range(count))
    names = {seed: f"seed {seed}" for seed in seeds}
    with Progress(names, experiment.iterations, quiet=settings.json) as progress:
        command = "comity reproduce " + settings.study
        folders = train_seeds(
            dataclasses.replace(experiment, seed=0),
            seeds,
            out / "runs",
            Options(),
            "auto",
            command,
            progress.update,
        )
    runs = [RunFolder(folder) for folder in folders]
    return [load_player(folder.path) for folder in runs], [folder.metrics() for folder in runs]


def _results(study: Study, settings: Settings, measured: list[Measured], seconds: float) -> dict[str, Any]:
    return {
        "study": settings.study,
        "game": study.game,
        "agent": study.agent,
        "seeds": len(measured[0].seeds),
        "episodes": settings.episodes or EPISODES,
        "from_committed": settings.from_committed,
        "seconds": round(seconds, 1),
        "versions": versions(),
        "note": study.note,
        "claims": [item.to_data() for item in measured],
    }


def _print(study: Study, measured: list[Measured]) -> None:
    table = Table(title=f"{study.agent} in {study.game}: mean over seeds [95% interval over seeds]")
    for heading in ("what", "T", "published", "must", "aim", "Comity", "interval", "worst", "best", ""):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for row in _rows(measured):
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    print(study.note)


def _rows(measured: list[Measured]) -> list[list[str]]:
    rows = []
    for item in measured:
        claim, interval = item.claim, item.interval
        worst, best = sorted((item.seeds.min(), item.seeds.max()), reverse=claim.sign < 0)
        rows.append(
            [
                claim.label,
                str(claim.horizon),
                *("" if x is None else f"{x:.3f}" for x in (claim.published, claim.must, claim.aim)),
                f"{interval.mean:.3f}",
                f"[{interval.low:.3f}, {interval.high:.3f}]",
                f"{worst:.3f}",
                f"{best:.3f}",
                {None: "", True: "holds", False: "misses"}[item.holds],
            ]
        )
    return rows


def _write_page(
    out: Path,
    study: Study,
    game: Environment,
    players: list[Player],
    measured: list[Measured],
    leagues: dict[int, League],
    curves: list[Any],
    results: dict[str, Any],
) -> None:
    headings = ["what", "T", "published", "must", "aim", "Comity", "interval", "worst", "best", ""]
    parts = [
        html.section(
            "Paper and Comity",
            html.paragraph(study.note),
            html.table(headings, _rows(measured)),
            html.paragraph("Intervals are 95% bootstrap intervals over seeds; the last iterate counts."),
        )
    ]
    states = [item for item in measured if item.claim.kind == "cooperates"]
    if states:
        series = {"mean over seeds": np.asarray([item.interval.mean for item in states])}
        bars = plots.state_bars([item.claim.against for item in states], series, "P(cooperate)")
        write_atomically(out / "cooperation.svg", bars.encode())
        parts.append(html.section("Cooperation in each state", html.figure(bars)))
    for horizon, league in leagues.items():
        seeds, rest = len(players), league.players[len(players) :]
        small = by_kind(
            league, {study.agent: list(range(seeds))} | {n: [seeds + i] for i, n in enumerate(rest)}
        )
        write_atomically(out / f"league-{horizon}.svg", plots.heat_map(small.players, small.mean).encode())
        parts.append(
            sections.league_section(
                small, f"Episodes of {horizon} steps; all seeds of the agent as one, each with itself."
            )
        )
    shown = [curve for curve in curves if curve]
    if shown:
        parts.append(sections.curves_section({study.agent: shown}))
    parts.append(_replays(out, study, game, players))
    command = f"comity reproduce {results['study']}" + (" --from-committed" * results["from_committed"])
    parts.append(sections.repeat_section([command], results["versions"]))
    page = html.page(
        f"{study.agent} in {study.game}", f"{len(players)} seeds beside the published results.", parts
    )
    write_atomically(out / "report.html", page.encode())


def _replays(out: Path, study: Study, game: Environment, players: list[Player]) -> str:
    """Sample episodes as pictures and one animation: with itself, and against always-defect."""
    assert game.horizon is not None
    parts = []
    opponents = {"itself": players[0], "always-defect": scripted_player("always-defect", game)}
    for name, opponent in opponents.items():
        steps = replay(game, (players[0], opponent), 0, game.horizon)
        pictures = replays.frames(game.family, steps)
        if not pictures:
            continue
        moving = replays.animation(pictures)
        write_atomically(out / f"replay-{name}.gif", moving)
        write_atomically(out / f"episode-{name}.png", replays.strip(pictures))
        data = base64.b64encode(moving).decode()
        caption = f"{study.agent}, seed 0 (first colour), and {name}; numbers are the rewards so far."
        parts.append(html.figure(f'<img alt="replay" src="data:image/gif;base64,{data}">', caption))
    return html.section("Replays", *parts)
