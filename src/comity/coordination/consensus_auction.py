r"""The consensus-based auction (Choi, Brunet and How, IEEE Transactions on Robotics, 2009): no coordinator.

Needs talk to their neighbours in a graph. Everybody keeps the highest bid it has heard of for each offer, and
whose it is. A need without an offer bids its net value for the best one for which that is more than what it
heard; then all tell their neighbours what they know, and keep the higher bids. On a connected graph this ends
with the assignment that takes the best pair left, again and again, which is worth half the optimum at least.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from comity.coordination.base import Mechanism
from comity.coordination.graphs import Graph, GraphName, edges_of, from_edges, named_graph
from comity.coordination.market import Market, Outcome


@dataclass(frozen=True)
class ConsensusAuction(Mechanism):
    """Needs bid for offers and agree on the winners with their neighbours, without a coordinator.

    The links are those between needs. If the graph falls apart, an offer may be won once in each part; the
    highest bid has it, and the others go without.
    """

    graph: GraphName = "ring"  # who talks to whom
    edges: tuple[tuple[int, int], ...] = ()  # pairs of needs; overrides `graph`

    instead: ClassVar[str] = "vcg"

    def links(self, market: Market) -> Graph:
        """Who talks to whom in a market."""
        size = len(market.needs)
        return from_edges(self.edges, size) if self.edges else named_graph(self.graph, size)

    def link_count(self, market: Market) -> int:
        return len(edges_of(self.links(market)))

    def coordinator_links(self, market: Market) -> Bool[np.ndarray, " links"]:
        return np.zeros(self.link_count(market), np.bool_)

    def solve(self, market: Market) -> Outcome:
        return self._agree(market, self.links(market))

    def solve_with(self, market: Market, up: Bool[np.ndarray, " links"]) -> Outcome:
        self.check(market)
        return self._agree(market, from_edges(edges_of(self.links(market))[up], len(market.needs)))

    def _agree(self, market: Market, graph: Graph) -> Outcome:
        net = market.net
        rows, columns = net.shape
        bids, winners = np.zeros((rows, columns)), np.full((rows, columns), rows)  # rows: nobody
        hears = graph | np.eye(rows, dtype=np.bool_)
        rounds = 0
        while True:
            rounds += 1
            before = (bids.copy(), winners.copy())
            for need in range(rows):
                if (winners[need] == need).any():
                    continue
                outbids = net[need] > bids[need]
                outbids |= (net[need] == bids[need]) & (net[need] > 0) & (need < winners[need])
                if outbids.any():
                    best = int(np.where(outbids, net[need], -np.inf).argmax())
                    bids[need, best], winners[need, best] = net[need, best], need
            known = [np.flatnonzero(row) for row in hears]
            heard = [_highest(bids[who], winners[who]) for who in known]
            bids = np.stack([bid for bid, _ in heard])
            winners = np.stack([winner for _, winner in heard])
            if np.array_equal(bids, before[0]) and np.array_equal(winners, before[1]):
                break
        shares = np.zeros_like(net)
        for j in range(columns):
            claims = winners[:, j] == np.arange(rows)
            if claims.any():
                shares[int(np.where(claims, net[:, j], -np.inf).argmax()), j] = 1.0
        messages = {"bids": rounds * int(graph.sum())}
        return Outcome(shares, np.zeros(rows), np.zeros(columns), messages, rounds)


def _highest(bids: np.ndarray, winners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each offer the highest bid that is known, and whose; of equal ones that of the first need."""
    top = bids.max(axis=0)
    return top, np.where(bids == top, winners, winners.max(initial=0) + 1).min(axis=0)
