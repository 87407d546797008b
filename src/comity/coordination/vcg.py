r"""Vickrey-Clarke-Groves: everybody pays what its presence takes from the others.

.. math:: p_i = W_{-i} - (W - v_i)

with the greatest welfare W, and :math:`W_{-i}` that without need i. To report true values is a dominant
strategy, if the winners are exactly the best ones (a greedy choice breaks it), and nobody bids under several
names. Revenue may be 0 where bundles compete with parts of them (Ausubel and Milgrom, 2006).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.coordination.optimum import best_shares
from comity.core.errors import require


@dataclass(frozen=True)
class VCG(Mechanism):
    """The best assignment of what is reported, with payments that make it best to report the truth."""

    seconds: float = 60.0  # how long each search for the best bundles may take

    demands: ClassVar[tuple[str, ...]] = ("unit", "additive", "bundles")

    def __post_init__(self) -> None:
        require(self.seconds > 0, "seconds", self.seconds, "above 0")

    def solve(self, market: Market) -> Outcome:
        shares = best_shares(market, self.seconds)
        welfare, worth = market.welfare(shares), market.worth(shares)
        payments = np.zeros(len(market.needs))
        for need in np.flatnonzero(shares.any(axis=1)):
            others = market.hearing(np.arange(len(payments)) != need)
            without = others.welfare(best_shares(others, self.seconds))
            payments[need] = max(0.0, without - (welfare - worth[need]))
        messages = {"report": len(payments), "order": len(payments)}
        return Outcome(shares, payments, np.zeros(len(market.offers)), messages, gap=0.0)
