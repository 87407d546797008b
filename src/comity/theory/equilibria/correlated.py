"""Correlated and coarse correlated equilibria of an n-player game by linear programming.

A distribution mu over pure profiles is a correlated equilibrium if nobody gains by disobeying a
recommendation, and a coarse one if nobody gains by ignoring it beforehand:

    correlated:  sum_{a : a_i = r} mu(a) [u_i(d, a_-i) - u_i(a)] <= 0   for all i, r, d,
    coarse:      sum_a             mu(a) [u_i(d, a_-i) - u_i(a)] <= 0   for all i, d.

1. Write these as linear inequalities, with mu >= 0 and sum mu = 1.
2. Optimise: nothing ("feasible"), the sum of payoffs ("welfare"), or the smallest payoff of any player
   ("maxmin", which maximises t subject to E u_i >= t).
3. Between two players whose payoffs add up to a constant every such distribution pays the same, so that the
   product of what secures each player's value is best by any objective, and no program is needed.
4. Report the regret: the largest left-hand side (of correlated: summed over recommendations, each player
   with their best reaction to each).

Source: Aumann, "Subjectivity and correlation in randomized strategies", J. Math. Econ., 1974; Moulin and
Vial, "Strategically zero-sum games", Int. J. Game Theory, 1978.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import sparse

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.linear_program import minimise, probabilities, solved, unit_range
from comity.theory.normal_form.game import NormalFormGame
from comity.theory.normal_form.security import security
from comity.theory.normal_form.structure import is_constant_sum

Objective = Literal["feasible", "welfare", "maxmin"]
MOST_PROFILES = 200_000
MOST_ENTRIES = 2_000_000  # numbers in the inequalities that are not 0: two players with 100 actions each


@displayed
class CorrelatedEquilibrium(NamedTuple):
    """A distribution over profiles that nobody gains by disobeying."""

    distribution: Float[np.ndarray, " *actions"]
    payoffs: Float[np.ndarray, " players"]
    regret: float  # the most that a player gains by deviating from their recommendations


def correlated_equilibrium(
    game: NormalFormGame,
    objective: Objective = "welfare",
    coarse: bool = False,
    seconds: float | None = None,
) -> CorrelatedEquilibrium:
    """A (coarse) correlated equilibrium that is best by `objective`, if it is found within `seconds`."""
    if objective not in ("feasible", "welfare", "maxmin"):
        raise TheoryError(f"objective is {objective!r}; 'feasible', 'welfare' or 'maxmin' would work.")
    size = game.num_profiles
    if size > MOST_PROFILES:
        raise TheoryError(
            f"The game has {size:,} pure profiles, more than {MOST_PROFILES:,}; regret matching "
            "(run_regret_matching) approaches a coarse correlated equilibrium of a game this large."
        )
    entries = size * sum(k if coarse else k - 1 for k in game.num_actions)
    if entries > MOST_ENTRIES:
        raise TheoryError(
            f"The game has {size:,} pure profiles, whose deviations are {entries:,} numbers and more than "
            f"{MOST_ENTRIES:,}; regret matching (run_regret_matching) approaches a coarse correlated "
            "equilibrium of a game this large."
        )
    if game.num_players == 2 and is_constant_sum(game):
        distribution = np.outer(security(game, 0).strategy, security(game, 1).strategy)
    else:
        distribution = _optimal(game, objective, coarse, seconds).reshape(game.num_actions)
    payoffs = game.payoffs.reshape(game.num_players, -1)
    return CorrelatedEquilibrium(
        distribution, payoffs @ distribution.ravel(), correlated_regret(game, distribution, coarse)
    )


def _optimal(
    game: NormalFormGame, objective: Objective, coarse: bool, seconds: float | None
) -> Float[np.ndarray, " profiles"]:
    """The best distribution by linear programming."""
    size = game.num_profiles
    scaled = np.stack([unit_range(payoffs) for payoffs in game.payoffs])
    incentives = deviation_gains(scaled, coarse)
    limits = incentives.shape[0]
    common = unit_range(game.payoffs.reshape(game.num_players, -1))
    if objective == "maxmin":
        least = sparse.csr_array(np.ones((game.num_players, 1)))  # of all players' payoffs
        above = sparse.hstack([sparse.csr_array(-common), least])
        solution = minimise(
            np.append(np.zeros(size), -1.0),
            sparse.vstack([sparse.hstack([incentives, sparse.csr_array((limits, 1))]), above]).tocsr(),
            np.zeros(limits + game.num_players),
            np.append(np.ones(size), 0.0)[None],
            np.ones(1),
            [(0, None)] * size + [(None, None)],
            seconds,
        )
    else:
        cost = -common.sum(0) if objective == "welfare" else np.zeros(size)
        ones = np.ones((1, size))
        solution = minimise(cost, incentives, np.zeros(limits), ones, np.ones(1), seconds=seconds)
    return probabilities(solved(solution, "correlated equilibrium").point[:size])


def deviation_gains(payoffs: Float[np.ndarray, " players *actions"], coarse: bool) -> sparse.csr_array:
    """The rows of the inequalities above, [constraints, profiles]; those of recommendations are sparse."""
    profiles = np.arange(payoffs[0].size).reshape(payoffs[0].shape)
    blocks = []
    for player, table in enumerate(payoffs):
        actions = table.shape[player]
        own, column = (np.moveaxis(x, player, 0).reshape(actions, -1) for x in (table, profiles))
        if coarse:  # [deviation, told, others]
            gains, columns = own[:, None] - own, np.broadcast_to(column, (actions, *column.shape))
        else:
            told, deviation = np.nonzero(~np.eye(actions, dtype=bool))
            gains, columns = own[deviation] - own[told], column[told]
        ends = np.arange(len(gains) + 1) * (gains[0].size if len(gains) else 0)
        blocks.append(sparse.csr_array((gains.ravel(), columns.ravel(), ends), (len(gains), profiles.size)))
    return sparse.vstack(blocks).tocsr()


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
