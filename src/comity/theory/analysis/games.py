"""A game in normal form as plain data."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import comb

import numpy as np

from comity.theory.analysis.plain import Report, attempt, plain
from comity.theory.equilibria.correlated import correlated_equilibrium
from comity.theory.equilibria.lemke_howson import lemke_howson_all_labels
from comity.theory.equilibria.n_player import distinct_equilibria
from comity.theory.equilibria.pure import pure_equilibria
from comity.theory.equilibria.stackelberg import stackelberg
from comity.theory.equilibria.vertex_enumeration import vertex_enumeration
from comity.theory.normal_form.dominance import eliminate_dominated
from comity.theory.normal_form.game import Equilibrium, NormalFormGame
from comity.theory.normal_form.security import security
from comity.theory.normal_form.structure import is_constant_sum, is_symmetric, is_zero_sum, potential
from comity.theory.normal_form.welfare import pareto_profiles, price_of_selfishness, social_optimum
from comity.theory.repeated.folk_theorem import payoff_region

MOST_LABELS = 20  # all equilibria of games with up to this many actions in total


Progress = Callable[[str], None]


def _silent(stage: str) -> None:
    """Nobody wants to know."""


def find_equilibria(game: NormalFormGame, notes: list[str]) -> list[Equilibrium]:
    """All (extreme) equilibria where that is quick, else several."""
    if game.num_players == 2:
        if (
            sum(game.num_actions) <= MOST_LABELS
            or comb(sum(game.num_actions), game.num_actions[0]) <= 200_000
        ):
            return vertex_enumeration(game)
        notes.append(
            "equilibria: the game is large, so these are those found by Lemke-Howson from each label."
        )
        return attempt(notes, "equilibria", lambda: list(lemke_howson_all_labels(game))) or []
    found = pure_equilibria(game)
    notes.append("equilibria: all pure ones, and mixed ones found by a search that may miss some.")
    for new in attempt(notes, "mixed equilibria", lambda: distinct_equilibria(game)) or []:
        if not any(
            all(np.allclose(a, b, atol=1e-6) for a, b in zip(new.strategies, old.strategies, strict=True))
            for old in found
        ):
            found.append(new)
    return found


def describe(game: NormalFormGame, found: Equilibrium) -> Report:
    """One equilibrium, with names."""
    return {
        "strategies": {
            player: {name: float(p) for name, p in zip(names, strategy, strict=True) if p > 1e-12}
            for player, names, strategy in zip(game.players, game.actions, found.strategies, strict=True)
        },
        "payoffs": plain(found.payoffs),
        "regret": found.regret,
        "method": found.method,
    }


def action_names(game: NormalFormGame, profile: Sequence[int]) -> list[str]:
    """The names of a pure profile's actions."""
    return [names[a] for names, a in zip(game.actions, profile, strict=True)]


def analyse_game(game: NormalFormGame, seconds: float | None = None, progress: Progress = _silent) -> Report:
    """Structure, dominance, equilibria, optimum, correlated equilibria and security of a game.

    What would take longer than `seconds` in all is left out, with a note; `progress` hears what begins.
    """
    notes: list[str] = []
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    progress("equilibria")
    equilibria = find_equilibria(game, notes)
    progress("dominance and security levels")
    optimum = social_optimum(game)
    report: Report = {
        "title": game.title,
        "players": list(game.players),
        "actions": [list(names) for names in game.actions],
        "structure": {
            "zero_sum": is_zero_sum(game),
            "constant_sum": is_constant_sum(game),
            "symmetric": is_symmetric(game),
            "potential": potential(game) is not None,
        },
        "equilibria": [describe(game, e) for e in equilibria],
        "dominance": {
            "strict": elimination(game, strict=True),
            "weak": elimination(game, strict=False),
        },
        "pareto": [
            {"profile": action_names(game, p), "payoffs": [float(table[p]) for table in game.payoffs]}
            for p in pareto_profiles(game)
        ],
        "optimum": {
            "profiles": [action_names(game, p) for p in optimum.profiles],
            "welfare": optimum.welfare,
        },
        "security": [
            {
                "player": name,
                "value": safe.value,
                "strategy": plain(safe.strategy),
                "pure_maximin": safe.pure_maximin,
                "pure_minimax": safe.pure_minimax,
            }
            for name, safe in ((name, security(game, i)) for i, name in enumerate(game.players))
        ],
    }
    if equilibria:
        price = price_of_selfishness(game, equilibria)
        report["price"] = price._asdict()
    for kind, coarse in (("correlated", False), ("coarse_correlated", True)):
        progress(f"{kind.replace('_', ' ')} equilibrium")
        left = None if seconds is None else deadline - time.monotonic()
        solve = partial(correlated_equilibrium, game, "welfare", coarse, left)
        best = attempt(notes, kind, solve)
        if best is not None:
            report[kind] = {
                "distribution": plain(best.distribution),
                "payoffs": plain(best.payoffs),
                "regret": best.regret,
            }
    if game.num_players == 2:
        progress("commitment")
        report["commitment"] = [
            {
                "leader": game.players[leader],
                "strategy": plain(c.strategy),
                "response": game.actions[1 - leader][c.response],
                "leader_payoff": c.leader_payoff,
                "follower_payoff": c.follower_payoff,
                "regret": c.regret,
            }
            for leader, c in ((0, stackelberg(game, 0)), (1, stackelberg(game, 1)))
        ]
        region = payoff_region(game)
        report["repeated"] = {
            "feasible": plain(region.feasible),
            "minimax": plain(region.minimax),
            "individually_rational": plain(region.rational),
        }
    report["notes"] = notes
    return report


def elimination(game: NormalFormGame, strict: bool) -> Report:
    """What iterated elimination leaves."""
    result = eliminate_dominated(game, strict=strict)
    return {
        "rounds": len(result.rounds),
        "left": [[names[a] for a in kept] for names, kept in zip(game.actions, result.kept, strict=True)],
    }
