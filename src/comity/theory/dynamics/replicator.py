"""Replicator dynamics: strategies that earn more than average grow.

One population, payoff matrix A:         x_i' = x_i [ (A x)_i - x . A x ].
Two populations, payoffs A and B:        x_i' = x_i [ (A y)_i - x . A y ],
                                         y_j' = y_j [ (B' x)_j - y . B' x ].

Integrated by the classical Runge-Kutta method (order 4), then put back on the simplex against rounding.
Starts and games are batch axes that broadcast: one call follows thousands of trajectories.

Source: Taylor and Jonker, "Evolutionary stable strategies and game dynamics", Mathematical Biosciences,
1978; Weibull, "Evolutionary Game Theory", 1995, chapters 3 and 5.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Num

from comity.theory.dynamics.integration import broadcast_starts, follow, real, runge_kutta

BLOCK = 1024  # starts that are followed together


def fitness(payoffs: Float[Array, "*games own other"], mix: Float[Array, "*starts other"]) -> Array:
    """(A x)_i over batches of games and of mixtures."""
    if payoffs.ndim == 2:
        return mix @ payoffs.T
    return jnp.einsum("...ij,...j->...i", payoffs, mix)


def replicator_velocity(payoffs: Float[Array, "*games n n"], x: Float[Array, "*starts n"]) -> Array:
    """x' of one population."""
    earned = fitness(payoffs, x)
    return x * (earned - jnp.sum(x * earned, axis=-1, keepdims=True))


def two_population_velocity(
    row: Float[Array, "*#games m n"],
    column: Float[Array, "*#games m n"],
    state: tuple[Float[Array, "*#starts m"], Float[Array, "*#starts n"]],
) -> tuple[Array, Array]:
    """(x', y') of two populations."""
    x, y = state
    earned_x, earned_y = fitness(row, y), fitness(jnp.swapaxes(column, -1, -2), x)
    return (
        x * (earned_x - jnp.sum(x * earned_x, axis=-1, keepdims=True)),
        y * (earned_y - jnp.sum(y * earned_y, axis=-1, keepdims=True)),
    )


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_replicator(
    payoffs: Num[Array, "*games n n"] | Num[np.ndarray, "*games n n"],
    start: Num[ArrayLike, "*starts n"],
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> Float[Array, "kept *batch n"]:
    """Trajectories of one population: the start and every `keep_every`-th state after it."""
    if payoffs.ndim == 2:
        return run_one_game(real(payoffs), real(start), steps, step_size, keep_every)
    step = partial(runge_kutta, partial(replicator_velocity, real(payoffs)), step_size)
    (first,) = broadcast_starts((payoffs,), (start,))
    return follow(step, first, steps, keep_every)


def run_one_game(
    payoffs: Float[Array, "n n"],
    start: Float[Array, "*starts n"],
    steps: int,
    step_size: float | Float[Array, ""],
    keep_every: int,
) -> Float[Array, "kept *batch n"]:
    """All starts in one game, in blocks with the starts innermost: long vectors that stay in the cache."""
    strategies = start.shape[-1]
    flat = start.reshape(-1, strategies)
    blocks = max(1, -(-len(flat) // BLOCK))
    width = -(-len(flat) // blocks)
    padded = jnp.concatenate([flat, jnp.broadcast_to(flat[:1], (blocks * width - len(flat), strategies))])

    def velocity(x: Float[Array, "n starts"]) -> Float[Array, "n starts"]:
        earned = payoffs @ x
        return x * (earned - jnp.sum(x * earned, axis=0, keepdims=True))

    def step(state: Float[Array, "blocks n starts"]) -> Float[Array, "blocks n starts"]:
        return jax.lax.map(lambda x: runge_kutta(velocity, step_size, x, axis=0), state)

    def seen(state: Float[Array, "blocks n starts"]) -> Float[Array, "all n"]:
        return jnp.swapaxes(state, 1, 2).reshape(-1, strategies)[: len(flat)]

    state = jnp.swapaxes(padded.reshape(blocks, width, strategies), 1, 2)
    return follow(step, state, steps, keep_every, seen).reshape(-1, *start.shape)


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_two_populations(
    row: Num[ArrayLike, "*#games m n"],
    column: Num[ArrayLike, "*#games m n"],
    start: tuple[Num[ArrayLike, "*#starts m"], Num[ArrayLike, "*#starts n"]],
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *batch m"], Float[Array, "kept *batch n"]]:
    """Trajectories of two populations."""
    step = partial(runge_kutta, partial(two_population_velocity, real(row), real(column)), step_size)
    x, y = broadcast_starts((row, column), start)
    return follow(step, (x, y), steps, keep_every)
