"""Tag: hunters and faster prey."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.game import PerSeat
from comity.games.horizon import check_count, check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState, outside_penalty


class Tag(ParticleGame):
    """Slower adversaries hunt faster prey around obstacles (simple_tag)."""

    landmark_range: ClassVar[float] = 0.9

    good: int = 1  # how many prey
    adversaries: int = 3  # how many hunters
    obstacles: int = 2  # how many obstacles
    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        for name in ("good", "adversaries"):
            check_count(name, getattr(self, name), 1)
        check_count("obstacles", self.obstacles, 0)
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        hunters = tuple(
            Body(f"adversary_{i}", 0.075, moves=True, collides=True, force=3.0, max_speed=1.0)
            for i in range(self.adversaries)
        )
        prey = tuple(
            Body(f"agent_{i}", 0.05, moves=True, collides=True, force=4.0, max_speed=1.3)
            for i in range(self.good)
        )
        return hunters + prey

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body("obstacle", 0.2, collides=True),) * self.obstacles

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        prey = range(self.adversaries, len(self.agents))
        return tuple(
            jnp.concatenate(
                [
                    state.velocity[i],
                    state.position[i],
                    self._landmarks_seen(state, i),
                    self._others_seen(state, i),
                    *(state.velocity[j] for j in prey if j != i),
                ]
            )
            for i in range(len(self.agents))
        )

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        prey, hunters = range(self.adversaries, len(self.agents)), range(self.adversaries)
        caught = {j: self._touched(state, j, hunters) for j in prey}
        bounty = 10.0 * jnp.stack(list(caught.values())).sum()
        paid = tuple(-10.0 * caught[j] - outside_penalty(state.position[j]) for j in prey)
        return (bounty,) * self.adversaries + paid
