"""Best-response dynamics: drift towards the best response to the present.

    x_i' = BR_i(x_-i) - x_i    for each player i,

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

from comity.theory.dynamics.integration import Payoffs, Starts, follow, game_and_starts, values_of_actions


def best_mix(values: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """Equal weight on each best action."""
    best = (values >= jnp.max(values, axis=-1, keepdims=True)).astype(values.dtype)
    return best / jnp.sum(best, axis=-1, keepdims=True)


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_best_response(
    payoffs: Payoffs,
    start: Starts,
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *batch _"], ...]:
    """Trajectories of one population per player.

    `payoffs` has one tensor per player, [*games, actions of player 0, actions of player 1, ...]; `start` one
    mixture per player.
    """
    tables, mixes = game_and_starts(payoffs, start)
    share = -jnp.expm1(-jnp.asarray(step_size, mixes[0].dtype))

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        targets = map(best_mix, values_of_actions(tables, state))
        return tuple(mix + share * (target - mix) for mix, target in zip(state, targets, strict=True))

    return follow(step, mixes, steps, keep_every)
