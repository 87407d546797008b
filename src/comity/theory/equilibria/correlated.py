"""Correlated and coarse correlated equilibria of an n-player game by linear programming.

A distribution mu over pure profiles is a correlated equilibrium if nobody gains by disobeying a
recommendation, and a coarse one if nobody gains by ignoring it beforehand:

    correlated:  sum_{a : a_i = r} mu(a) [u_i(d, a_-i) - u_i(a)] <= 0   for all i, r, d,
    coarse:      sum_a             mu(a) [u_i(d, a_-i) - u_i(a)] <= 0   for all i, d.

1. Write these as linear inequalities, with mu >= 0 and sum mu = 1.
2. Optimise: nothing ("feasible"), the sum of payoffs ("welfare"), or the smallest payoff of any player
   ("maxmin", which maximises t subject to E u_i >= t).
3. Report the regret: the largest left-hand side (of correlated: summed over recommendations, each player
   with their best reaction to each).

Source: Aumann, "Subjectivity and correlation in randomized strategies", J. Math. Econ., 1974; Moulin and
Vial, "Strategically zero-sum games", Int. J. Game Theory, 1978.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.linear_program import minimise, probabilities, solved, unit_range
from comity.theory.normal_form.game import NormalFormGame

Objective = Literal["feasible", "welfare", "maxmin"]
MOST_PROFILES = 200_000
MOST_NUMBERS = 50_000_000  # in the table of deviations and profiles: 400 MB


@displayed
class CorrelatedEquilibrium(NamedTuple):
    """A distribution over profiles that nobody gains by disobeying."""

    distribution: Float[np.ndarray, " *actions"]
    payoffs: Float[np.ndarray, " players"]
    regret: float  # the most that a player gains by deviating from their recommendations


def correlated_equilibrium(
    game: NormalFormGame, objective: Objective = "welfare", coarse: bool = False
) -> CorrelatedEquilibrium:
    """A (coarse) correlated equilibrium that is best by `objective`."""
    if objective not in ("feasible", "welfare", "maxmin"):
        raise TheoryError(f"objective is {objective!r}; 'feasible', 'welfare' or 'maxmin' would work.")
    size = game.num_profiles
    if size > MOST_PROFILES:
        raise TheoryError(
            f"The game has {size:,} pure profiles, more than {MOST_PROFILES:,}; regret matching "
            "(run_regret_matching) approaches a coarse correlated equilibrium of a game this large."
        )
    rows = sum(k if coarse else k * (k - 1) for k in game.num_actions)
    if size * rows > MOST_NUMBERS:
        raise TheoryError(
            f"The game has {size:,} pure profiles and {rows:,} deviations, {size * rows:,} numbers and more "
            f"than {MOST_NUMBERS:,}; regret matching (run_regret_matching) approaches a coarse correlated "
            "equilibrium of a game this large."
        )
    scaled = np.stack([unit_range(payoffs) for payoffs in game.payoffs])
    incentives = deviation_gains(scaled, coarse)
    payoffs = game.payoffs.reshape(game.num_players, -1)
    common = unit_range(payoffs)
    if objective == "maxmin":
        solution = minimise(
            np.append(np.zeros(size), -1.0),
            np.vstack(
                [
                    np.column_stack([incentives, np.zeros(len(incentives))]),
                    np.column_stack([-common, np.ones(game.num_players)]),
                ]
            ),
            np.zeros(len(incentives) + game.num_players),
            np.append(np.ones(size), 0.0)[None],
            np.ones(1),
            [(0, None)] * size + [(None, None)],
        )
    else:
        cost = -common.sum(0) if objective == "welfare" else np.zeros(size)
        solution = minimise(cost, incentives, np.zeros(len(incentives)), np.ones((1, size)), np.ones(1))
    weights = probabilities(solved(solution, "correlated equilibrium").point[:size])
    distribution = weights.reshape(game.num_actions)
    return CorrelatedEquilibrium(
        distribution, payoffs @ weights, correlated_regret(game, distribution, coarse)
    )


def deviation_gains(
    payoffs: Float[np.ndarray, " players *actions"], coarse: bool
) -> Float[np.ndarray, "constraints profiles"]:
    """The rows of the inequalities above."""
    rows: list[np.ndarray] = []
    for player, own in enumerate(payoffs):
        actions = own.shape[player]
        index = np.indices(own.shape)[player]
        for deviation in range(actions):
            gain = own.take([deviation], axis=player) - own
            if coarse:
                rows.append(gain.ravel())
            else:
                rows.extend(
                    np.where(index == told, gain, 0.0).ravel() for told in range(actions) if told != deviation
                )
    return np.array(rows) if rows else np.zeros((1, payoffs[0].size))


def correlated_regret(
    game: NormalFormGame, distribution: Float[np.ndarray, " *actions"], coarse: bool = False
) -> float:
    """The most that one player gains from `distribution` by their best (coarse) deviation."""
    worst = 0.0
    for player, payoffs in enumerate(game.payoffs):
        own = np.moveaxis(payoffs, player, 0).reshape(payoffs.shape[player], -1)
        weights = np.moveaxis(distribution, player, 0).reshape(own.shape)
        if coarse:
            gain = float((own @ weights.sum(0)).max() - (own * weights).sum())
        else:
            gain = float(((own @ weights.T).max(axis=0) - (own * weights).sum(axis=1)).sum())
        worst = max(worst, gain)
    return worst
