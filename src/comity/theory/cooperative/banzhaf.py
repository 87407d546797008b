"""The Banzhaf value and index: how often a player makes the difference, all coalitions alike.

    beta_i = 2^-(n - 1) sum_{S without i} [ v(S + i) - v(S) ]

The index divides by the sum over players. Unlike Shapley's, the value need not add up to v(N).

Source: Banzhaf, "Weighted voting doesn't work", Rutgers Law Review, 1965; Dubey and Shapley, "Mathematical
properties of the Banzhaf power index", Mathematics of Operations Research, 1979.
"""

import numpy as np
from jaxtyping import Float

from comity.theory.cooperative.coalitional import CoalitionalGame
from comity.theory.cooperative.shapley import marginal_means
from comity.theory.errors import TheoryError


def banzhaf(game: CoalitionalGame) -> Float[np.ndarray, " players"]:
    """The average marginal contribution over all coalitions of the others."""
    others = 1 << (game.num_players - 1)
    return marginal_means(game, np.full(others, 1.0 / others))


def banzhaf_index(game: CoalitionalGame) -> Float[np.ndarray, " players"]:
    """The value scaled to sum to 1."""
    value = banzhaf(game)
    if abs(value.sum()) <= 1e-12 * np.abs(value).sum():
        raise TheoryError(
            "No player ever makes a difference, so the Banzhaf index is undefined; use banzhaf."
        )
    return value / value.sum()
