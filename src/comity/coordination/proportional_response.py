r"""Proportional response in a Fisher market (Wu and Zhang, STOC 2007; Zhang, 2011).

Needs have budgets :math:`B_i` and want any amounts of divisible offers. In each round everybody spends its
budget on the offers in proportion to what each yielded in the round before:

.. math:: p_j = \sum_i b_{ij},\quad x_{ij} = b_{ij} / p_j,\quad b_{ij} \leftarrow B_i\,v_{ij} x_{ij} / u_i

This goes to the market's equilibrium, which maximises :math:`\sum_i B_i \log u_i` (Eisenberg and Gale, 1959).
How near it is, is known without the optimum: for all divisions z, by concavity,

.. math:: \sum_i \tfrac{B_i}{B} \log\tfrac{u_i(z)}{u_i(x)} \le
          \log \sum_i \tfrac{B_i}{B} \tfrac{u_i(z)}{u_i(x)} \le \log \sum_j \max_i \tfrac{B_i v_{ij}}{B
          u_i(x)}
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import ComityError, require


@dataclass(frozen=True)
class ProportionalResponse(Mechanism):
    """Everybody spends its budget where it got most for it, until prices stand still; budgets of 1 by
    default."""

    tolerance: float = 1e-6  # ends when the welfare can be better by this part at most
    rounds: int = 100_000  # at most

    demands: ClassVar[tuple[str, ...]] = ("additive",)
    instead: ClassVar[str] = "optimum or vcg"
    spends_budgets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require(self.tolerance > 0, "tolerance", self.tolerance, "above 0")
        require(self.rounds >= 1, "rounds", self.rounds, "at least 1")

    def check(self, market: Market) -> None:
        super().check(market)
        limited = np.isfinite(market.budgets)
        if limited.any() and not limited.all():
            raise ComityError(
                "budgets are finite for some needs only: one for each need, or none, would work."
            )
        if (market.values < 0).any():
            raise ComityError(
                "values below 0 mean nothing in a Fisher market: numbers of at least 0 would work."
            )
        if market.costs.any():
            raise ComityError(
                "costs mean nothing in a Fisher market, whose offers are there: leave them out."
            )

    def solve(self, market: Market) -> Outcome:
        budgets = np.where(np.isfinite(market.budgets), market.budgets, 1.0)
        buys = market.values.any(axis=1) & (budgets > 0)
        values, money = market.values[buys], budgets[buys]
        shares = np.zeros_like(market.values)
        if not buys.any():
            return Outcome(shares, np.zeros(len(buys)), np.zeros(shares.shape[1]), {"spend": 0, "price": 0})
        bids = money[:, None] * values / values.sum(axis=1, keepdims=True)
        gap = np.inf
        rounds = 0
        while gap > self.tolerance and rounds < self.rounds:
            rounds += 1
            prices = bids.sum(axis=0)
            own = np.divide(bids, prices, out=np.zeros_like(bids), where=prices > 0)
            yielded = values * own
            worth = yielded.sum(axis=1, keepdims=True)
            gap = optimality_gap(values, money, worth[:, 0])
            spent, bids = bids, money[:, None] * yielded / worth
        shares[buys] = own
        payments = np.zeros(len(buys))
        payments[buys] = spent.sum(axis=1)
        sent = rounds * int((values > 0).sum())
        messages = {"spend": sent, "price": sent}
        return Outcome(shares, payments, prices, messages, rounds, gap)


def optimality_gap(
    values: Float[np.ndarray, "needs offers"],
    budgets: Float[np.ndarray, " needs"],
    worth: Float[np.ndarray, " needs"],
) -> float:
    """The most by which the mean logarithm of utilities, weighted by budgets, can be better than this."""
    best = (budgets[:, None] * values / worth[:, None]).max(axis=0).sum() / budgets.sum()
    return max(0.0, float(np.log(best)))
