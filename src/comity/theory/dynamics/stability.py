"""Whether rest points of replicator dynamics attract: the eigenvalues of the Jacobian there.

1. Leave out each population's last strategy, whose share follows from the others, so that what is left moves
   freely on the simplex.
2. The Jacobian of the velocity by central differences, in double precision: the velocity is a polynomial of
   degree 3, so that their error is that of rounding.
3. All real parts negative: stable (nearby states return). One positive: unstable. Otherwise the linear part
   decides nothing, as at the centre that matching pennies turn around: neutral.

Source: Hofbauer and Sigmund, "Evolutionary Games and Population Dynamics", 1998, chapters 7 and 10.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

Stability = Literal["stable", "unstable", "neutral"]
Meets = Callable[[list[np.ndarray]], list[np.ndarray]]  # whom each population meets
STEP = 1e-5
TOLERANCE = 1e-7  # of the payoff range: real parts below this are 0


def population_stability(payoffs: Float[np.ndarray, "n n"], mix: Float[np.ndarray, " n"]) -> Stability:
    """How a rest point of one population behaves."""
    return _stability([payoffs], [mix], lambda shares: shares)


def populations_stability(
    row: Float[np.ndarray, "m n"],
    column: Float[np.ndarray, "m n"],
    mixes: tuple[Float[np.ndarray, " m"], Float[np.ndarray, " n"]],
) -> Stability:
    """How a rest point of two populations, which meet each other only, behaves."""
    return _stability([row, column.T], mixes, lambda shares: shares[::-1])


def _stability(tables: Sequence[np.ndarray], mixes: Sequence[np.ndarray], met: Meets) -> Stability:
    width = max(float(np.ptp(table)) for table in tables) or 1.0
    scaled = [np.asarray(table, np.float64) / width for table in tables]
    sizes = [len(mix) - 1 for mix in mixes]

    def velocity(free: np.ndarray) -> np.ndarray:
        parts = np.split(free, np.cumsum(sizes)[:-1])
        shares = [np.append(part, 1.0 - part.sum()) for part in parts]
        moved = []
        for table, own, other in zip(scaled, shares, met(shares), strict=True):
            earned = table @ other
            moved.append((own * (earned - own @ earned))[:-1])
        return np.concatenate(moved)

    point = np.concatenate([np.asarray(mix, np.float64)[:-1] for mix in mixes])
    steps = STEP * np.eye(len(point))
    jacobian = np.array([velocity(point + step) - velocity(point - step) for step in steps]).T / (2 * STEP)
    largest = float(np.linalg.eigvals(jacobian).real.max(initial=-np.inf))
    return "stable" if largest < -TOLERANCE else "unstable" if largest > TOLERANCE else "neutral"
