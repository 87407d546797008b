"""Elo ratings of a league, and the part of it that no rating can express.

Ratings are log-odds: i beats j with probability 1 / (1 + 10^((r_j - r_i) / 400)).

1. Fit by maximum likelihood (Newton's method); a small prior of drawn games keeps ratings finite when
   someone always wins.
2. Cyclic part: with A_ij the log-odds (antisymmetric), the best ratings in the least-squares sense are row
   means, and what remains,

       A = (r_i - r_j) + C,    r = row means of A,    rows of C sum to 0,

   is cyclic: rock beats scissors beats paper beats rock. The share |C|^2 / |A|^2 says how far ratings fail.

Source: Elo, "The Rating of Chessplayers", 1978; Balduzzi, Tuyls, Perolat and Graepel, "Re-evaluating
evaluation", NeurIPS 2018; Jiang, Lim, Yao and Ye, "Statistical ranking and combinatorial Hodge theory", 2011.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import numbers

POINTS = 400.0 / np.log(10.0)  # Elo points per unit of log-odds


@displayed
class Decomposition(NamedTuple):
    """An antisymmetric table as a ladder of ratings plus cycles."""

    ratings: Float[np.ndarray, " players"]
    transitive: Float[np.ndarray, "players players"]
    cyclic: Float[np.ndarray, "players players"]
    cyclic_share: float  # of the squared size: 0 for a ladder, 1 for rock-paper-scissors


@displayed
class Elo(NamedTuple):
    """Ratings under which i beats j with probability 1 / (1 + 10^((r_j - r_i) / 400))."""

    ratings: Float[np.ndarray, " players"]  # in points, mean 0
    predicted: Float[np.ndarray, "players players"]  # win rates that the ratings imply
    worst_error: float  # largest difference between predicted and given win rates


def checked_win_rates(win_rates: object) -> Float[np.ndarray, "players players"]:
    """Win rates in [0, 1] with w_ij + w_ji = 1."""
    rates = numbers(win_rates, "win_rates")
    if rates.ndim != 2 or rates.shape[0] != rates.shape[1]:
        raise TheoryError(f"win_rates has shape {rates.shape}; a square table (own, other) would work.")
    off = ~np.eye(len(rates), dtype=np.bool_)
    if (
        (rates[off] < 0).any()
        or (rates[off] > 1).any()
        or np.abs((rates + rates.T - 1.0)[off]).max(initial=0) > 1e-6
    ):
        raise TheoryError(
            "win_rates[i, j] and win_rates[j, i] must lie between 0 and 1 and add up to 1 (a draw is half a "
            "win); decompose takes payoffs that are no win rates."
        )
    return rates


def fit_elo(
    win_rates: Float[np.ndarray, "players players"],
    games: float | Float[np.ndarray, "players players"] = 100.0,
    prior_draws: float = 0.5,
) -> Elo:
    """Maximum-likelihood ratings; `games` is how many were played per pair (the diagonal is ignored)."""
    rates = checked_win_rates(win_rates)
    n = len(rates)
    played = np.broadcast_to(np.asarray(games, dtype=np.float64), rates.shape) * (1.0 - np.eye(n))
    weight = played + prior_draws * (1.0 - np.eye(n))
    wins = np.where(np.eye(n, dtype=np.bool_), 0.0, played * rates) + 0.5 * prior_draws * (1.0 - np.eye(n))
    ratings = np.zeros(n)
    for _ in range(100):
        expected = 1.0 / (1.0 + np.exp(ratings[None, :] - ratings[:, None]))
        gradient = (wins - weight * expected).sum(axis=1)
        curvature = weight * expected * (1.0 - expected)
        # Adding 1 to every entry pins the mean, along which the likelihood is flat.
        hessian = np.diag(curvature.sum(axis=1)) - curvature + 1.0
        change = np.linalg.solve(hessian, gradient)
        ratings = ratings + change / max(1.0, float(np.abs(change).max()))
        if np.abs(change).max() < 1e-12:
            break
    ratings -= ratings.mean()
    predicted = 1.0 / (1.0 + np.exp(ratings[None, :] - ratings[:, None]))
    error = np.abs(predicted - rates)[~np.eye(n, dtype=np.bool_)].max(initial=0.0)
    return Elo(ratings * POINTS, predicted, float(error))


def decompose(advantage: Float[np.ndarray, "players players"]) -> Decomposition:
    """Split how much i does better than j into ratings and cycles; the antisymmetric part is used."""
    table = numbers(advantage, "advantage")
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise TheoryError(f"advantage has shape {table.shape}; a square table (own, other) would work.")
    antisymmetric = (table - table.T) / 2.0
    ratings = antisymmetric.mean(axis=1)
    transitive = ratings[:, None] - ratings[None, :]
    cyclic = antisymmetric - transitive
    total = float((antisymmetric**2).sum())
    return Decomposition(ratings, transitive, cyclic, float((cyclic**2).sum()) / total if total > 0 else 0.0)


def decompose_win_rates(
    win_rates: Float[np.ndarray, "players players"], least: float = 0.005
) -> Decomposition:
    """`decompose` of log-odds, with rates kept `least` away from 0 and 1; ratings are in Elo points."""
    rates = checked_win_rates(win_rates).clip(least, 1.0 - least)
    return decompose(np.log(rates / (1.0 - rates)) * POINTS)
