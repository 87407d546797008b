"""What every mechanism shares: it takes a market, refuses what it is not for, and can be tried with links
down."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from comity.coordination.market import Market, Outcome
from comity.core.errors import ComityError


@dataclass(frozen=True)
class Mechanism(ABC):
    """From a market to an outcome; the fields are settings, and equal markets give equal outcomes.

    Between the participants there are links, numbered from 0. By default each need has one, to the
    coordinator, and a need whose link is down is not heard.
    """

    demands: ClassVar[tuple[str, ...]] = ("unit",)  # the kinds of demand that it is for
    instead: ClassVar[str] = "vcg or optimum"  # what is for the others
    spends_budgets: ClassVar[bool] = False  # whether budgets mean something to it

    def __call__(self, market: Market) -> Outcome:
        """The outcome with all links up."""
        self.check(market)
        return self.solve(market)

    def check(self, market: Market) -> None:
        """Raises a `ComityError` that says what would work if the mechanism is not for this market."""
        if market.demand not in self.demands:
            raise ComityError(
                f"The demand {market.demand!r} is not what {type(self).__name__} is for "
                f"({' or '.join(self.demands)}): {self.instead} would work."
            )
        limited = bool(np.isfinite(market.budgets).any())
        if limited and not self.spends_budgets:
            raise ComityError(
                f"budgets mean nothing to {type(self).__name__}: leave them out, or use "
                f"proportional-response."
            )

    @abstractmethod
    def solve(self, market: Market) -> Outcome:
        """The outcome of a market that it is for."""

    def link_count(self, market: Market) -> int:
        """How many links there are."""
        return len(market.needs)

    def coordinator_links(self, market: Market) -> Bool[np.ndarray, " links"]:
        """Which links go to the one coordinator on whom all depend, if there is one."""
        return np.ones(self.link_count(market), np.bool_)

    def solve_with(self, market: Market, up: Bool[np.ndarray, " links"]) -> Outcome:
        """The outcome where only some links are up."""
        self.check(market)
        return self.solve(market.hearing(up))
