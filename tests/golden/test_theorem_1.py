"""LOLA as advantage alignment (Advantage Alignment, theorem 1), by enumeration of all paths of a small game.

LOLA's second-order term is the mixed derivative of one's own value times the gradient of the other's. Written
with score functions it multiplies one's own advantage at time t with the other's advantages: an alignment of
advantages, weighted by inner products of the gradients of the other's log-probabilities. Where these are
orthonormal only the other's own advantage at the same state and action is left, as the theorem says.

The published proof sums over pairs of times (k, l) with k + l = t; the later of the two must be t. The tests
show both: the sum over max(k, l) = t is LOLA's term, the other is not.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.golden.test_dice import (
    GAMMA,
    PARAMETERS,
    PATHS,
    STATES,
    STEPS,
    advantages,
    chances,
    step_log_probs,
    values,
)


def value(first: Array, second: Array, player: int) -> Array:
    return values(jnp.stack([first, second]), player)[0][0]


def lola_term() -> Array:
    """The derivative by my parameters of my gradient by the other's, times the other's own gradient."""
    first, second = PARAMETERS
    other = jax.grad(value, argnums=1)(first, second, 1)
    return jax.grad(lambda x: jax.grad(value, argnums=1)(x, second, 0) @ other)(first)


def scores() -> Array:
    """Gradients of each player's log-probabilities by its own parameters, [player, path, time, parameter]."""
    each = jax.jacobian(step_log_probs)(PARAMETERS)
    return jnp.stack([each[player, :, :, player] for player in range(2)])


def aligned(pairs: str) -> Array:
    """The expected sum over t of discounted own advantages times scores, over pairs of times (k, l)."""
    mine, other = scores()
    weight = chances(PARAMETERS)
    discounts = GAMMA ** np.arange(STEPS)
    own, its = advantages(PARAMETERS, 0), advantages(PARAMETERS, 1)
    # What the other's step does to its log-probability at (path, l): inner products with all its advantages.
    step = jnp.einsum("p,t,pt,pti->i", weight, discounts, its, other)
    pulled = jnp.einsum("pti,i->pt", other, step)
    total = jnp.zeros(PARAMETERS.shape[1])
    for t in range(STEPS):
        for k in range(STEPS):
            for later in range(STEPS):
                if {"latest": max(k, later) == t, "printed": k + later == t}[pairs]:
                    part = discounts[t] * weight * own[:, t] * pulled[:, later]
                    total = total + jnp.einsum("p,pi->i", part, mine[:, k])
    return total


def test_lola_multiplies_advantages() -> None:
    np.testing.assert_allclose(aligned("latest"), lola_term(), atol=1e-5)
    assert np.abs(aligned("printed") - lola_term()).max() > 0.1 * np.abs(lola_term()).max()


def test_the_others_step_is_its_advantages() -> None:
    """Equation 39: the gradient of the other's value in terms of advantages, whatever the parametrisation."""
    other = jax.grad(value, argnums=1)(*PARAMETERS, 1)
    weight, discounts = chances(PARAMETERS), GAMMA ** np.arange(STEPS)
    step = jnp.einsum("p,t,pt,pti->i", weight, discounts, advantages(PARAMETERS, 1), scores()[1])
    np.testing.assert_allclose(step, other, atol=1e-5)


@pytest.mark.parametrize("state", range(5))
def test_orthonormal_scores_leave_the_advantage_at_the_same_place(state: int) -> None:
    """With the inner products of the assumption, the other's step pulls by d(s, b) A(s, b) alone."""
    weight, discounts = np.asarray(chances(PARAMETERS)), GAMMA ** np.arange(STEPS)
    its = np.asarray(advantages(PARAMETERS, 1))
    places = STATES * 2 + PATHS % 2  # the other's state and action
    basis = np.eye(10)[places]  # orthonormal scores, one for each place
    step = np.einsum("p,t,pt,pti->i", weight, discounts, its, basis)
    for action in range(2):
        there = places == state * 2 + action
        if not there.any():
            continue
        visits = (weight[:, None] * discounts * there).sum()
        mean = (weight[:, None] * discounts * there * its).sum() / visits
        pulled = basis[there][0] @ step
        np.testing.assert_allclose(pulled, visits * mean, rtol=1e-5, atol=1e-7)
