"""`comity analyse LEAGUE.json`: a league as an empirical game, or all profiles of players of a game."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

from comity.cli.parser import parse_arguments
from comity.cli.solve import console, counted, save_picture, short, show, together
from comity.core.errors import ComityError, require
from comity.core.files import write_atomically
from comity.evaluate.influence import Influence, league_influence
from comity.evaluate.league import League, read_league
from comity.report.analysis import analyse, draw_population

LEARNER = {"network": "mlp", "optimiser.learning_rate": 0.01, "entropy_coef": 0.0}


@dataclass
class Settings:
    """Prints the equilibria, alpha-rank, ratings and exploitability of a league's players.

    The players are the strategies of the empirical game; what they earned, with its uncertainty, are the
    payoffs. `comity analyse GAME PLAYER ...` measures the game among policies of any number of seats instead:
    every profile is played.
    """

    # what `comity league ... --json FILE` wrote
    source: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="LEAGUE.json")]]
    json: bool = False  # print JSON for a program instead of tables
    picture: Path | None = None  # draw the replicator dynamics among three players: .png, .svg or .pdf
    graph: Path | None = None  # draw who helps or harms whom, as SVG, to this file
    baseline: str = ""  # the player that effects are measured against; by default the average one
    members: tuple[str, ...] = ()  # the three players in the picture; by default the first by alpha-rank
    resamples: int = 100  # leagues drawn within the confidence intervals, for the interval of alpha-rank
    seed: int = 0  # everything random follows from it
    # train a best response against these players of the league: NAME if scripted, else NAME=PLAYER
    fresh: tuple[str, ...] = ()
    learner: str = "a2c"  # the agent that learns the best response
    iterations: int = 300  # iterations of its training


def run(name: str, arguments: list[str]) -> int:
    """Analyses a league, or the game among policies."""
    source = arguments[0] if arguments else "-"
    if not source.startswith("-") and not source.endswith(".json") and not Path(source).exists():
        from comity.cli import policies

        return policies.run(arguments)
    settings = parse_arguments(Settings, arguments or ["--help"], "comity analyse")
    require(settings.resamples >= 0, "resamples", settings.resamples, "at least 0")
    require(0 <= settings.seed < 2**31, "seed", settings.seed, "between 0 and 2147483647")
    require(settings.iterations >= 1, "iterations", settings.iterations, "at least 1")
    league = read_league(settings.source)
    report = analyse(league, settings.resamples, settings.seed)
    if settings.picture is not None:
        save_picture(draw_population(league, report, settings.members), settings.picture)
    influence = league_influence(league, settings.baseline)
    report["influence"] = influence.to_data()
    if settings.graph is not None:
        from comity.report.social import influence_graph

        write_atomically(settings.graph, influence_graph(influence).encode())
    if settings.fresh:
        report["exploitability"]["fresh"] = _fresh(league, settings)
    if settings.json:
        print(json.dumps(report, allow_nan=False))
    else:
        print_analysis(league, report)
        if len(league.players) > 1:
            print_influence(influence)
    return 0


def _fresh(league: League, settings: Settings) -> dict[str, Any]:
    """What a freshly trained best response gains against each of some players."""
    from comity.api import exploit, load_players
    from comity.games.transforms import with_horizon
    from comity.play.specs import game_from_data, make_agent

    game = with_horizon(game_from_data(league.game), league.horizon)
    agent = make_agent(settings.learner, game, **(LEARNER if settings.learner in ("a2c", "ppo") else {}))
    found = {}
    for source in settings.fresh:
        label, separator, rest = source.partition("=")
        if label not in league.players:
            raise ComityError(f"{label!r} is not in the league: its players are {', '.join(league.players)}.")
        players = load_players(rest if separator else label, game)
        answer = exploit(game, players, agent, iterations=settings.iterations, seed=settings.seed)
        found[label] = {
            "gain": answer.mean.mean,
            "low": answer.mean.low,
            "high": answer.mean.high,
            "earns": float(np.mean(answer.answer)),
        }
    return found


def print_influence(influence: Influence) -> None:
    """Who helps or harms whom: the effects that are certain, the largest first."""
    found = [
        (influence.effect[s, t], influence.low[s, t], influence.high[s, t], source, target)
        for s, source in enumerate(influence.names)
        for t, target in enumerate(influence.names)
        if influence.certain[s, t]
    ]
    rows = [
        [source, "helps" if effect > 0 else "harms", target, f"{effect:+.3f}", f"{low:+.3f} to {high:+.3f}"]
        for effect, low, high, source, target in sorted(found, key=lambda row: -abs(row[0]))
    ]
    title = f"Who helps or harms whom, against {influence.baseline} in its place"
    show(console(), title, ["player", "", "whom", "reward per step", "within"], rows, left=3)


def print_analysis(league: League, report: dict[str, Any]) -> None:
    """The analysis as tables."""
    out = console()
    number = counted(len(league.players), "player", "players")
    out.print(f"{league.game['name']}: {number}, {league.episodes} episodes each\n")
    if not league.symmetric:
        out.print("The seats differ: a player is who it is in all of them, and payoffs are their mean.\n")
    rows = []
    for k, found in enumerate(report["equilibria"], 1):
        low, high = found["regret_interval"]
        mixtures = [
            ", ".join(f"{name} {short(p)}" for name, p in found["strategies"][side].items())
            for side in ("row", "column")
        ]
        rows.append([str(k), *mixtures, together(found["payoffs"]), f"{low:.3g} to {high:.3g}"])
    headings = ["", "one population", "the other", "payoffs", "true regret within"]
    show(
        out,
        counted(len(rows), "equilibrium of the league", "equilibria of the league"),
        headings,
        rows,
        left=3,
    )
    _show_players(out, league, report)
    if "ratings" in report:
        share = report["ratings"]["cyclic_share"]
        out.print(
            f"cyclic part: {share:.1%} of what players gain over each other is cyclic, which no rating shows"
        )
    for name, found in report.get("exploitability", {}).get("fresh", {}).items():
        interval = f"{short(found['low'])} to {short(found['high'])}"
        out.print(f"a fresh best response gains {short(found['gain'])} per step against {name} ({interval})")
    for note in report["notes"]:
        out.print(f"note: {note}")


def _show_players(out: Console, league: League, report: dict[str, Any]) -> None:
    rank, exploited = report["alpha_rank"], report["exploitability"]
    headings = ["player", "best exploiter", "its gain", "others' lead", "Elo", "alpha-rank"]
    rows = []
    for i, name in enumerate(league.players):
        gain = exploited["by_league"][i]
        cells = [name, exploited["exploiter"][i] if gain > 0 else "nobody", short(gain)]
        cells.append(short(exploited["gap"][i]) if "gap" in exploited else "-")
        cells.append(f"{report['ratings']['elo'][i]:+.0f}")
        if rank is None:
            cells.append("-")
        else:
            interval = f" ({rank['low'][i]:.2f} to {rank['high'][i]:.2f})" if "low" in rank else ""
            cells.append(f"{rank['distribution'][i]:.3f}{interval}")
        rows.append(cells)
    show(out, "Players", headings, rows, left=2)
