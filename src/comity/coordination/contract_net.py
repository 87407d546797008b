"""The contract net (Smith, IEEE Trans. Computers, 1980): announce, bid, award, one task after another.

A need announces its task to all contractors (offers) that are free and that it reaches; each bids what it
would cost (`costs`); the need awards the contract to the one of the greatest net value, if that is above 0,
and pays the bid. What is awarded stays so, which makes it greedy: each task has the best of the contractors
that those before it left.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Int

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import require


@dataclass(frozen=True)
class ContractNet(Mechanism):
    """Needs announce tasks in an order, and award each to the best bid of a free contractor."""

    order: Literal["listed", "value", "drawn"] = (
        "listed"  # of the tasks: as listed, the most valuable first, by lot
    )
    seed: int = 0  # of the lots, and of those that decide between equal bids

    instead: ClassVar[str] = "vcg"

    def __post_init__(self) -> None:
        require(self.order in ("listed", "value", "drawn"), "order", self.order, "listed, value or drawn")

    def link_count(self, market: Market) -> int:
        return market.values.size

    def coordinator_links(self, market: Market) -> Bool[np.ndarray, " links"]:
        return np.zeros(self.link_count(market), np.bool_)

    def solve_with(self, market: Market, up: Bool[np.ndarray, " links"]) -> Outcome:
        self.check(market)
        return self._negotiate(market, up.reshape(market.values.shape))

    def solve(self, market: Market) -> Outcome:
        return self._negotiate(market, np.ones_like(market.values, np.bool_))

    def _negotiate(self, market: Market, reaches: Bool[np.ndarray, "needs offers"]) -> Outcome:
        rng = np.random.default_rng(self.seed)
        net = market.net
        lots = rng.random(net.shape)
        free = np.ones(len(market.offers), np.bool_)
        shares = np.zeros_like(net)
        messages = {"announce": 0, "bid": 0, "award": 0}
        for task in self._tasks(replace(market, values=np.where(reaches, market.values, 0.0)), rng):
            asked = np.flatnonzero(free & reaches[task])
            messages["announce"] += len(asked)
            messages["bid"] += len(asked)
            if not len(asked):
                continue
            best = asked[np.lexsort((lots[task, asked], net[task, asked]))[-1]]
            if net[task, best] > 0:
                shares[task, best] = 1.0
                free[best] = False
                messages["award"] += 1
        receipts = market.costs * shares.sum(axis=0)
        return Outcome(shares, shares @ market.costs, receipts, messages, len(net))

    def _tasks(self, market: Market, rng: np.random.Generator) -> Int[np.ndarray, " needs"]:
        if self.order == "drawn":
            return rng.permutation(len(market.needs))
        if self.order == "value":
            return np.argsort(-market.net.max(axis=1), kind="stable")
        return np.arange(len(market.needs))
