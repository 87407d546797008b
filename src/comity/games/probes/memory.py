"""Probe: only a policy with memory solves it."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.games.probes.base import Probe, ProbeState, one_seat_step


class ProbeMemory(Probe):
    """A cue, 0 or 1, is seen in the first step only; in the last step, repeating it pays 1, else -1.

    Answer: with memory the return is 1, without memory it cannot exceed 0.
    """

    delay: int = 4  # steps between the cue and the answer
    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(4), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        cue = jax.random.randint(key, (), 0, 2)
        return ProbeState(cue, jnp.int32(0)), (cue,)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        time = state.time + 1
        last = time > self.delay
        right = jnp.where(actions[0] == state.cue, 1.0, -1.0)
        obs = jnp.where(time == self.delay, 3, 2)
        return ProbeState(state.cue, time), one_seat_step(
            jnp.where(last, right, 0.0), obs, last, jnp.bool_(False)
        )
