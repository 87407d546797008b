"""Probe: the policy depends on the observation."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.games.probes.base import Probe, ProbeState, one_seat_step


class ProbeChoice(Probe):
    """One step; action 1 after observation 1 and action 0 after observation 0 pay 1, the others -1.

    Answer: the policy repeats the observation, the return is 1. Isolates the policy gradient.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(2), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        cue = jax.random.randint(key, (), 0, 2)
        return ProbeState(cue, jnp.int32(0)), (cue,)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        reward = jnp.where(actions[0] == state.cue, 1.0, -1.0)
        return state, one_seat_step(reward, state.cue, jnp.bool_(True), jnp.bool_(False))
