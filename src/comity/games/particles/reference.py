"""Reference: two agents tell each other where to go."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.core.game import PerSeat
from comity.games.horizon import check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState, distance, paint


class Reference(ParticleGame):
    """Each agent knows where the other should go, and both move and speak (simple_reference)."""

    words: ClassVar[int] = 10
    goal_sizes: ClassVar[tuple[int, ...]] = (3, 3)
    colours: ClassVar[np.ndarray] = paint(0.25, 0.75, 3)

    local_ratio: float = 0.5  # the weight of one's own goal against both
    continuous: bool = False  # forces and words instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        require(0.0 <= self.local_ratio <= 1.0, "local_ratio", self.local_ratio, "between 0 and 1")
        check_horizon(self.horizon)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(f"agent_{i}", moves=True, speaks=True) for i in range(2))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * 3

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        colours = jnp.asarray(self.colours, state.position.dtype)
        return tuple(
            jnp.concatenate(
                [
                    state.velocity[i],
                    self._landmarks_seen(state, i),
                    colours[state.goals[i]],
                    state.speech[1 - i],
                ]
            )
            for i in range(2)
        )

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        own = [-distance(state.position[1 - i], self._landmark(state, i)) for i in range(2)]
        shared = (own[0] + own[1]) / 2.0
        return tuple((1.0 - self.local_ratio) * shared + self.local_ratio * reward for reward in own)
