"""A league as plain data."""

import numpy as np
from jaxtyping import Float

from comity.theory.analysis.games import describe, find_equilibria
from comity.theory.analysis.plain import Report, attempt, plain
from comity.theory.empirical.alpha_rank import alpha_rank
from comity.theory.empirical.elo import decompose, fit_elo
from comity.theory.empirical.empirical_game import EmpiricalGame
from comity.theory.empirical.exploitability import exploitability_gap, league_exploitability
from comity.theory.normal_form.game import NormalFormGame


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
