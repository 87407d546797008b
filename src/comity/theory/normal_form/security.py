"""What a player can secure alone, and to what the others can hold them.

    maximin:  max over own strategies of the worst that the others can do to it,
    minimax:  min over the others' strategies of the best answer to it.

In mixed strategies, with the others free to correlate, both are the value of a zero-sum game and equal
(von Neumann). In pure strategies maximin <= value <= minimax.

1. Flatten the others' joint actions s into columns: U[a, s].
2. Maximise v subject to  sum_a x_a U[a, s] >= v for all s, x a probability vector; the dual gives the
   others' punishment.

Source: von Neumann, "Zur Theorie der Gesellschaftsspiele", Mathematische Annalen, 1928.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.linear_program import minimise, probabilities, solved
from comity.theory.normal_form.game import NormalFormGame


@displayed
class Security(NamedTuple):
    """What a player gets whatever the others do: the minimax value."""

    value: float  # secured in mixed strategies
    strategy: Float[np.ndarray, " actions"]  # a mixture that secures it
    punishment: Float[np.ndarray, " others"]  # the others' joint mixture that holds the player to it
    pure_maximin: float
    pure_minimax: float


def security(game: NormalFormGame, player: int) -> Security:
    """The security level of `player`; `punishment` runs over the others' joint actions in C order."""
    table = np.moveaxis(game.payoffs[player], player, 0).reshape(game.num_actions[player], -1)
    low, width = float(table.min()), float(np.ptp(table)) or 1.0
    scaled = (table - low) / width
    actions, states = table.shape
    solution = solved(
        minimise(
            np.append(np.zeros(actions), -1.0),
            np.column_stack([-scaled.T, np.ones(states)]),
            np.zeros(states),
            np.append(np.ones(actions), 0.0)[None],
            np.ones(1),
            [(0, None)] * actions + [(None, None)],
        ),
        "the security level",
    )
    strategy = probabilities(solution.point[:actions])
    return Security(
        float((strategy @ table).min()),
        strategy,
        probabilities(solution.upper_duals),
        float(table.min(axis=1).max()),
        float(table.max(axis=0).min()),
    )
