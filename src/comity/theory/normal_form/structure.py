"""Tests for structure: zero-sum, symmetric, exact potential.

A potential is one function that every player climbs:

    u_i(a', a_-i) - u_i(a, a_-i) = potential(a', a_-i) - potential(a, a_-i).

1. Build the only candidate, up to a constant: walk from the first profile to each profile, changing one
   player's action at a time, and add up the changes of the mover's payoff.
2. The game has a potential if and only if u_i - potential does not depend on a_i, for every i.

Source: Monderer and Shapley, "Potential games", Games and Economic Behavior, 1996.
"""

import numpy as np
from jaxtyping import Float

from comity.theory.normal_form.game import NormalFormGame


def slack(game: NormalFormGame) -> float:
    """Differences of payoffs below this are rounding errors."""
    return 1e-9 * float(np.abs(game.payoffs).max())


def is_zero_sum(game: NormalFormGame) -> bool:
    """Whether payoffs add up to 0 in every profile."""
    return bool((np.abs(game.payoffs.sum(axis=0)) <= slack(game)).all())


def is_constant_sum(game: NormalFormGame) -> bool:
    """Whether payoffs add up to the same number in every profile."""
    return bool(np.ptp(game.payoffs.sum(axis=0)) <= slack(game))


def is_symmetric(game: NormalFormGame) -> bool:
    """Whether exchanging any two players exchanges their payoffs."""
    if len(set(game.num_actions)) > 1:
        return False
    for i in range(game.num_players - 1):
        swapped = np.swapaxes(game.payoffs, i + 1, i + 2)
        order = list(range(game.num_players))
        order[i], order[i + 1] = order[i + 1], order[i]
        if not np.allclose(swapped[order], game.payoffs, rtol=0.0, atol=slack(game)):
            return False
    return True


def potential(game: NormalFormGame) -> Float[np.ndarray, " *actions"] | None:
    """The exact potential, 0 at the first profile; None if the game has none."""
    players = game.num_players
    candidate = np.zeros(game.num_actions)
    for i, payoffs in enumerate(game.payoffs):
        # Players before i already moved, those after i are still at action 0.
        walk = payoffs[(slice(None),) * (i + 1) + (slice(0, 1),) * (players - i - 1)]
        candidate = candidate + walk - walk.take([0], axis=i)
    for i, payoffs in enumerate(game.payoffs):
        if np.ptp(payoffs - candidate, axis=i).max() > slack(game):
            return None
    return candidate
