"""Who is linked to whom: graphs as tables of truth values [node, node], symmetric and without loops."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Int

from comity.core.errors import ComityError, require

GraphName = Literal["complete", "ring", "line", "star"]
Graph = Bool[np.ndarray, "node node"]


def named_graph(name: GraphName, size: int) -> Graph:
    """A graph of some size: everybody with everybody, a ring, a line, or all with node 0."""
    require(name in get_args(GraphName), "graph", name, f"one of {', '.join(get_args(GraphName))}")
    require(size >= 1, "size", size, "at least 1")
    node = np.arange(size)
    apart = np.abs(node[:, None] - node)
    if name == "complete":
        return apart > 0
    if name == "star":
        return (apart > 0) & ((node[:, None] == 0) | (node == 0))
    near = apart == 1
    return near | (apart == size - 1) & (apart > 0) if name == "ring" else near


def from_edges(edges: object, size: int) -> Graph:
    """The graph with these edges, pairs of nodes."""
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    fits = bool(((pairs >= 0) & (pairs < size)).all() and (pairs[:, 0] != pairs[:, 1]).all())
    require(fits, "edges", pairs.tolist(), f"pairs of different nodes from 0 to {size - 1}")
    graph = np.zeros((size, size), np.bool_)
    graph[pairs[:, 0], pairs[:, 1]] = graph[pairs[:, 1], pairs[:, 0]] = True
    return graph


def edges_of(graph: Graph) -> Int[np.ndarray, "edges 2"]:
    """The edges of a graph, the smaller node first."""
    return np.argwhere(np.triu(graph))


def checked_graph(graph: Graph) -> Graph:
    """The graph, if it is one."""
    table = np.asarray(graph)
    square = table.ndim == 2 and table.shape[0] == table.shape[1] and table.dtype == np.bool_
    if not square or (table != table.T).any() or table.diagonal().any():
        raise ComityError(
            f"The graph is an array of {table.dtype} of the shape {table.shape}: a symmetric table [node, "
            f"node] of truth values without loops would work."
        )
    return table
