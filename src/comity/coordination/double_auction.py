r"""A double auction for units of one good: the highest bids meet the lowest asks, at one price.

With bids in falling and asks in rising order, the first q pairs trade for which the bid is at least the ask.
Prices that clear the market lie between :math:`l = \max(a_q, b_{q+1})` and :math:`u = \min(b_q, a_{q+1})`;
it is :math:`k u + (1 - k) l`.

With one buyer and one seller, values drawn evenly from 0 to 1 and k = 1/2, the linear equilibrium of
Chatterjee and Samuelson (Operations Research, 1983) is to bid :math:`2v/3 + 1/12` and to ask :math:`2c/3 +
1/4`. They trade if and only if :math:`v \ge c + 1/4`, and have 27/32 of the possible gains, the most that any
mechanism without subsidies gives (Myerson and Satterthwaite, 1983).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import ComityError, require


@dataclass(frozen=True)
class DoubleAuction(Mechanism):
    """Needs bid for one unit each, offers ask for theirs (`costs`), and a price that clears the market is
    paid."""

    k: float = 0.5  # where the price lies between the lowest and the highest that clear the market

    instead: ClassVar[str] = "unit demand, or vcg,"

    def __post_init__(self) -> None:
        require(0.0 <= self.k <= 1.0, "k", self.k, "between 0 and 1")

    def check(self, market: Market) -> None:
        super().check(market)
        if not (market.values == market.values[:, :1]).all():
            raise ComityError(
                "A double auction trades units of one good, so that each row of values is one number over "
                "and over: optimum, vcg or bertsekas-auction would work where offers differ."
            )

    def solve(self, market: Market) -> Outcome:
        return self._clear(
            market, np.ones(len(market.needs), np.bool_), np.ones(len(market.offers), np.bool_)
        )

    def link_count(self, market: Market) -> int:
        return len(market.needs) + len(market.offers)

    def solve_with(self, market: Market, up: np.ndarray) -> Outcome:
        self.check(market)
        return self._clear(market, up[: len(market.needs)], up[len(market.needs) :])

    def _clear(self, market: Market, buyers: np.ndarray, sellers: np.ndarray) -> Outcome:
        bids = np.where(buyers, market.values[:, 0], -np.inf)
        asks = np.where(sellers, market.costs, np.inf)
        by_bid, by_ask = np.argsort(-bids, kind="stable"), np.argsort(asks, kind="stable")
        shares = np.zeros_like(market.values)
        most = min(len(bids), len(asks))
        trades = int((bids[by_bid[:most]] >= asks[by_ask[:most]]).sum())
        shares[by_bid[:trades], by_ask[:trades]] = 1.0
        price = 0.0
        if trades:
            next_bid = bids[by_bid[trades]] if trades < len(bids) else -np.inf
            next_ask = asks[by_ask[trades]] if trades < len(asks) else np.inf
            low = max(asks[by_ask[trades - 1]], next_bid)
            high = min(bids[by_bid[trades - 1]], next_ask)
            price = float(self.k * high + (1.0 - self.k) * low)
        messages = {"bid": int(buyers.sum()), "ask": int(sellers.sum()), "award": 2 * trades}
        return Outcome(shares, price * shares.sum(axis=1), price * shares.sum(axis=0), messages, gap=0.0)


def linear_bid(value: float) -> float:
    """What the buyer bids in the linear equilibrium for k = 1/2; at most its value, below which it cannot
    trade."""
    return min(value, 2.0 * value / 3.0 + 1.0 / 12.0)


def linear_ask(cost: float) -> float:
    """What the seller asks in the linear equilibrium for k = 1/2; at least its cost."""
    return max(cost, 2.0 * cost / 3.0 + 1.0 / 4.0)
