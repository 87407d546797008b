"""Push: keep the other from its goal."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from comity.core.game import PerSeat
from comity.games.horizon import check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState, distance, paint


class Push(ParticleGame):
    """One agent walks to a goal, an adversary pushes it away (simple_push)."""

    goal_sizes: ClassVar[tuple[int, ...]] = (2,)
    colours: ClassVar[np.ndarray] = paint(0.1, 0.9, 2, first=1)
    own_colours: ClassVar[np.ndarray] = paint(0.25, 0.75, 2, first=1)

    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(name, moves=True, collides=True) for name in ("adversary_0", "agent_0"))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * 2

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        kind = state.position.dtype
        adversary = [state.velocity[0], self._landmarks_seen(state, 0), self._others_seen(state, 0)]
        good = [
            state.velocity[1],
            self._landmark(state, 0) - state.position[1],
            jnp.asarray(self.own_colours, kind)[state.goals[0]],
            self._landmarks_seen(state, 1),
            jnp.asarray(self.colours, kind).reshape(-1),
            self._others_seen(state, 1),
        ]
        return jnp.concatenate(adversary), jnp.concatenate(good)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        goal = self._landmark(state, 0)
        away = distance(state.position[1], goal)
        return away - distance(state.position[0], goal), -away
