"""Logit (smoothed best-response) dynamics: drift towards the logit response to the present.

    x_i' = softmax(r u_i(., x_-i)) - x_i    for each player i,

with rationality r and u_i(a, x_-i) what action a earns against the others' mixtures. Its rest points are
the logit quantal response equilibria. Integrated by the classical Runge-Kutta method; starts and games are
batch axes that broadcast.

Source: Fudenberg and Levine, "The Theory of Learning in Games", 1998, chapter 4; Sandholm, "Population
Games and Evolutionary Dynamics", 2010, section 6.2.
"""

from functools import partial

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Num

from comity.theory.dynamics.integration import (
    Payoffs,
    Starts,
    broadcast_starts,
    follow,
    game_and_starts,
    real,
    runge_kutta,
    values_of_actions,
)
from comity.theory.dynamics.replicator import fitness


def logit_velocity(
    payoffs: Float[Array, "*games n n"], rationality: float | Array, x: Float[Array, "*starts n"]
) -> Float[Array, "*starts n"]:
    """x' of one population that plays against itself."""
    return jax.nn.softmax(rationality * fitness(payoffs, x), axis=-1) - x


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_logit(
    payoffs: Num[Array, "*games n n"] | Num[np.ndarray, "*games n n"],
    start: Num[ArrayLike, "*starts n"],
    rationality: float | Float[Array, ""] = 5.0,
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> Float[Array, "kept *batch n"]:
    """Trajectories of one population."""
    velocity = partial(logit_velocity, real(payoffs), rationality)
    (first,) = broadcast_starts((payoffs,), (start,))
    return follow(partial(runge_kutta, velocity, step_size), first, steps, keep_every)


@partial(jax.jit, static_argnames=("steps", "keep_every"))
def run_logit_populations(
    payoffs: Payoffs,
    start: Starts,
    rationality: float | Float[Array, ""] = 5.0,
    steps: int = 1000,
    step_size: float | Float[Array, ""] = 0.05,
    keep_every: int = 1,
) -> tuple[Float[Array, "kept *batch _"], ...]:
    """Trajectories of one population per player.

    `payoffs` has one tensor per player, [*games, actions of player 0, actions of player 1, ...]; `start` one
    mixture per player.
    """
    tables, mixes = game_and_starts(payoffs, start)

    def velocity(state: tuple[Array, ...]) -> tuple[Array, ...]:
        values = values_of_actions(tables, state)
        return tuple(
            jax.nn.softmax(rationality * value, axis=-1) - mix
            for mix, value in zip(state, values, strict=True)
        )

    return follow(partial(runge_kutta, velocity, step_size), mixes, steps, keep_every)
