"""The Shapley value: each player's average marginal contribution over all orders of arrival.

    phi_i = sum_{S without i} |S|! (n - |S| - 1)! / n!  [ v(S + i) - v(S) ]

Exact: the worths as an n-dimensional array with two entries per axis (player out, player in); the
marginal contributions of i are differences along axis i, weighted by the size of S.

Sampled, for many players: draw random orders, average the contributions, and give a confidence interval
from their spread (Student's t).

Source: Shapley, "A value for n-person games", 1953; Castro, Gomez and Tejada, "Polynomial calculation of
the Shapley value based on sampling", Computers and Operations Research, 2009.
"""

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from comity.core.display import displayed
from comity.theory.cooperative.coalitional import CoalitionalGame, sizes
from comity.theory.errors import TheoryError


@displayed
class SampledValue(NamedTuple):
    """The Shapley value estimated from sampled orders of players."""

    value: Float[np.ndarray, " players"]
    low: Float[np.ndarray, " players"]  # ends of the confidence interval
    high: Float[np.ndarray, " players"]
    orders: int


def shapley(game: CoalitionalGame) -> Float[np.ndarray, " players"]:
    """The exact value, from all 2^n worths."""
    n = game.num_players
    weight_of_size = np.array([1.0 / (n * comb(n - 1, size)) for size in range(n)])
    weights = weight_of_size[sizes(n - 1)]  # of each coalition without i, with i's bit taken out
    return marginal_means(game, weights)


def marginal_means(
    game: CoalitionalGame, weights: Float[np.ndarray, " others"]
) -> Float[np.ndarray, " players"]:
    """For each player, the weighted sum of contributions over coalitions of the others."""
    n = game.num_players
    value = np.empty(n)
    for i in range(n):
        split = game.worth.reshape(1 << (n - 1 - i), 2, 1 << i)  # bits above i, i itself, bits below i
        value[i] = weights @ (split[:, 1] - split[:, 0]).ravel()
    return value


def shapley_sampled(
    players: int,
    worth: Callable[[Bool[np.ndarray, "coalitions players"]], Float[np.ndarray, " coalitions"]],
    orders: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> SampledValue:
    """An estimate for any number of players; `worth` gets memberships [coalitions, players] at once."""
    if players < 1 or orders < 2:
        raise TheoryError(f"players is {players} and orders {orders}; at least 1 and 2 would work.")
    if not 0.0 < confidence < 1.0:
        raise TheoryError(f"confidence is {confidence}; a number between 0 and 1, such as 0.95, would work.")
    rng = np.random.default_rng(seed)
    mean, squares, done = np.zeros(players), np.zeros(players), 0
    at_once = max(1, min(orders, 4_000_000 // (players * players + players)))
    while done < orders:
        count = min(at_once, orders - done)
        order = rng.permuted(np.tile(np.arange(players), (count, 1)), axis=1)
        place = np.argsort(order, axis=1)
        inside = place[:, None, :] < np.arange(players + 1)[None, :, None]  # after k arrivals
        values = np.asarray(worth(inside.reshape(-1, players)), dtype=np.float64).reshape(count, players + 1)
        if not np.isfinite(values).all():
            raise TheoryError("worth returned a value that is not finite; one finite number each would work.")
        gains = np.take_along_axis(np.diff(values, axis=1), place, axis=1)
        # Means and squared deviations of batches are merged without cancellation (Chan et al., 1983).
        batch_mean = gains.mean(axis=0)
        shift = batch_mean - mean
        squares += ((gains - batch_mean) ** 2).sum(axis=0) + shift**2 * done * count / (done + count)
        mean += shift * count / (done + count)
        done += count
    error = np.sqrt(squares / (orders - 1) / orders)
    reach = float(cast(Any, stats).t.ppf(0.5 + confidence / 2, orders - 1)) * error
    return SampledValue(mean, mean - reach, mean + reach, orders)
