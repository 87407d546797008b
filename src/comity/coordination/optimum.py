r"""The best assignment, found by one who knows everything.

Unit demand is the assignment problem (Hungarian method, in SciPy). Additive demand gives each offer to who
values it most. Bundles are winner determination, a set packing problem:

.. math:: \max_x \sum_b (v_b - c(B_b))\,x_b,\quad
          \sum_{b: j \in B_b} x_b \le 1\;\forall j,\quad \sum_{b \text{ of } i} x_b \le 1\;\forall i,\quad
          x_b \in \{0, 1\}

which is NP-hard; it is solved exactly by branch and bound (HiGHS, in SciPy), or refused.
Source: de Vries and Vohra, "Combinatorial auctions: a survey", INFORMS J. Computing, 2003.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy import optimize, sparse

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.core.errors import ComityError, require

MOST_CELLS = 25_000_000  # of an assignment problem: seconds
MOST_BIDS = 5_000  # for bundles


@dataclass(frozen=True)
class Optimum(Mechanism):
    """Everybody tells the coordinator all values, and is told what it gets; nobody pays."""

    seconds: float = 60.0  # how long the search for the best bundles may take

    demands: ClassVar[tuple[str, ...]] = ("unit", "additive", "bundles")

    def __post_init__(self) -> None:
        require(self.seconds > 0, "seconds", self.seconds, "above 0")

    def solve(self, market: Market) -> Outcome:
        shares = best_shares(market, self.seconds)
        rows, columns = market.values.shape
        messages = {"report": rows, "order": rows}
        return Outcome(shares, np.zeros(rows), np.zeros(columns), messages, gap=0.0)


def best_shares(market: Market, seconds: float = 60.0) -> Float[np.ndarray, "needs offers"]:
    """The assignment of the greatest welfare."""
    if market.demand == "bundles":
        return _best_bundles(market, seconds)
    net = market.net
    shares = np.zeros_like(net)
    if market.demand == "additive":
        owners = net.argmax(axis=0)
        shares[owners, np.arange(net.shape[1])] = 1.0
    else:
        if net.size > MOST_CELLS:
            raise ComityError(
                f"{net.shape[0]:,} needs and {net.shape[1]:,} offers make {net.size:,} pairs, more than "
                f"{MOST_CELLS:,}: bertsekas-auction or hierarchy work for parts of the market."
            )
        rows, columns = optimize.linear_sum_assignment(np.maximum(net, 0.0), maximize=True)
        shares[rows, columns] = 1.0
    return np.where(net > 0, shares, 0.0)


def _best_bundles(market: Market, seconds: float) -> Float[np.ndarray, "needs offers"]:
    found = [
        (need, bundle, value - market.costs[list(bundle)].sum()) for need, bundle, value in market.bids()
    ]
    bids = [bid for bid in found if bid[2] > 0]
    shares = np.zeros_like(market.values)
    if not bids:
        return shares
    if len(bids) > MOST_BIDS:
        raise ComityError(
            f"There are {len(bids):,} bids for bundles, more than the {MOST_BIDS:,} for which the best "
            f"winners are searched: fewer bids of each need, or unit demand with any mechanism, would work."
        )
    rows, columns = market.values.shape
    entries = [(j, b) for b, (_, bundle, _) in enumerate(bids) for j in bundle]
    entries += [(columns + need, b) for b, (need, _, _) in enumerate(bids)]
    places = np.array(entries).T
    once = sparse.csr_array(
        (np.ones(len(entries)), (places[0], places[1])), shape=(columns + rows, len(bids))
    )
    result = optimize.milp(
        -np.array([net for _, _, net in bids]),
        constraints=optimize.LinearConstraint(once, -np.inf, 1.0),
        integrality=np.ones(len(bids)),
        bounds=optimize.Bounds(0.0, 1.0),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if result.status != 0 or result.x is None:
        raise ComityError(
            f"The best winners among {len(bids):,} bids for bundles were not found in {seconds:g} seconds: "
            f"more seconds or fewer bids would work."
        )
    for (need, bundle, _), taken in zip(bids, result.x, strict=True):
        if taken > 0.5:
            shares[need, list(bundle)] = 1.0
    return shares
