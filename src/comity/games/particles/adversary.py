"""Adversary: hide from a spy which place matters."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.game import PerSeat
from comity.games.horizon import check_count, check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState, distance


class Adversary(ParticleGame):
    """Good agents go to a goal without showing which it is; an adversary guesses (simple_adversary)."""

    good: int = 2  # how many good agents, and landmarks
    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_count("good", self.good, 1)
        check_horizon(self.horizon)

    @property
    def goal_sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.good,)

    @property
    def agents(self) -> tuple[Body, ...]:
        good = tuple(Body(f"agent_{i}", 0.15, moves=True) for i in range(self.good))
        return Body("adversary_0", 0.15, moves=True), *good

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(size=0.08),) * self.good

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        goal = self._landmark(state, 0)
        seen = []
        for i in range(self.good + 1):
            common = [self._landmarks_seen(state, i), self._others_seen(state, i)]
            own = [] if i == 0 else [goal - state.position[i]]
            seen.append(jnp.concatenate([*own, *common]))
        return tuple(seen)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        goal = self._landmark(state, 0)
        spy = distance(state.position[0], goal)
        nearest = jnp.stack([distance(state.position[i + 1], goal) for i in range(self.good)]).min()
        return -spy, *((spy - nearest,) * self.good)
