"""Everything about a game as plain data, for programs, reports and the command line.

Each function returns dictionaries of strings, numbers, booleans, None and lists only, ready for JSON. An
analysis that a game is too large for is left out, and `notes` says which and why.
"""

from collections.abc import Callable, Sequence
from math import comb
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from comity.theory.alpha_rank import alpha_rank
from comity.theory.banzhaf import banzhaf
from comity.theory.coalitional import CoalitionalGame
from comity.theory.coalitional_tests import is_convex, is_monotone, is_superadditive
from comity.theory.core import core, least_core
from comity.theory.correlated import correlated_equilibrium
from comity.theory.dominance import eliminate_dominated
from comity.theory.elo import decompose, fit_elo
from comity.theory.empirical import EmpiricalGame
from comity.theory.errors import TheoryError
from comity.theory.exploitability import exploitability_gap, league_exploitability
from comity.theory.folk_theorem import payoff_region
from comity.theory.lemke_howson import lemke_howson_all_labels
from comity.theory.n_player import distinct_equilibria
from comity.theory.normal_form import Equilibrium, NormalFormGame
from comity.theory.nucleolus import nucleolus
from comity.theory.pure import pure_equilibria
from comity.theory.security import security
from comity.theory.shapley import shapley
from comity.theory.stackelberg import stackelberg
from comity.theory.structure import is_constant_sum, is_symmetric, is_zero_sum, potential
from comity.theory.vertex_enumeration import vertex_enumeration
from comity.theory.welfare import pareto_profiles, price_of_selfishness, social_optimum

Report = dict[str, Any]
Answer = TypeVar("Answer")
MOST_LABELS = 20  # all equilibria of games with up to this many actions in total


def plain(value: Any) -> Any:
    """Arrays as lists, numbers as Python's own."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def attempt(notes: list[str], what: str, solve: Callable[[], Answer]) -> Answer | None:
    """The answer, or a note that says why there is none."""
    try:
        return solve()
    except TheoryError as problem:
        notes.append(f"{what}: {problem}")
        return None


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


def named(game: NormalFormGame, profile: Sequence[int]) -> list[str]:
    """The names of a pure profile's actions."""
    return [names[a] for names, a in zip(game.actions, profile, strict=True)]


def analyse_game(game: NormalFormGame) -> Report:
    """Structure, dominance, equilibria, optimum, correlated equilibria and security of a game."""
    notes: list[str] = []
    equilibria = find_equilibria(game, notes)
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
            {"profile": named(game, p), "payoffs": [float(table[p]) for table in game.payoffs]}
            for p in pareto_profiles(game)
        ],
        "optimum": {"profiles": [named(game, p) for p in optimum.profiles], "welfare": optimum.welfare},
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
        best = attempt(notes, kind, lambda c=coarse: correlated_equilibrium(game, "welfare", c))  # type: ignore[misc]
        if best is not None:
            report[kind] = {
                "distribution": plain(best.distribution),
                "payoffs": plain(best.payoffs),
                "regret": best.regret,
            }
    if game.num_players == 2:
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


def analyse_coalitions(game: CoalitionalGame) -> Report:
    """Values, core, nucleolus and structure of a cooperative game."""
    notes: list[str] = []
    report: Report = {
        "title": game.title,
        "players": list(game.players),
        "worth": float(game.worth[-1]),
        "structure": {
            "monotone": is_monotone(game),
            "convex": is_convex(game),
            "superadditive": attempt(notes, "superadditive", lambda: is_superadditive(game)),
        },
        "shapley": plain(shapley(game)),
        "banzhaf": plain(banzhaf(game)),
    }
    found = attempt(notes, "core", lambda: core(game))
    if found is not None:
        report["core"] = {"empty": found.point is None, "point": plain(found.point)}
        if found.proof is not None:
            report["core"]["proof"] = {
                "weights": {",".join(game.coalition(s)): w for s, w in found.proof.weights.items()},
                "worth": found.proof.worth,
            }
        least = least_core(game)
        report["least_core"] = {"excess": least.excess, "point": plain(least.point)}
        report["nucleolus"] = plain(attempt(notes, "nucleolus", lambda: nucleolus(game)))
        report["prenucleolus"] = plain(attempt(notes, "prenucleolus", lambda: nucleolus(game, False)))
    report["notes"] = notes
    return report


def analyse_league(
    empirical: EmpiricalGame, resamples: int = 100, seed: int = 0, games: float = 100.0
) -> Report:
    """Equilibria with regret intervals, alpha-rank, ratings and exploitability of a league.

    `games` is how many were played per pair: the more, the less Elo ratings are drawn to each other.
    """
    notes: list[str] = []
    game = empirical.game
    report: Report = {
        "members": [list(names) for names in game.actions],
        "symmetric": empirical.symmetric,
        "equilibria": [
            describe(game, e) | {"regret_interval": list(empirical.regret_interval(e.strategies))}
            for e in find_equilibria(game, notes)
        ],
        "alpha_rank": attempt(notes, "alpha-rank", lambda: ranked(empirical, resamples, seed)),
    }
    if empirical.symmetric:
        table = empirical.table
        parts = decompose(table)
        exploited = league_exploitability(table)
        report["ratings"] = {
            "elo": plain(fit_elo(scored(table), games).ratings),
            "advantage": plain(parts.ratings),
            "cyclic_share": parts.cyclic_share,
            "cyclic": plain(parts.cyclic),
        }
        report["exploitability"] = {
            "by_league": plain(exploited.by_league),
            "exploiter": [game.actions[0][k] for k in exploited.exploiter],
        }
        if len(table) > 1:
            report["exploitability"]["gap"] = plain(exploitability_gap(table))
    report["notes"] = notes
    return report


def scored(table: Float[np.ndarray, "own other"]) -> Float[np.ndarray, "own other"]:
    """Payoffs as win rates: 1/2 for a draw, 1 for a lead as large as the whole range of payoffs.

    In a zero-sum game whose winner earns 1 and whose loser -1 these are the win rates themselves.
    """
    width = float(np.ptp(table))
    return 0.5 + (table - table.T) / (2.0 * width) if width > 0 else np.full_like(table, 0.5)


def ranked(empirical: EmpiricalGame, resamples: int, seed: int) -> Report:
    """Alpha-rank of the means, with the range of most resampled games."""
    game = empirical.game

    def rank(of: NormalFormGame) -> np.ndarray:
        return alpha_rank(of.payoffs[0] if empirical.symmetric else of).distribution

    result = {"distribution": plain(rank(game)), "alpha": "infinity"}
    if resamples > 0 and (empirical.high > empirical.low).any():
        drawn = np.array([rank(sample) for sample in empirical.resample(resamples, seed)])
        result["low"], result["high"] = (plain(x) for x in np.quantile(drawn, [0.025, 0.975], axis=0))
    return result
