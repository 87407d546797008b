"""Logit (smoothed best-response) dynamics: drift towards the logit response to the present.

    x' = softmax(r A y) - x,    y' = softmax(r B' x) - y,

with rationality r. Its rest points are the logit quantal response equilibria. Integrated by the classical
Runge-Kutta method; starts and games are batch axes that broadcast.

Source: Fudenberg and Levine, "The Theory of Learning in Games", 1998, chapter 4; Sandholm, "Population
Games and Evolutionary Dynamics", 2010, section 6.2.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.theory.integration import broadcast_starts, follow, runge_kutta
from comity.theory.replicator import fitness


def logit_velocity(
    payoffs: Float[Array, "*games n n"], rationality: float | Array, x: Float[Array, "*starts n"]
) -> Float[Array, "*starts n"]:
    """x' of one population that plays against itself."""
    return jax.nn.softmax(rationality * fitness(payoffs, x), axis=-1) - x


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_logit(
    payoffs: Float[Array, "*games n n"],
    start: Float[Array, "*starts n"],
    rationality: float | Float[Array, ""] = 5.0,
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> Float[Array, "kept *starts n"]:
    """Trajectories of one population."""
    velocity = partial(logit_velocity, payoffs, rationality)
    (first,) = broadcast_starts(payoffs, start)
    return follow(partial(runge_kutta, velocity, step_size), first, steps, keep_every)


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_logit_two_populations(
    row: Float[Array, "*games m n"],
    column: Float[Array, "*games m n"],
    start: tuple[Float[Array, "*starts m"], Float[Array, "*starts n"]],
    rationality: float | Float[Array, ""] = 5.0,
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *starts m"], Float[Array, "kept *starts n"]]:
    """Trajectories of two populations."""

    def velocity(state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, y = state
        return (
            jax.nn.softmax(rationality * fitness(row, y), axis=-1) - x,
            jax.nn.softmax(rationality * fitness(jnp.swapaxes(column, -1, -2), x), axis=-1) - y,
        )

    return follow(partial(runge_kutta, velocity, step_size), broadcast_starts(row, *start), steps, keep_every)
