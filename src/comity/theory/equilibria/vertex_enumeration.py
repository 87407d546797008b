"""All extreme Nash equilibria of a two-player game from the vertices of its best-response polytopes.

1. Bring both payoff tables into [1, 2] without changing equilibria (`taming`).
2. Enumerate the vertices of P = { x >= 0 : B' x <= 1 } and of Q = { y >= 0 : A y <= 1 }.
3. Label each vertex: i for "row i is unplayed" (P) or "row i is a best response" (Q), m + j likewise for
   column j.
4. Every pair of vertices that together carry all labels, except (0, 0), is an equilibrium once x and y
   are normalised to sum to 1.
5. Solve the tight equations of each pair again, so that its regret is at rounding level.

In a non-degenerate game these are all equilibria, and their number is odd. In a degenerate game they are
the extreme ones: every other equilibrium is a convex combination of them with one player's strategy fixed.

Source: von Stengel, "Equilibrium computation for two-player games", in Algorithmic Game Theory, 2007,
algorithm 3.7; Mangasarian, "Equilibrium points of bimatrix games", SIAM J. Appl. Math., 1964.
"""

from math import comb

import numpy as np

from comity.theory.equilibria.polytope import Vertices, vertices
from comity.theory.equilibria.taming import tame
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import Equilibrium, NormalFormGame, genuine_equilibria

MOST_VERTICES = 3_000_000


def vertex_enumeration(game: NormalFormGame) -> list[Equilibrium]:
    """All extreme equilibria, in a fixed order."""
    row, column = game.bimatrix("Vertex enumeration")
    m, n = row.shape
    for dimensions in (m, n):
        if most_vertices(dimensions, m + n) > MOST_VERTICES:
            raise TheoryError(
                f"Vertex enumeration of a {m} x {n} game may meet more than {MOST_VERTICES:,} vertices; "
                "lemke_howson finds one equilibrium, and eliminate_dominated may shrink the game."
            )
    tamed = tame(row, column)
    m, n = tamed.row.shape
    of_rows, of_columns = tamed.column.T + 1.0, tamed.row + 1.0
    p, q = vertices(of_rows), vertices(of_columns)
    pairs = complementary_pairs(p.tight, np.roll(q.tight, m, axis=1))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for first, second in pairs:
        if p.tight[first, :m].all() or q.tight[second, :n].all():
            continue  # the vertex 0 is nobody's strategy
        found.append(tamed.strategies(exact(of_rows, p, first), exact(of_columns, q, second)))
    found.sort(key=lambda pair: (*(-pair[0]).round(9).tolist(), *(-pair[1]).round(9).tolist()))
    return genuine_equilibria(game, found, "vertex enumeration")


def complementary_pairs(first: np.ndarray, second: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of vertices whose labels (`[vertices, labels]`, truth values) together are all labels."""
    labels = first.shape[1]
    if (first.sum(1) + second.sum(1).max() == labels).all() and second.sum(1).min() == second.sum(1).max():
        where = {bits.tobytes(): k for k, bits in enumerate(np.packbits(~second, axis=1))}
        keys = [bits.tobytes() for bits in np.packbits(first, axis=1)]
        return [(k, where[key]) for k, key in enumerate(keys) if key in where]
    pairs: list[tuple[int, int]] = []
    missing = (~second).astype(np.float32).T
    for start in range(0, len(first), 2_000):
        block = ~first[start : start + 2_000]
        unlabelled = block.astype(np.float32) @ missing  # how many labels neither vertex carries
        for a, b in np.argwhere(unlabelled == 0.0).tolist():
            pairs.append((start + a, b))
    return pairs


def exact(matrix: np.ndarray, found: Vertices, index: int) -> np.ndarray:
    """The strategy at a vertex, solved again from its tight inequalities."""
    dimensions = matrix.shape[1]
    tight = found.tight[index]
    support = np.flatnonzero(~tight[:dimensions])
    best = np.flatnonzero(tight[dimensions:])
    system = matrix[best[:, None], support]
    if best.size == support.size:
        solution = np.linalg.solve(system, np.ones(best.size))
    else:
        solution = np.linalg.lstsq(system, np.ones(best.size))[0]
    strategy = np.zeros(dimensions)
    strategy[support] = solution.clip(0.0)
    return strategy / strategy.sum()


def most_vertices(dimensions: int, inequalities: int) -> int:
    """McMullen's upper bound on the vertices of a polytope."""
    half = dimensions // 2
    rest = inequalities - dimensions
    return comb(rest + half, half) + comb(rest + dimensions - half - 1, dimensions - half - 1)
