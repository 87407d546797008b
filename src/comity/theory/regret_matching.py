"""Regret matching: play each action in proportion to how much one regrets not having played it.

1. Cumulative regret of action a:  R(a) = sum_t [ u(a, y_t) - u(x_t, y_t) ].
2. Play  x(a) = max(R(a), 0) / sum_b max(R(b), 0), uniformly if no regret is positive.
3. The players' average joint play approaches the set of coarse correlated equilibria; in zero-sum games
   each one's average approaches an optimal strategy. The rate is 1 / sqrt(rounds).

With `plus`, negative regrets are forgotten at once and averages weigh round t by t, which is faster in
practice. Starts and games are batch axes that broadcast.

Source: Hart and Mas-Colell, "A simple adaptive procedure leading to correlated equilibrium",
Econometrica, 2000; Tammelin, "Solving large imperfect information games using CFR+", 2014.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.theory.integration import broadcast_starts
from comity.theory.replicator import fitness


class RegretMatching(NamedTuple):
    row: Float[Array, "*batch m"]  # average strategy
    column: Float[Array, "*batch n"]
    joint: Float[Array, "*batch m n"]  # average joint play


def matched(regrets: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """The strategy of step 2."""
    positive = jnp.maximum(regrets, 0.0)
    total = jnp.sum(positive, axis=-1, keepdims=True)
    return jnp.where(total > 0.0, positive / jnp.where(total > 0.0, total, 1.0), 1.0 / regrets.shape[-1])


@partial(jax.jit, static_argnames=("steps", "plus"))
def run_regret_matching(
    row: Float[Array, "*games m n"],
    column: Float[Array, "*games m n"],
    start: tuple[Float[Array, "*starts m"], Float[Array, "*starts n"]],
    steps: int = 1000,
    plus: bool = False,
) -> RegretMatching:
    """Average play after `steps` rounds; `start` are the first regrets, small positive numbers."""
    regrets = broadcast_starts(row, *start)
    zeros = (*(jnp.zeros_like(x) for x in regrets), jnp.zeros((*regrets[0].shape, row.shape[-1]), row.dtype))

    def step(t: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        regret_x, regret_y, sum_x, sum_y, sum_joint = state
        x, y = matched(regret_x), matched(regret_y)
        earned_x, earned_y = fitness(row, y), fitness(jnp.swapaxes(column, -1, -2), x)
        regret_x = regret_x + earned_x - jnp.sum(x * earned_x, axis=-1, keepdims=True)
        regret_y = regret_y + earned_y - jnp.sum(y * earned_y, axis=-1, keepdims=True)
        weight = jnp.ones((), row.dtype)
        if plus:
            regret_x, regret_y = jnp.maximum(regret_x, 0.0), jnp.maximum(regret_y, 0.0)
            weight = (t + 1).astype(row.dtype)
        joint_now = x[..., :, None] * y[..., None, :]
        return regret_x, regret_y, sum_x + weight * x, sum_y + weight * y, sum_joint + weight * joint_now

    _, _, sum_x, sum_y, sum_joint = jax.lax.fori_loop(0, steps, step, (*regrets, *zeros))
    total = jnp.sum(sum_x, axis=-1, keepdims=True)
    return RegretMatching(sum_x / total, sum_y / total, sum_joint / total[..., None])
