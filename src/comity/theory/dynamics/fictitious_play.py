"""Fictitious play: best-respond, round after round, to the others' average play so far.

    x_i <- x_i + (BR_i(x_-i) - x_i) / (t + 1)    for each player i,

all at once; the others are taken to play their averages independently. The averages converge to
equilibrium in two-player zero-sum games (Robinson), potential games and 2 x 2 games, and need not elsewhere
(Shapley's game cycles for ever). Ties go to the lowest action. Starts and games are batch axes that
broadcast.

Source: Brown, "Iterative solution of games by fictitious play", 1951; Robinson, "An iterative method of
solving a game", Annals of Mathematics, 1951.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.theory.dynamics.integration import Payoffs, Starts, follow, game_and_starts, values_of_actions


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_fictitious_play(
    payoffs: Payoffs,
    start: Starts,
    steps: int = 1000,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *batch _"], ...]:
    """Each player's average play after each round; `start` counts as one round.

    `payoffs` has one tensor per player, [*games, actions of player 0, actions of player 1, ...]; `start` one
    mixture per player.
    """
    tables, mixes = game_and_starts(payoffs, start)

    def step(state: tuple[tuple[Array, ...], Array]) -> tuple[tuple[Array, ...], Array]:
        averages, rounds = state
        share = 1.0 / (rounds + 1.0)
        answers = map(first_best, values_of_actions(tables, averages))
        moved = tuple(mix + share * (answer - mix) for mix, answer in zip(averages, answers, strict=True))
        return moved, rounds + 1.0

    return follow(step, (mixes, jnp.ones((), mixes[0].dtype)), steps, keep_every, lambda state: state[0])


def first_best(values: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """All weight on the best action, the lowest of them in a tie."""
    return jax.nn.one_hot(jnp.argmax(values, axis=-1), values.shape[-1], dtype=values.dtype)
