"""Probe: does the critic read its input."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.games.probes.base import Probe, ProbeState, one_seat_step


class ProbeObservation(Probe):
    """One step; the reward is +1 after observation 1 and -1 after observation 0, whatever one does.

    Answer: V(0) = -1, V(1) = 1. Isolates the critic.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(2), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        cue = jax.random.randint(key, (), 0, 2)
        return ProbeState(cue, jnp.int32(0)), (cue,)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        reward = 2.0 * state.cue.astype(jnp.float32) - 1.0
        return state, one_seat_step(reward, state.cue, jnp.bool_(True), jnp.bool_(False))
