"""Pure Nash equilibria of an n-player game.

1. For each player, mark the profiles in which their action is a best response to the others' actions.
2. A profile marked for every player is an equilibrium.

Source: Nash, "Non-cooperative games", Annals of Mathematics, 1951.
"""

import numpy as np
from jaxtyping import Bool

from comity.theory.normal_form.game import Equilibrium, NormalFormGame, equilibrium


def is_pure_equilibrium(game: NormalFormGame, tolerance: float = 1e-12) -> Bool[np.ndarray, " *actions"]:
    """For each pure profile, whether nobody gains more than `tolerance` (of the largest payoff)."""
    slack = tolerance * float(np.abs(game.payoffs).max())
    stable = np.ones(game.num_actions, dtype=np.bool_)
    for player, payoffs in enumerate(game.payoffs):
        stable &= payoffs >= payoffs.max(axis=player, keepdims=True) - slack
    return stable


def pure_equilibria(game: NormalFormGame) -> list[Equilibrium]:
    """Every pure equilibrium, in lexicographic order of its actions."""
    found = np.argwhere(is_pure_equilibrium(game)).tolist()
    return [equilibrium(game, game.pure(actions), "pure") for actions in found]
