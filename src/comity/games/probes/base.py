"""What all probes share."""

import textwrap
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.core.game import Environment, TimeStep
from comity.core.scene import Note, Scene, Stack, Table


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

    def draw(self, state: ProbeState) -> Scene:
        """The rule of the probe, its cue and the time."""
        rule = " ".join((type(self).__doc__ or "").partition("\n\n")[0].split())
        lines = tuple(Note(line) for line in textwrap.wrap(rule, 60))
        numbers = Table((("cue", f"{int(state.cue)}"), ("time", f"{int(state.time)}")), align="lr")
        return Stack((Stack(lines, align="left"), numbers))


def one_seat_step(
    reward: Float[Array, ""], obs: PyTree, terminated: Bool[Array, ""], truncated: Bool[Array, ""]
) -> TimeStep:
    """The answer of a game with one seat."""
    return TimeStep((obs,), (reward,), terminated, truncated, (jnp.bool_(True),))
