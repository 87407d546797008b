"""Networks of roads: edges with latencies, from a name or a file, and the ways through them."""

import heapq
import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from comity.core.errors import ComityError, require

MOST_BYTES = 1_000_000  # of a file
MOST_PATHS = 200_000  # that are looked at for ways


class Edge(NamedTuple):
    """A road: how long it takes when it is empty, and how much longer with all the traffic on it."""

    start: str
    end: str
    constant: float
    slope: float


class Network(NamedTuple):
    """Roads, and the ways from one place to another, each as the edges that it uses."""

    edges: tuple[Edge, ...]
    routes: tuple[tuple[int, ...], ...]

    @property
    def uses(self) -> Bool[np.ndarray, "routes edges"]:
        """Which way uses which edge."""
        table = np.zeros((len(self.routes), len(self.edges)), bool)
        for row, route in enumerate(self.routes):
            table[row, list(route)] = True
        return table

    @property
    def constants(self) -> Float[np.ndarray, " edges"]:
        return np.asarray([edge.constant for edge in self.edges], float)

    @property
    def slopes(self) -> Float[np.ndarray, " edges"]:
        return np.asarray([edge.slope for edge in self.edges], float)

    def name(self, route: int) -> str:
        """The places on a way."""
        edges = [self.edges[i] for i in self.routes[route]]
        return "-".join([edges[0].start, *(edge.end for edge in edges)])


_BRAESS = (Edge("s", "a", 0, 1), Edge("s", "b", 1, 0), Edge("a", "t", 1, 0), Edge("b", "t", 0, 1))
BUILT_IN: dict[str, tuple[Edge, ...]] = {
    "pigou": (Edge("s", "t", 1, 0), Edge("s", "t", 0, 1)),
    "braess": _BRAESS,
    "braess-shortcut": (*_BRAESS, Edge("a", "b", 0, 0)),
}


@lru_cache(maxsize=64)
def read_network(network: str, most: int) -> Network:
    """A network by its name or from a JSON file, with its `most` quickest ways when it is empty.

    A file says `{"from": "s", "to": "t", "edges": [{"from": "s", "to": "t", "constant": 1, "slope": 2}]}`.
    """
    if network in BUILT_IN:
        edges, start, end = BUILT_IN[network], "s", "t"
    else:
        edges, start, end = _read_file(network)
    found = _routes(edges, start, end, most)
    if not found:
        raise ComityError(f"In the network {network!r} no way leads from {start!r} to {end!r}.")
    return Network(edges, found)


def _read_file(path: str) -> tuple[tuple[Edge, ...], str, str]:
    file = Path(path)
    if not file.is_file():
        names = ", ".join(BUILT_IN)
        raise ComityError(f"There is no network {path!r}: it must be one of {names}, or a JSON file.")
    if file.stat().st_size > MOST_BYTES:
        raise ComityError(f"The network in {path} is larger than {MOST_BYTES:,} bytes.")
    try:
        data = json.loads(file.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise ComityError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("edges"), list) or not data["edges"]:
        raise ComityError(f"{path} must be an object with a list of edges, and the places `from` and `to`.")
    edges = tuple(_edge(path, number, edge) for number, edge in enumerate(data["edges"], start=1))
    places = {edge.start for edge in edges} | {edge.end for edge in edges}
    for name in ("from", "to"):
        if data.get(name) not in places:
            raise ComityError(f"{path}: {name} = {data.get(name)!r} is not a place on any edge.")
    return edges, data["from"], data["to"]


def _edge(path: str, number: int, edge: Any) -> Edge:
    where = f"{path}: edge {number}"
    if not isinstance(edge, dict) or not all(isinstance(edge.get(name), str) for name in ("from", "to")):
        raise ComityError(f"{where} must name the places `from` and `to`.")
    numbers = [edge.get(name, 0.0) for name in ("constant", "slope")]
    for name, value in zip(("constant", "slope"), numbers, strict=True):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        require(
            fits and math.isfinite(value) and value >= 0, f"{where}: {name}", value, "a number of at least 0"
        )
    return Edge(edge["from"], edge["to"], float(numbers[0]), float(numbers[1]))


def _routes(edges: tuple[Edge, ...], start: str, end: str, most: int) -> tuple[tuple[int, ...], ...]:
    """The quickest ways without a place twice, cheapest first (a best-first search over paths)."""
    leaving: dict[str, list[int]] = {}
    for number, edge in enumerate(edges):
        leaving.setdefault(edge.start, []).append(number)
    queue: list[tuple[float, tuple[int, ...], tuple[str, ...]]] = [(0.0, (), (start,))]
    found: list[tuple[int, ...]] = []
    looked_at = 0
    while queue and len(found) < most and looked_at < MOST_PATHS:
        length, path, places = heapq.heappop(queue)
        looked_at += 1
        if places[-1] == end:
            found.append(path)
            continue
        for number in leaving.get(places[-1], ()):
            edge = edges[number]
            if edge.end not in places:
                heapq.heappush(queue, (length + edge.constant, (*path, number), (*places, edge.end)))
    return tuple(found)
