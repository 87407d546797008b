"""Sealed bids: each offer goes by itself to the highest bid that is at least what it costs.

The winner pays its own bid (first price) or the highest bid of another, at least the cost (second price;
Vickrey, 1961), where to bid the true value is a dominant strategy. Equal bids are drawn by lot, from a seed.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import ComityError


@dataclass(frozen=True)
class SealedBid(Mechanism):
    """What both prices share."""

    seed: int = 0  # of the lots that decide between equal bids

    demands: ClassVar[tuple[str, ...]] = ("unit", "additive")

    def check(self, market: Market) -> None:
        super().check(market)
        if market.demand == "unit" and len(market.offers) > 1:
            raise ComityError(
                f"{type(self).__name__} sells each of the {len(market.offers)} offers by itself, so a need "
                f"of unit demand may get several: vcg or bertsekas-auction would work, or additive demand."
            )

    @abstractmethod
    def price(self, own: float, second: float) -> float:
        """What the winner pays, from its bid and the most that another bid or the cost came to."""

    def solve(self, market: Market) -> Outcome:
        rows, columns = market.values.shape
        shares, receipts = np.zeros((rows, columns)), np.zeros(columns)
        lots = np.random.default_rng(self.seed).random((rows, columns))
        for j in range(columns):
            bids = market.values[:, j]
            winner = _highest(bids, lots[:, j])
            if bids[winner] < market.costs[j] or bids[winner] <= 0:
                continue
            others = np.delete(bids, winner).max(initial=0.0)
            shares[winner, j] = 1.0
            receipts[j] = self.price(float(bids[winner]), float(max(others, market.costs[j])))
        messages = {"bid": rows * columns, "award": int(shares.sum())}
        return Outcome(shares, shares @ receipts, receipts, messages, gap=0.0)


@dataclass(frozen=True)
class FirstPrice(SealedBid):
    """The highest bid wins and is paid."""

    def price(self, own: float, second: float) -> float:
        return own


@dataclass(frozen=True)
class SecondPrice(SealedBid):
    """The highest bid wins and the second highest is paid."""

    def price(self, own: float, second: float) -> float:
        return second


def _highest(bids: Float[np.ndarray, " needs"], lots: Float[np.ndarray, " needs"]) -> int:
    return int(np.lexsort((lots, bids))[-1])


def equilibrium_bid(value: float, bidders: int, price: str) -> float:
    """The symmetric equilibrium with private values drawn evenly from 0 to 1."""
    return value if price == "second" else value * (bidders - 1) / bidders
