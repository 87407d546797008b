"""Vertices of a best-response polytope { z >= 0 : M z <= 1 } with M > 0, and the labels they carry.

Two ways, the second for what the first cannot be trusted with:

- the convex hull of the dual points (Qhull): each facet of the hull is a vertex of the polytope;
- every choice of as many tight inequalities as there are dimensions, solved as one batch of linear
  systems, which is safe when the polytope is degenerate (a vertex with more tight inequalities than
  dimensions, where floating-point hulls may merge facets).

A vertex is known by the set of inequalities that are tight at it, kept as the bits of one integer: bit k
for z_k = 0 and bit d + j for (M z)_j = 1.

Source: Ziegler, "Lectures on Polytopes", 1995, section 2.3 (polarity).
"""

from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import ConvexHull, QhullError

from comity.theory.equilibria.taming import regular

TIGHT = 1e-9  # slack below which an inequality counts as tight; the payoffs in M lie in [1, 2]
FEW_BASES = 500  # up to here all bases cost less than a hull
MANY_BASES = 200_000  # up to here all bases are affordable for a degenerate polytope


class Vertices(NamedTuple):
    """Corners of a polytope, and which inequalities hold with equality at each."""

    points: Float[np.ndarray, "vertices dimensions"]
    tight: Bool[np.ndarray, "vertices inequalities"]


def vertices(matrix: Float[np.ndarray, "constraints dimensions"]) -> Vertices:
    """All vertices of { z >= 0 : matrix @ z <= 1 }, 0 among them."""
    constraints, dimensions = matrix.shape
    bases = comb(constraints + dimensions, dimensions)
    if bases <= FEW_BASES:
        return vertices_from_bases(matrix)
    try:
        hull = vertices_from_hull(matrix)
    except QhullError:
        return vertices_from_bases(matrix)
    if bases <= MANY_BASES and not is_simple_and_complete(hull.tight):
        return vertices_from_bases(matrix)
    return hull


def vertices_from_hull(matrix: Float[np.ndarray, "constraints dimensions"]) -> Vertices:
    """Vertices as the facets of the hull of the polar dual, seen from a point inside."""
    constraints, dimensions = matrix.shape
    inside = np.full(dimensions, 1.0 / ((dimensions + 1) * matrix.max()))
    normals = np.concatenate([-np.eye(dimensions), matrix])
    offsets = np.concatenate([np.zeros(dimensions), np.ones(constraints)])
    dual = normals / (offsets - normals @ inside)[:, None]
    equations = np.asarray(ConvexHull(dual).equations)
    return distinct(matrix, inside - equations[:, :-1] / equations[:, -1:])


def vertices_from_bases(matrix: Float[np.ndarray, "constraints dimensions"]) -> Vertices:
    """Vertices as the feasible solutions of every square subsystem of inequalities made tight."""
    constraints, dimensions = matrix.shape
    normals = np.concatenate([-np.eye(dimensions), matrix])
    offsets = np.concatenate([np.zeros(dimensions), np.ones(constraints)])
    total = comb(constraints + dimensions, dimensions)
    flat = chain.from_iterable(combinations(range(constraints + dimensions), dimensions))
    chosen = np.fromiter(flat, dtype=np.int64, count=total * dimensions).reshape(total, dimensions)
    found: list[np.ndarray] = []
    for part in np.array_split(chosen, total // 20_000 + 1):
        systems = normals[part]
        solvable = regular(systems)
        points = np.linalg.solve(systems[solvable], offsets[part[solvable]][..., None])[..., 0]
        feasible = (points >= -TIGHT).all(1) & (points @ matrix.T <= 1.0 + TIGHT).all(1)
        found.append(points[feasible])
    return distinct(matrix, np.concatenate(found))


def distinct(matrix: np.ndarray, points: np.ndarray) -> Vertices:
    """One point for each set of tight inequalities."""
    tight = np.concatenate([points <= TIGHT, points @ matrix.T >= 1.0 - TIGHT], axis=1)
    packed = np.packbits(tight, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    first = np.unique(keys, return_index=True)[1]
    return Vertices(points[first], tight[first])


def is_simple_and_complete(tight: Bool[np.ndarray, "vertices inequalities"]) -> bool:
    """Whether each vertex has exactly as many tight inequalities as dimensions and none is missing.

    At a simple vertex, letting go of one tight inequality leads along an edge to exactly one other vertex.
    So the sets left by letting go are each shared by two vertices if and only if the list is closed.
    """
    sizes = tight.sum(axis=1)
    if sizes.min() != sizes.max():
        return False
    rng = np.random.default_rng(0)
    marks = rng.integers(0, 2**63, size=(tight.shape[1],), dtype=np.uint64)
    whole = np.where(tight, marks, np.uint64(0))
    for column in range(1, whole.shape[1]):
        whole[:, 0] ^= whole[:, column]
    rows, labels = np.nonzero(tight)
    edges = np.sort(whole[rows, 0] ^ marks[labels])
    if edges.size % 2:
        return False
    pairs = edges.reshape(-1, 2)
    return bool((pairs[:, 0] == pairs[:, 1]).all() and (pairs[1:, 0] != pairs[:-1, 0]).all())
