"""Probe: discounting and termination."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.games.probes.base import Probe, ProbeState, one_seat_step


class ProbeDiscount(Probe):
    """Two steps, the observation is the time; the reward is 1 in the second step, then the game ends.

    Answer: V(0) = discount, V(1) = 1. Isolates discounting and termination.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(3), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        return ProbeState(jnp.int32(0), jnp.int32(0)), (jnp.int32(0),)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        time = state.time + 1
        reward = (time == 2).astype(jnp.float32)
        return ProbeState(state.cue, time), one_seat_step(reward, time, time >= 2, jnp.bool_(False))
