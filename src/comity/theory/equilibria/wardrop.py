r"""Traffic on a network: the equilibrium of drivers who choose the fastest way, and the best flow of all.

The latency of an edge is :math:`\ell_e(x) = a_e + b_e x` with a share :math:`x` of the traffic on it. In
Wardrop's equilibrium (1952) no way in use is slower than another; it minimises Beckmann's potential
:math:`\sum_e \int_0^{x_e} \ell_e`, the best flow :math:`\sum_e x_e \ell_e(x_e)`. Both are convex programs
over how much goes each way. The price of anarchy is at most 4/3 (Roughgarden and Tardos, 2002).
"""

from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float
from scipy import optimize

from comity.theory.errors import TheoryError


class Traffic(NamedTuple):
    """How much goes each way, how long each way takes then, and the mean over all that drive."""

    flow: Float[np.ndarray, " routes"]
    latency: Float[np.ndarray, " routes"]
    mean_latency: float


def wardrop_equilibrium(
    constant: Float[np.ndarray, " edges"],
    slope: Float[np.ndarray, " edges"],
    routes: Bool[np.ndarray, "routes edges"],
) -> Traffic:
    """The flow in which nobody gains by another way, for one unit of traffic."""
    return _flow(constant, slope, routes, marginal=0.5)


def best_flow(
    constant: Float[np.ndarray, " edges"],
    slope: Float[np.ndarray, " edges"],
    routes: Bool[np.ndarray, "routes edges"],
) -> Traffic:
    """The flow with the smallest mean latency."""
    return _flow(constant, slope, routes, marginal=1.0)


def routing_price_of_anarchy(
    constant: Float[np.ndarray, " edges"],
    slope: Float[np.ndarray, " edges"],
    routes: Bool[np.ndarray, "routes edges"],
) -> float:
    """The mean latency in equilibrium over the best one."""
    found = wardrop_equilibrium(constant, slope, routes).mean_latency
    return found / best_flow(constant, slope, routes).mean_latency


def _flow(
    constant: Float[np.ndarray, " edges"],
    slope: Float[np.ndarray, " edges"],
    routes: Bool[np.ndarray, "routes edges"],
    marginal: float,
) -> Traffic:
    a, b = np.asarray(constant, float), np.asarray(slope, float)
    uses = np.asarray(routes, float)
    if uses.ndim != 2 or uses.shape[1] != len(a) or len(a) != len(b):
        raise TheoryError("routes must be a table [routes, edges] with as many edges as there are latencies.")
    if len(uses) == 0 or (a < 0).any() or (b < 0).any():
        raise TheoryError("There must be a route, and latencies must not be negative.")

    def objective(flow: Float[np.ndarray, " routes"]) -> tuple[float, Float[np.ndarray, " routes"]]:
        load = flow @ uses
        return float(a @ load + marginal * b @ load**2), uses @ (a + 2 * marginal * b * load)

    start = np.full(len(uses), 1.0 / len(uses))
    result = cast(Any, optimize.minimize)(
        objective,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(uses),
        constraints={
            "type": "eq",
            "fun": lambda flow: flow.sum() - 1.0,
            "jac": lambda flow: np.ones_like(flow),
        },
        options={"ftol": 1e-14, "maxiter": 1_000},
    )
    if not result.success:
        raise TheoryError(f"The flow was not found: {result.message}")
    flow = np.clip(result.x, 0.0, None)
    flow = flow / flow.sum()
    latency = uses @ (a + b * (flow @ uses))
    return Traffic(flow, latency, float(flow @ latency))
