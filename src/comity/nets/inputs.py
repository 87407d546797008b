"""What a network does with its inputs, however they are encoded."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

CLOCK_SIZE = 2  # numbers that tell the time


class Inputs(eqx.Module):
    """What a network sees beside the observation, and whether observations are normalised."""

    clock: bool = False  # whether to see how many steps the episode has lasted
    normalise: bool = False  # whether observations are brought to their running mean 0 and variance 1


def with_clock(x: Float[Array, "... inputs"], clock: Float[Array, "..."]) -> Float[Array, "... more"]:
    """Inputs, and behind them the number of steps that the episode has lasted, on two scales."""
    return jnp.concatenate([x, jnp.stack([jnp.log1p(clock) / 7.0, clock / 1000.0], -1)], -1)


def clock_along(first: Float[Array, " row"], resets: Bool[Array, "time row"]) -> Float[Array, "time row"]:
    """How many steps each episode has lasted before each step of a trajectory."""

    def advance(clock: Array, reset: Array) -> tuple[Array, Array]:
        clock = jnp.where(reset, 0.0, clock)
        return clock + 1.0, clock

    return jax.lax.scan(advance, first, resets)[1]
