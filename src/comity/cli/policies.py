"""`comity analyse GAME PLAYER ...`: policies as the actions of a game of any number of seats."""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comity.api import load_player
from comity.cli.seating import parse, split_label
from comity.cli.solve import console, print_game, show, together
from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.files import write_json
from comity.core.game import Environment
from comity.evaluate.policy_game import policy_game
from comity.games.transforms import with_horizon
from comity.theory.analysis import Report, analyse_game
from comity.theory.empirical.empirical_game import EmpiricalGame
from comity.theory.equilibria.leader import pure_commitment

SEPARATOR = "/"  # between the players of one seat and those of the next


@dataclass
class Settings:
    """Lets every profile of players play, and says what game theory says about the payoffs.

    All players are policies of every seat; with `/` between them each seat has its own:
    comity analyse simple-tag A B / A B / A B / C D.
    """

    episodes: int = 100  # episodes of each profile
    horizon: int | None = None  # steps in an episode; by default the game's own
    seed: int = 0  # everything random follows from it
    json: Path | None = None  # write payoffs with intervals and the analysis to this file; - prints them


def run(arguments: list[str]) -> int:
    """Measures the game among policies and analyses it."""
    count = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, rest = arguments[:count], arguments[count:]
    settings = parse(Settings, "analyse", names[0], rest)
    if len(names) < 2:
        raise ComityError(f"comity analyse {names[0]} needs players, as in comity analyse {names[0]} random.")
    require(0 <= settings.seed < 2**31, "seed", settings.seed, "between 0 and 2147483647")
    game = settings.game if settings.horizon is None else with_horizon(settings.game, settings.horizon)
    policies = _policies(names[1:], game)
    empirical = policy_game(game, policies, episodes=settings.episodes, seed=settings.seed)
    report = analyse_policies(empirical)
    if settings.json == Path("-"):
        print(json.dumps(report, allow_nan=False))
        return 0
    if settings.json is not None:
        write_json(settings.json, report)
    print_policies(empirical, report)
    return 0


def analyse_policies(empirical: EmpiricalGame) -> Report:
    """Payoffs with intervals, and all that is said of a table; equilibria with what their regret may be."""
    game = empirical.game
    report = analyse_game(game)
    report["payoffs"] = [
        {
            "profile": [names[a] for names, a in zip(game.actions, profile, strict=True)],
            "mean": [float(table[profile]) for table in game.payoffs],
            "low": [float(table[profile]) for table in empirical.low],
            "high": [float(table[profile]) for table in empirical.high],
        }
        for profile in itertools.product(*(range(k) for k in game.num_actions))
    ]
    for found in report["equilibria"]:
        mixtures = [
            [found["strategies"][player].get(name, 0.0) for name in names]
            for player, names in zip(game.players, game.actions, strict=True)
        ]
        found["regret_interval"] = list(empirical.regret_interval([_normalised(own) for own in mixtures]))
    if game.num_players > 1:
        report["leaders"] = [_leader(empirical, leader) for leader in range(game.num_players)]
    return report


def print_policies(empirical: EmpiricalGame, report: Report) -> None:
    """The payoffs with intervals, the analysis, and what a leader of each seat would commit to."""
    out = console()
    rows = [
        [", ".join(own["profile"]), *(
            f"{mean:.3f} ({low:.3f} to {high:.3f})"
            for mean, low, high in zip(own["mean"], own["low"], own["high"], strict=True)
        )]
        for own in report["payoffs"]
    ]  # fmt: skip
    show(out, "Reward per step in each profile", ["profile", *empirical.game.players], rows)
    print_game(empirical.game, report)
    for found in report["equilibria"]:
        low, high = found["regret_interval"]
        mixtures = "; ".join(
            ", ".join(f"{name} {p:.3g}" for name, p in own.items()) for own in found["strategies"].values()
        )
        out.print(f"the regret of the equilibrium {mixtures} is within {low:.3g} to {high:.3g}")
    leaders = [
        [own["leader"], own["commits_to"], together(own["payoffs"]), f"{own['regret']:.3g}"]
        for own in report.get("leaders", [])
    ]
    if leaders:
        headings = ["leader", "commits to", "payoffs", "regret of the others"]
        show(out, "A leader's best policy, the others answering in equilibrium", headings, leaders, left=2)


def _leader(empirical: EmpiricalGame, leader: int) -> dict[str, Any]:
    game = empirical.game
    best = pure_commitment(game, leader)
    return {
        "leader": game.players[leader],
        "commits_to": game.actions[leader][best.action],
        "answers": {
            player: {name: float(p) for name, p in zip(names, own, strict=True) if p > 1e-12}
            for i, (player, names, own) in enumerate(
                zip(game.players, game.actions, best.strategies, strict=True)
            )
            if i != leader
        },
        "payoffs": [float(x) for x in best.payoffs],
        "regret": best.regret,
    }


def _normalised(weights: list[float]) -> np.ndarray:
    found = np.asarray(weights, np.float64)
    return found / found.sum()


def _policies(words: list[str], game: Environment) -> tuple[dict[str, Player], ...]:
    """The players of each seat, by name."""
    lists = [
        list(group) for is_separator, group in itertools.groupby(words, lambda word: word == SEPARATOR)
        if not is_separator
    ]  # fmt: skip
    seats = len(game.seats)
    if len(lists) not in (1, seats):
        raise ComityError(
            f"The game has {seats} seats and there are players for {len(lists)}: give players for all of "
            f"them, or for each, with {SEPARATOR} between."
        )
    chosen = lists * seats if len(lists) == 1 else lists
    found = []
    for seat, sources in enumerate(chosen):
        own: dict[str, Player] = {}
        for source in sources:
            label, rest = split_label(source)
            if label in own:
                raise ComityError(f"Two players are called {label!r}: give them names, as in first={source}.")
            own[label] = load_player(rest, game, seat)
        found.append(own)
    return tuple(found)
