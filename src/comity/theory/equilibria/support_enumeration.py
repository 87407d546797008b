"""All extreme Nash equilibria of a two-player game by trying every pair of supports.

Both payoff tables are brought into [0, 1] without changing equilibria (`taming`). For a set J of columns
and an equally large set I of rows:

1. Solve for the mixture y on J that makes the row player indifferent among I:
   (A y)_i = v for i in I, sum of y = 1. Skip singular systems.
2. Keep y if it is positive on J and no row earns more than v. Remember its support J and all its best
   responses, which may be more rows than I.
3. Do the same for mixtures x of the row player.
4. (x, y) is an equilibrium if the support of x lies in the best responses to y and the other way round.

In a non-degenerate game the supports of both players turn out equally large. In a degenerate game step 4
also joins supports of unequal size, and the result is every extreme equilibrium.

Source: Dickhaut and Kaplan, "A program for finding Nash equilibria", The Mathematica Journal, 1991;
von Stengel, in Algorithmic Game Theory, 2007, algorithm 3.4.
"""

from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Bool, Float

from comity.theory.equilibria.taming import regular, tame
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, genuine_equilibria

TIGHT = 1e-9
MOST_SUPPORTS = 300_000


def support_enumeration(game: NormalFormGame) -> list[Equilibrium]:
    """All extreme equilibria, smallest supports first."""
    row, column = game.bimatrix("Support enumeration")
    m, n = row.shape
    if comb(m + n, n) > MOST_SUPPORTS:
        raise TheoryError(
            f"A {m} x {n} game has {comb(m + n, n):,} pairs of equal supports, more than "
            f"{MOST_SUPPORTS:,}; vertex_enumeration (all equilibria) or lemke_howson (one) would work."
        )
    tamed = tame(row, column)
    mixtures_of_columns, rows_best = indifferent_mixtures(tamed.row)
    mixtures_of_rows, columns_best = indifferent_mixtures(tamed.column.T)
    profitable_for_rows = (mixtures_of_rows > 0).astype(np.float32) @ (~rows_best).astype(np.float32).T
    profitable_for_columns = (~columns_best).astype(np.float32) @ (mixtures_of_columns > 0).astype(
        np.float32
    ).T
    pairs = np.argwhere((profitable_for_rows == 0) & (profitable_for_columns == 0)).tolist()
    pairs.sort(key=lambda pair: (np.count_nonzero(mixtures_of_rows[pair[0]]), pair))
    found = [tamed.strategies(mixtures_of_rows[a], mixtures_of_columns[b]) for a, b in pairs]
    return genuine_equilibria(game, found, "support enumeration")


def indifferent_mixtures(
    payoffs: Float[np.ndarray, "own others"],
) -> tuple[Float[np.ndarray, "mixtures others"], Bool[np.ndarray, "mixtures own"]]:
    """The other player's mixtures of step 1 and 2, with the best responses to each; payoffs in [0, 1]."""
    own, others = payoffs.shape
    points: list[np.ndarray] = []
    for size in range(1, min(own, others) + 1):
        rows = np.array(list(combinations(range(own), size)))
        columns = np.array(list(combinations(range(others), size)))
        for part in np.array_split(rows, len(rows) * len(columns) // 20_000 + 1):
            blocks = payoffs[part[:, None, :, None], columns[None, :, None, :]].reshape(-1, size, size)
            bordered = np.zeros((len(blocks), size + 1, size + 1))
            bordered[:, :size, :size] = blocks
            bordered[:, :size, size] = -1.0
            bordered[:, size, :size] = 1.0
            right = np.zeros((size + 1, 1))
            right[size] = 1.0
            solvable = regular(bordered)
            solved = np.linalg.solve(bordered[solvable], right)[:, :, 0]
            supports = np.tile(columns, (len(part), 1))[solvable]
            mixture = np.zeros((len(solved), others))
            np.put_along_axis(mixture, supports, solved[:, :size], axis=1)
            good = (solved[:, :size] > TIGHT).all(1)
            good &= (mixture @ payoffs.T).max(axis=1, initial=-np.inf) <= solved[:, size] + TIGHT
            points.append(mixture[good])
    mixtures = np.concatenate(points)
    mixtures = mixtures[np.unique(mixtures.round(9), axis=0, return_index=True)[1]]
    values = mixtures @ payoffs.T
    return mixtures, values >= values.max(axis=1, keepdims=True) - TIGHT
