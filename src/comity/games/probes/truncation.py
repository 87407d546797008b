"""Probe: truncation is bootstrapped."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.game import PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.games.horizon import check_horizon
from comity.games.probes.base import Probe, ProbeState, one_seat_step


class ProbeTruncation(Probe):
    """The reward is 1 in every step, for ever; the clock cuts episodes off.

    Answer: V = 1 / (1 - discount), however short the episodes are, if truncation is bootstrapped.
    """

    horizon: int | None = 4  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def seats(self) -> PerSeat[Seat]:
        return (Seat("solo", Discrete(1), Discrete(2)),)

    def reset(self, key: Key) -> tuple[ProbeState, PerSeat[PyTree]]:
        return ProbeState(jnp.int32(0), jnp.int32(0)), (jnp.int32(0),)

    def step(self, key: Key, state: ProbeState, actions: PerSeat[PyTree]) -> tuple[ProbeState, TimeStep]:
        time = state.time + 1
        over = jnp.bool_(False) if self.horizon is None else time >= self.horizon
        return ProbeState(state.cue, time), one_seat_step(
            jnp.float32(1.0), jnp.int32(0), jnp.bool_(False), over
        )
