"""What all probes share."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.core.game import Environment, TimeStep


class ProbeState(NamedTuple):
    """A number drawn at the start, and the time."""

    cue: Int[Array, ""]
    time: Int[Array, ""]


class Probe(Environment):
    """A game in which nothing is symmetric unless it is said so."""

    @property
    def family(self) -> str:
        return "probe"

    @property
    def symmetric(self) -> bool:
        return False


def one_seat_step(
    reward: Float[Array, ""], obs: PyTree, terminated: Bool[Array, ""], truncated: Bool[Array, ""]
) -> TimeStep:
    """The answer of a game with one seat."""
    return TimeStep((obs,), (reward,), terminated, truncated, (jnp.bool_(True),))
