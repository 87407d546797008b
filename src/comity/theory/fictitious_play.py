"""Fictitious play: best-respond, round after round, to the other's average play so far.

    y_bar <- y_bar + (BR_column(x_bar) - y_bar) / (t + 1),   and the same for x_bar,

both at once. The averages converge to equilibrium in zero-sum games (Robinson), potential games and
2 x 2 games, and need not elsewhere (Shapley's game cycles for ever). Ties go to the lowest action. Starts
and games are batch axes that broadcast.

Source: Brown, "Iterative solution of games by fictitious play", 1951; Robinson, "An iterative method of
solving a game", Annals of Mathematics, 1951.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.theory.integration import broadcast_starts, follow
from comity.theory.replicator import fitness


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_fictitious_play(
    row: Float[Array, "*games m n"],
    column: Float[Array, "*games m n"],
    start: tuple[Float[Array, "*starts m"], Float[Array, "*starts n"]],
    steps: int = 1000,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *starts m"], Float[Array, "kept *starts n"]]:
    """Average play after each round; `start` counts as one round."""

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, y, rounds = state
        to_x = first_best(fitness(row, y))
        to_y = first_best(fitness(jnp.swapaxes(column, -1, -2), x))
        share = 1.0 / (rounds + 1.0)
        return x + share * (to_x - x), y + share * (to_y - y), rounds + 1.0

    x, y = broadcast_starts(row, *start)
    state = (x, y, jnp.ones((), x.dtype))
    return follow(step, state, steps, keep_every, lambda s: (s[0], s[1]))


def first_best(values: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """All weight on the best action, the lowest of them in a tie."""
    return jax.nn.one_hot(jnp.argmax(values, axis=-1), values.shape[-1], dtype=values.dtype)
