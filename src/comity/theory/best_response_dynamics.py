"""Best-response dynamics: drift towards the best response to the present.

    x' = BR(y) - x,    y' = BR(x) - y,

where BR spreads its weight evenly over ties. Between switches of the best response the path is a straight
line towards it, so each step moves exactly along it: x <- x + (1 - exp(-h)) (BR - x). Starts and games are
batch axes that broadcast.

Source: Gilboa and Matsui, "Social stability and equilibrium", Econometrica, 1991; Hofbauer, "Stability for
the best response dynamics", 1995.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.theory.integration import broadcast_starts, follow
from comity.theory.replicator import fitness


def best_mix(values: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """Equal weight on each best action."""
    best = (values >= jnp.max(values, axis=-1, keepdims=True)).astype(values.dtype)
    return best / jnp.sum(best, axis=-1, keepdims=True)


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_best_response(
    row: Float[Array, "*games m n"],
    column: Float[Array, "*games m n"],
    start: tuple[Float[Array, "*starts m"], Float[Array, "*starts n"]],
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *starts m"], Float[Array, "kept *starts n"]]:
    """Trajectories of two populations."""
    share = -jnp.expm1(-jnp.asarray(step_size, start[0].dtype))

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, y = state
        to_x, to_y = best_mix(fitness(row, y)), best_mix(fitness(jnp.swapaxes(column, -1, -2), x))
        return x + share * (to_x - x), y + share * (to_y - y)

    x, y = broadcast_starts(row, *start)
    return follow(step, (x, y), steps, keep_every)
