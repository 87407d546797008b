"""Probe: continuous actions."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Box, Discrete
from comity.games.probes.base import Probe, ProbeState, one_seat_step


class ProbeTarget(Probe):
    """One step; a number between -1 and 3 is chosen and pays minus its squared distance from 2.

    Answer: the action is 2 and the return 0. Isolates continuous actions.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(1), Box((1,), -1.0, 3.0)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        return ProbeState(jnp.int32(0), jnp.int32(0)), (jnp.int32(0),)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        reward = -jnp.square(actions[0][0] - 2.0)
        return state, one_seat_step(reward, jnp.int32(0), jnp.bool_(True), jnp.bool_(False))
