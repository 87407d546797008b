r"""Bertsekas' auction for the assignment problem (Annals of Operations Research, 1988).

A need without an offer bids for the one of the greatest net value :math:`v_{ij} - p_j`, and raises its price
by the difference to the second best plus :math:`\epsilon`; who had the offer is without one again. Prices
begin at the costs, and a need for which nothing has a net value above 0 leaves. At the end everybody has,
within :math:`\epsilon`, what it wants most at the prices, so welfare is within :math:`n\epsilon` of the
optimum, and exactly the optimum for whole values and :math:`\epsilon < 1/n`.
"""

from dataclasses import dataclass

import numpy as np

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import ComityError, require

MOST_BIDS = 2_000_000  # about a minute
FINE = 1_000  # by default the range of values over n is cut into so many steps


@dataclass(frozen=True)
class BertsekasAuction(Mechanism):
    """Needs outbid each other in steps of epsilon until everybody has what it wants at the prices."""

    epsilon: float = (
        0.0  # least raise of a price; 0: below 1/n for whole values, else a thousandth of their range
    )

    def __post_init__(self) -> None:
        require(self.epsilon >= 0, "epsilon", self.epsilon, "at least 0")

    def step_of(self, market: Market) -> float:
        """The epsilon that is used in a market."""
        if self.epsilon > 0:
            return self.epsilon
        least = min(market.values.shape)
        if np.array_equal(market.net, np.round(market.net)):
            return 1.0 / (least + 1)
        return float(np.ptp(market.net) or 1.0) / (FINE * least)

    def solve(self, market: Market) -> Outcome:
        epsilon = self.step_of(market)
        rows, columns = market.values.shape
        prices, owner = market.costs.copy(), np.full(columns, -1)
        waiting = list(range(rows))[::-1]
        bids = 0
        while waiting:
            need = waiting.pop()
            net = market.values[need] - prices
            best = int(net.argmax())
            if net[best] <= 0:
                continue  # nothing is worth its price: this need leaves
            second = max(0.0, float(np.delete(net, best).max(initial=0.0)))  # or to leave, which is worth 0
            prices[best] += net[best] - second + epsilon
            if owner[best] >= 0:
                waiting.append(int(owner[best]))
            owner[best] = need
            bids += 1
            if bids > MOST_BIDS:
                raise ComityError(
                    f"The auction did not end within {MOST_BIDS:,} bids: a larger epsilon than {epsilon:g}, "
                    f"or optimum, would work."
                )
        shares = np.zeros_like(market.values)
        sold = owner >= 0
        shares[owner[sold], np.flatnonzero(sold)] = 1.0
        receipts = np.where(sold, prices, 0.0)
        messages = {"bid": bids, "price": bids}
        return Outcome(shares, shares @ receipts, receipts, messages, bids, epsilon * min(rows, columns))
