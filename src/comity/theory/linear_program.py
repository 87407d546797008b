"""Linear programs, as precise as the solver allows.

HiGHS (in SciPy) solves  min c z  subject to  upper z <= upper_limit,  equal z = equal_value,  bounds.
Its usual tolerance of 1e-7 is too coarse for an equilibrium, so it is asked for 1e-10. Large programs go to
its interior-point method: with thousands of inequalities the simplex method takes several times as long.
"""

from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float
from scipy import optimize, sparse

from comity.theory.errors import NoConvergenceError

SIMPLEX = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
INTERIOR = {"primal_feasibility_tolerance": 1e-8, "dual_feasibility_tolerance": 1e-8}
MANY_COLUMNS = 1_000  # from here on the interior-point method is the quicker one
TIME_IS_OVER = 1  # status
# HiGHS solves a large program whose time is over before its first step to the end: it is not begun.
LEAST_SECONDS = 1.0


class Solution(NamedTuple):
    """An optimum with its dual variables."""

    point: Float[np.ndarray, " columns"]
    value: float
    upper_duals: Float[np.ndarray, " limits"]  # how much each upper limit is worth, at least 0
    equal_duals: Float[np.ndarray, " equations"]


def minimise(
    cost: np.ndarray,
    upper: Float[np.ndarray, "limits columns"] | sparse.csr_array | None = None,
    upper_limit: np.ndarray | None = None,
    equal: Float[np.ndarray, "equations columns"] | None = None,
    equal_value: np.ndarray | None = None,
    bounds: object = (0, None),
    seconds: float | None = None,
) -> Solution | None:
    """The optimum; None if no point is feasible. Raises if it takes longer than `seconds`."""
    solve = cast(Any, optimize.linprog)
    arguments: dict[str, Any] = {
        "A_ub": upper,
        "b_ub": upper_limit,
        "A_eq": equal,
        "b_eq": equal_value,
        "bounds": bounds,
    }
    limit = {} if seconds is None else {"time_limit": seconds}
    large = len(cost) >= MANY_COLUMNS
    if seconds is not None and seconds < (LEAST_SECONDS if large else 0.0):
        raise _too_long(seconds)
    method, options = ("highs-ipm", INTERIOR) if large else ("highs", SIMPLEX)
    result = solve(cost, **arguments, method=method, options={**options, **limit})
    if result.status == 4:  # numerical trouble at this precision
        result = solve(cost, **arguments, method="highs", options=limit)
    if result.status == 2:
        return None
    if result.status == TIME_IS_OVER and seconds is not None:
        raise _too_long(seconds)
    if result.status != 0:
        raise NoConvergenceError(
            f"The linear program was not solved ({result.message}); payoffs of similar size would work."
        )
    return Solution(
        np.asarray(result.x),
        float(result.fun),
        -np.asarray(result.ineqlin.marginals),
        np.asarray(result.eqlin.marginals),
    )


def _too_long(seconds: float) -> NoConvergenceError:
    return NoConvergenceError(
        f"The linear program was not solved within {max(seconds, 0.0):.0f} seconds; more time would work."
    )


def solved(solution: Solution | None, what: str) -> Solution:
    """`solution`, for programs that always have one."""
    if solution is None:
        raise NoConvergenceError(
            f"The linear program for {what} was lost to rounding; payoffs of similar size would work."
        )
    return solution


def probabilities(weights: np.ndarray) -> np.ndarray:
    """`weights` without the rounding: at least 0, sum 1."""
    clipped = weights.clip(0.0)
    return clipped / clipped.sum()


def unit_range(payoffs: np.ndarray) -> np.ndarray:
    """`payoffs` shifted and scaled into [0, 1]: linear programs are solved to an absolute tolerance."""
    low, high = payoffs.min(), payoffs.max()
    return (payoffs - low) / (high - low or 1.0)
