"""Alpha-rank: how often each strategy profile is seen when populations evolve by imitation.

One population per player (a single one for a symmetric game given as a square table). A profile moves to
another that differs in one player's action; the mutant, who gains D by the change, takes over with

    rho(D) = (1 - exp(-alpha D)) / (1 - exp(-m alpha D)),    1 / m if D = 0,

for m individuals and selection alpha. The stationary distribution over profiles ranks them.

1. log rho without overflow:  for D > 0,  log(1 - e^{-alpha D}) - log(1 - e^{-m alpha D});
   for D < 0,  rho(D) = rho(-D) e^{(m - 1) alpha D}.
2. The stationary distribution by state reduction on logarithms (see markov).
3. alpha = infinity is the exact limit: rho -> 1, 1/m or exp(-(m - 1) alpha |D|). It is one distribution
   also where the limiting chain has several closed classes.

Source: Omidshafiei et al., "alpha-Rank: Multi-Agent Evaluation by Evolution", Scientific Reports, 2019.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.dynamics.stationary import limit_stationary, stationary_from_log_rates
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame, numbers

MOST_STATES = 3_000


@displayed
class AlphaRank(NamedTuple):
    """The stationary distribution of the evolutionary chain among strategies or profiles."""

    distribution: Float[np.ndarray, " states"]  # over strategies, or over profiles in C order
    ranking: tuple[int, ...]  # states, most frequent first
    alpha: float


def log_takeover(gain: np.ndarray, alpha: float, population: int) -> np.ndarray:
    """log rho(D) for each gain D."""
    size = alpha * np.abs(gain)
    with np.errstate(divide="ignore", invalid="ignore"):
        positive = np.log(-np.expm1(-size)) - np.log(-np.expm1(-population * size))
    positive = np.where(size * population < 1e-12, -np.log(population), positive)
    return positive + np.where(gain < 0, -(population - 1) * size, 0.0)


def alpha_rank(
    game: NormalFormGame | Float[np.ndarray, "own other"], alpha: float = np.inf, population: int = 50
) -> AlphaRank:
    """Rank strategies (a square table: one population) or profiles (a game: a population per player)."""
    if not alpha > 0:
        raise TheoryError(f"alpha is {alpha}; a positive number, or infinity for the limit, would work.")
    if population < 2:
        raise TheoryError(f"population is {population}; at least 2 would work.")
    gains, allowed = game_gains(game) if isinstance(game, NormalFormGame) else table_gains(game)
    if np.isinf(alpha):
        size = float(np.abs(gains).max()) or 1.0
        level = np.abs(gains) <= 1e-12 * size
        exponents = np.where((gains < 0) & ~level, -gains * (population - 1) / size, 0.0)
        coefficients = np.where(level, 1.0 / population, 1.0)
        distribution = limit_stationary(exponents, coefficients, allowed)
    else:
        logs = np.where(allowed, log_takeover(gains, alpha, population), -np.inf)
        distribution = stationary_from_log_rates(logs)
    order = np.argsort(-distribution, kind="stable")
    return AlphaRank(distribution, tuple(order.tolist()), float(alpha))


def table_gains(table: object) -> tuple[np.ndarray, np.ndarray]:
    """One population: mutant m among residents r gains M[m, r] - M[r, m]."""
    payoffs = numbers(table, "payoffs")
    if payoffs.ndim != 2 or payoffs.shape[0] != payoffs.shape[1]:
        raise TheoryError(f"payoffs has shape {payoffs.shape}; a square table (own, other) would work.")
    return payoffs.T - payoffs, ~np.eye(len(payoffs), dtype=np.bool_)


def game_gains(game: NormalFormGame) -> tuple[np.ndarray, np.ndarray]:
    """One population per player: a move changes one action and gains the mover's change in payoff."""
    states = game.num_profiles
    if states > MOST_STATES:
        raise TheoryError(
            f"The game has {states:,} profiles, more than {MOST_STATES:,}; restrict it to the strategies of "
            "interest (NormalFormGame.restrict) first."
        )
    gains = np.zeros((states, states))
    allowed = np.zeros((states, states), dtype=np.bool_)
    number = np.arange(states).reshape(game.num_actions)
    for player, payoffs in enumerate(game.payoffs):
        lines = np.moveaxis(number, player, -1).reshape(-1, game.num_actions[player])
        values = np.moveaxis(payoffs, player, -1).reshape(lines.shape)
        for line, value in zip(lines, values, strict=True):
            gains[np.ix_(line, line)] = value[None, :] - value[:, None]
            allowed[np.ix_(line, line)] = True
    np.fill_diagonal(allowed, False)
    return gains, allowed
