r"""Consensus over a graph: everybody moves to a weighted mean of its neighbours, until all agree.

.. math:: x_i \leftarrow \sum_j w_{ij} x_j

With symmetric weights whose rows sum to 1 the mean of all is kept, and the distance to it shrinks in each
round by the second largest modulus of the eigenvalues of W at least (Xiao and Boyd, "Fast linear iterations
for distributed averaging", 2004). Metropolis weights need to know the neighbours' degrees only:
:math:`w_{ij} = 1 / (1 + \max(d_i, d_j))`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.coordination.graphs import Graph, checked_graph
from comity.core.display import displayed
from comity.core.errors import ComityError, require


@displayed
class Agreement(NamedTuple):
    """What everybody holds in the end, and how far the farthest was from the mean in each round."""

    values: Float[np.ndarray, "node *shape"]
    distances: Float[np.ndarray, " rounds"]  # Euclidean, of all nodes together, the first before any round
    messages: int


def metropolis_weights(graph: Graph) -> Float[np.ndarray, "node node"]:
    """Weights from the degrees of neighbours."""
    degrees = checked_graph(graph).sum(axis=1)
    weights = np.where(graph, 1.0 / (1.0 + np.maximum(degrees[:, None], degrees)), 0.0)
    return weights + np.diag(1.0 - weights.sum(axis=1))


def max_degree_weights(graph: Graph) -> Float[np.ndarray, "node node"]:
    """The same weight for every link: one over one more than the largest degree."""
    degrees = checked_graph(graph).sum(axis=1)
    weights = graph / (1.0 + degrees.max(initial=0))
    return weights + np.diag(1.0 - weights.sum(axis=1))


def contraction(weights: Float[np.ndarray, "node node"]) -> float:
    """By what part the distance to the mean shrinks in a round at least: the second largest modulus."""
    moduli = np.sort(np.abs(np.linalg.eigvalsh(weights)))
    return float(moduli[-2]) if len(moduli) > 1 else 0.0


def average(
    values: Float[np.ndarray, "node *shape"],
    weights: Float[np.ndarray, "node node"],
    rounds: int = 10_000,
    tolerance: float = 1e-9,
) -> Agreement:
    """Rounds of averaging until all are within `tolerance` of the mean, or there were enough."""
    require(rounds >= 0, "rounds", rounds, "at least 0")
    fits = weights.shape == (len(values),) * 2 and np.allclose(weights, weights.T)
    if not fits or not np.allclose(weights.sum(axis=1), 1.0):
        raise ComityError(
            f"weights has the shape {weights.shape}: for {len(values)} nodes a symmetric table with rows "
            f"that sum to 1, as metropolis_weights makes, would work."
        )
    now = np.asarray(values, dtype=np.float64)
    mean = now.mean(axis=0)
    links = int(((weights != 0) & ~np.eye(len(values), dtype=np.bool_)).sum())
    distances = [float(np.linalg.norm(now - mean))]
    while distances[-1] > tolerance and len(distances) <= rounds:
        now = np.tensordot(weights, now, axes=1)
        distances.append(float(np.linalg.norm(now - mean)))
    return Agreement(now, np.array(distances), links * (len(distances) - 1))
