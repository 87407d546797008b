"""How good an outcome is: value over the optimum, payments, envy, messages, and what is left when links
fail."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.coordination.base import Mechanism
from comity.coordination.market import Market, Outcome
from comity.coordination.optimum import best_shares
from comity.core.display import displayed
from comity.core.errors import require


@displayed
class Measures(NamedTuple):
    """What a mechanism did in a market."""

    welfare: float  # what the assignment is worth, less what its offers cost
    efficiency: float  # of the greatest possible
    payments: float  # all together
    revenue: float  # what the coordinator keeps of them
    envy: float  # the most that somebody would rather have what another has, and pay what it pays
    messages: int
    rounds: int


def measure(outcome: Outcome, truth: Market) -> Measures:
    """An outcome by the true values of the market, which may differ from what was reported."""
    return Measures(
        truth.welfare(outcome.shares),
        efficiency(outcome, truth),
        float(outcome.payments.sum()),
        outcome.revenue,
        float(envy(outcome, truth).max()),
        outcome.message_count,
        outcome.rounds,
    )


def efficiency(outcome: Outcome, truth: Market) -> float:
    """The share of the greatest welfare that an outcome reaches; 1 where there is nothing to gain."""
    best = truth.welfare(best_shares(truth))
    return truth.welfare(outcome.shares) / best if best > 0 else 1.0


def utilities(outcome: Outcome, truth: Market) -> Float[np.ndarray, " needs"]:
    """What each need's share is worth to it, less what it pays."""
    return truth.worth(outcome.shares) - outcome.payments


def envy(outcome: Outcome, truth: Market) -> Float[np.ndarray, " needs"]:
    """How much better off each need would be with the share and the payment of another; 0: nobody to envy."""
    count = len(truth.needs)
    own = utilities(outcome, truth)
    others = [
        truth.worth(np.broadcast_to(outcome.shares[j], outcome.shares.shape)) - outcome.payments[j]
        for j in range(count)
    ]
    return np.maximum(np.max(others, axis=0) - own, 0.0)


def robustness(mechanism: Mechanism, market: Market, loss: float, samples: int = 100, seed: int = 0) -> float:
    """The share of the welfare that is left, on average, if each link is down with probability `loss`."""
    require(0.0 <= loss <= 1.0, "loss", loss, "between 0 and 1")
    require(samples >= 1, "samples", samples, "at least 1")
    whole = market.welfare(mechanism(market).shares)
    up = np.random.default_rng(seed).random((samples, mechanism.link_count(market))) >= loss
    left = [market.welfare(mechanism.solve_with(market, links).shares) for links in up]
    return float(np.mean(left)) / whole if whole > 0 else 1.0


def without_coordinator(mechanism: Mechanism, market: Market) -> float:
    """The share of the welfare that is left if the coordinator on whom all depend fails."""
    whole = market.welfare(mechanism(market).shares)
    left = market.welfare(mechanism.solve_with(market, ~mechanism.coordinator_links(market)).shares)
    return left / whole if whole > 0 else 1.0
