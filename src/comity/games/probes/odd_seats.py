"""Probe: three unlike seats, one leaves early."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Box, Discrete
from comity.games.probes.base import Probe, ProbeState


class ProbeOddSeats(Probe):
    """Three seats of different shapes; the second leaves after its first step, the game goes on to step 3.

    The first seat sees two numbers and is paid 1 for action 2 of 3; the second is paid 1 for action 1 of
    2, once; the third chooses a number in [0, 1] and is paid it.
    Answer: returns 3, 1, 3.
    """

    horizon: int | None = None  # the game ends by itself

    @property
    def seats(self) -> PerSeat[Seat]:
        return (
            Seat("walker", Box((2,)), Discrete(3)),
            Seat("guest", Discrete(3), Discrete(2)),
            Seat("dial", (Discrete(3), Box((1,), 0.0, 1.0)), Box((1,), 0.0, 1.0)),
        )

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        state = ProbeState(jnp.int32(0), jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        here = state.time == 0
        state = ProbeState(state.cue, state.time + 1)
        rewards = (
            (actions[0] == 2).astype(jnp.float32),
            jnp.where(here & (actions[1] == 1), 1.0, 0.0),
            actions[2][0].astype(jnp.float32),
        )
        alive = (jnp.bool_(True), jnp.bool_(False), jnp.bool_(True))
        step = TimeStep(self._observe(state), rewards, state.time >= 3, jnp.bool_(False), alive)
        return state, step

    def _observe(self, state: ProbeState) -> PerSeat[PyTree]:
        share = state.time.astype(jnp.float32) / 3.0
        time = jnp.minimum(state.time, 2)
        return (jnp.stack([share, 1.0 - share]), time, (time, share[None]))
