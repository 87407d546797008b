"""Speaker and listener: one knows the goal, the other can walk to it."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from comity.core.game import PerSeat
from comity.games.horizon import check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState, paint


class SpeakerListener(ParticleGame):
    """One knows the goal and can only speak, the other can only move (simple_speaker_listener)."""

    words: ClassVar[int] = 3
    goal_sizes: ClassVar[tuple[int, ...]] = (3,)
    colours: ClassVar[np.ndarray] = paint(0.15, 0.65, 3)

    continuous: bool = False  # forces and words instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        return Body("speaker_0", 0.075, speaks=True), Body("listener_0", 0.075, moves=True)

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(size=0.04),) * 3

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        colours = jnp.asarray(self.colours, state.position.dtype)
        hears = jnp.concatenate([state.velocity[1], self._landmarks_seen(state, 1), state.speech[0]])
        return colours[state.goals[0]], hears

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        reward = -jnp.square(state.position[1] - self._landmark(state, 0)).sum()
        return reward, reward
