"""A two-player game with the same equilibria whose payoffs are all of one size.

Exact methods compare numbers with a tolerance, which fails if one payoff is a million times another. Three
changes leave the equilibria as they are:

1. Strictly dominated actions are removed, again and again: nobody plays them in equilibrium.
2. A column of the row player's payoffs is shifted: whatever the row player does, it gets that much more.
3. It is divided by its range s_j, and the column player's weights are multiplied by it: A_ij y_j stays as it
   is, so the row player's best responses do too. (The same with rows of the column player's payoffs.)

Afterwards every column of A and every row of B spans [0, 1], and an equilibrium (x', y') of the tamed game is
that of the game with x_i = x'_i / t_i and y_j = y'_j / s_j, scaled to sum to 1.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

CONSTANT = 1e-13  # a range this small beside the numbers themselves is a rounding error


class Tamed(NamedTuple):
    """A game with payoffs in [0, 1], and what leads back from it."""

    row: Float[np.ndarray, "m n"]  # payoffs in [0, 1]
    column: Float[np.ndarray, "m n"]
    rows: Int[np.ndarray, " m"]  # the actions that are left
    columns: Int[np.ndarray, " n"]
    row_scale: Float[np.ndarray, " m"]  # t
    column_scale: Float[np.ndarray, " n"]  # s
    shape: tuple[int, int]  # numbers of actions in the whole game

    def strategies(
        self, x: Float[np.ndarray, " m"], y: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " columns"]]:
        """Strategies of the whole game from those of the tamed one."""
        found = []
        for mix, scale, kept, size in zip(
            (x, y), (self.row_scale, self.column_scale), (self.rows, self.columns), self.shape, strict=True
        ):
            whole = np.zeros(size)
            positive = mix > 0
            # Large and small scales may be far apart: the smallest that is played becomes 1.
            whole[kept[positive]] = mix[positive] * (scale[positive].min() / scale[positive])
            found.append(whole / whole.sum())
        return found[0], found[1]


def tame(row: Float[np.ndarray, "m n"], column: Float[np.ndarray, "m n"]) -> Tamed:
    """The tamed game."""
    rows, columns = undominated(row, column)
    left = np.ix_(rows, columns)
    a, column_scale = spread(row[left])
    b, row_scale = spread(column[left].T)
    return Tamed(a, b.T, rows, columns, row_scale, column_scale, row.shape)


def undominated(
    row: Float[np.ndarray, "m n"], column: Float[np.ndarray, "m n"]
) -> tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " columns"]]:
    """The actions left when those strictly dominated by a pure action are removed until none is."""
    rows, columns = np.arange(row.shape[0]), np.arange(row.shape[1])
    while True:
        left = np.ix_(rows, columns)
        keep_rows = ~beaten(row[left])
        keep_columns = ~beaten(column[left].T)
        if keep_rows.all() and keep_columns.all():
            return rows, columns
        rows, columns = rows[keep_rows], columns[keep_columns]


def beaten(payoffs: Float[np.ndarray, "own other"]) -> np.ndarray:
    """For each own action, whether another one is better whatever the other does."""
    return np.array([(payoffs > own).all(axis=1).any() for own in payoffs])


def spread(
    payoffs: Float[np.ndarray, "own other"],
) -> tuple[Float[np.ndarray, "own other"], Float[np.ndarray, " other"]]:
    """Every column shifted and scaled to [0, 1], and the scales."""
    low, high = payoffs.min(axis=0), payoffs.max(axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    scale = np.where(high - low > CONSTANT * size, high - low, 0.0)
    table = np.where(scale > 0, (payoffs - low) / np.where(scale > 0, scale, 1.0), 0.0)
    largest = scale.max()
    return table, np.where(scale > 0, scale, largest if largest > 0 else 1.0)


def regular(systems: Float[np.ndarray, "batch n n"]) -> np.ndarray:
    """Which linear systems have one solution: the volume of their rows beside that of a box as long."""
    box = np.linalg.norm(systems, axis=-1).prod(axis=-1)
    return np.abs(np.linalg.det(systems)) > 1e-13 * np.where(box > 0, box, 1.0)
