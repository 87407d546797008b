"""Stationary distributions of Markov chains whose rates differ by hundreds of orders of magnitude.

State reduction (Grassmann, Taksar and Heyman) never subtracts, so every entry keeps its relative
precision; done on logarithms it does not underflow either:

1. For the last state k: s = sum_{j<k} rate(k, j).
2. Remove it: rate(i, j) += rate(i, k) rate(k, j) / s for all i, j < k. Go on until one state is left.
3. Going back: weight(k) = sum_{i<k} weight(i) rate(i, k) / s_k, from weight(0) = 1. Normalise.

`limit_stationary` does the same with rates  c exp(-w alpha)  as alpha grows without bound, on pairs (w, c):
a product adds w and multiplies c, a sum keeps the smallest w and adds the c of those that share it. This is
the exact limit, also where several closed classes make the limiting chain's distribution ambiguous.

Source: Grassmann, Taksar and Heyman, "Regenerative analysis and steady state distributions for Markov
chains", Operations Research, 1985; Freidlin and Wentzell, "Random Perturbations of Dynamical Systems", 1984.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from comity.theory.errors import TheoryError


def log_sum(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """log sum exp, where a sum of nothing is -inf."""
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(values, axis=axis))


def stationary_from_log_rates(log_rates: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " n"]:
    """The stationary distribution for off-diagonal `log_rates[from, to]` (-inf: never)."""
    rates = np.array(log_rates, dtype=np.float64)
    n = len(rates)
    np.fill_diagonal(rates, -np.inf)
    leaving = np.zeros(n)
    for k in range(n - 1, 0, -1):
        leaving[k] = log_sum(rates[k, :k])
        if leaving[k] == -np.inf:
            raise TheoryError(
                f"State {k} cannot reach the states before it, so the chain may have several stationary "
                "distributions; positive rates everywhere, or limit_stationary, would work."
            )
        through = rates[:k, k, None] + rates[None, k, :k] - leaving[k]
        rates[:k, :k] = np.logaddexp(rates[:k, :k], through)
    weights = np.zeros(n)
    for k in range(1, n):
        weights[k] = log_sum(weights[:k] + rates[:k, k]) - leaving[k]
    return np.exp(weights - log_sum(weights))


def limit_stationary(
    exponents: Float[np.ndarray, "n n"],
    coefficients: Float[np.ndarray, "n n"],
    allowed: np.ndarray,
    tolerance: float = 1e-9,
) -> Float[np.ndarray, " n"]:
    """The limit for rates coefficients * exp(-exponents * alpha) as alpha grows; `allowed` marks moves."""
    n = len(exponents)
    width = np.where(allowed & ~np.eye(n, dtype=np.bool_), exponents, np.inf)
    scale = np.where(np.isfinite(width), coefficients, 0.0)
    leaving_width, leaving_scale = np.zeros(n), np.ones(n)

    def added(widths: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leading term of a sum along the first axis."""
        least = widths.min(axis=0)
        same = widths <= least + tolerance
        total = np.where(same & np.isfinite(widths), scales, 0.0).sum(axis=0)
        return np.asarray(least), np.asarray(total)

    for k in range(n - 1, 0, -1):
        least, total = added(width[k, :k], scale[k, :k])
        if not np.isfinite(least):
            raise TheoryError(f"State {k} cannot reach the states before it; connect every state to another.")
        leaving_width[k], leaving_scale[k] = least, total
        through_width = width[:k, k, None] + width[None, k, :k] - least
        through_scale = scale[:k, k, None] * scale[None, k, :k] / total
        width[:k, :k], scale[:k, :k] = added(
            np.stack([width[:k, :k], through_width]), np.stack([scale[:k, :k], through_scale])
        )
    weight_width, weight_scale = np.zeros(n), np.ones(n)
    for k in range(1, n):
        least, total = added(weight_width[:k] + width[:k, k], weight_scale[:k] * scale[:k, k])
        weight_width[k], weight_scale[k] = least - leaving_width[k], total / leaving_scale[k]
    seen = weight_width <= weight_width.min() + tolerance
    weights = np.where(seen, weight_scale, 0.0)
    return weights / weights.sum()
