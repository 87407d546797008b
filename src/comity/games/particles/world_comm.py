"""World with communication: tag with food, forests and a leader who speaks."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.game import PerSeat
from comity.games.horizon import check_count, check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState, distance, outside_penalty


class WorldComm(ParticleGame):
    """Tag with food, forests to hide in, and a leader who sees all and speaks (simple_world_comm)."""

    words: ClassVar[int] = 4
    landmark_range: ClassVar[float] = 0.9

    good: int = 2  # how many prey
    adversaries: int = 4  # how many hunters; the first is the leader
    obstacles: int = 1  # how many obstacles
    food: int = 2  # how many places with food
    forests: int = 2  # how many forests
    continuous: bool = False  # forces and words instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        for name in ("good", "adversaries", "food"):
            check_count(name, getattr(self, name), 1)
        for name in ("obstacles", "forests"):
            check_count(name, getattr(self, name), 0)
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        names = ["leadadversary_0", *(f"adversary_{i}" for i in range(self.adversaries - 1))]
        hunters = tuple(
            Body(name, 0.075, moves=True, collides=True, speaks=i == 0, force=3.0, max_speed=1.0)
            for i, name in enumerate(names)
        )
        prey = tuple(
            Body(f"agent_{i}", 0.045, moves=True, collides=True, force=4.0, max_speed=1.3)
            for i in range(self.good)
        )
        return hunters + prey

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (
            (Body("obstacle", 0.2, collides=True),) * self.obstacles
            + (Body("food", 0.03),) * self.food
            + (Body("forest", 0.3),) * self.forests
        )

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        kind = state.position.dtype
        count = len(self.agents)
        first = count + self.obstacles + self.food
        hides = [[self._touch(state, i, first + f) for f in range(self.forests)] for i in range(count)]
        nowhere = jnp.bool_(False)
        hidden = [jnp.stack([nowhere, *row]).any() for row in hides]
        seen = []
        for i in range(count):
            places, speeds = [], []
            for j in range(count):
                if j == i:
                    continue
                together = jnp.stack(
                    [nowhere, *(mine & theirs for mine, theirs in zip(hides[i], hides[j], strict=True))]
                ).any()
                visible = together | (~hidden[i] & ~hidden[j]) | jnp.bool_(i == 0)
                places.append(jnp.where(visible, state.position[j] - state.position[i], 0.0))
                if j >= self.adversaries:
                    speeds.append(jnp.where(visible, state.velocity[j], 0.0))
            inside = [jnp.where(x, 1.0, -1.0).astype(kind)[None] for x in hides[i]]
            own = [state.velocity[i], state.position[i], self._landmarks_seen(state, i), *places]
            if i < self.adversaries:
                seen.append(jnp.concatenate([*own, *speeds, *inside, state.speech[0]]))
            else:
                seen.append(jnp.concatenate([*own, *inside, *speeds]))
        return tuple(seen)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        count = len(self.agents)
        prey = range(self.adversaries, count)
        meals = range(count + self.obstacles, count + self.obstacles + self.food)
        caught = {j: self._touched(state, j, range(self.adversaries)) for j in prey}
        bounty = 5.0 * jnp.stack(list(caught.values())).sum()
        hunters = tuple(
            bounty - 0.1 * jnp.stack([distance(state.position[j], state.position[i]) for j in prey]).min()
            for i in range(self.adversaries)
        )
        hunted = []
        for j in prey:
            ate = self._touched(state, j, meals)
            hungry = jnp.stack([distance(state.position[m], state.position[j]) for m in meals]).min()
            price = 5.0 * caught[j] + 2.0 * outside_penalty(state.position[j])
            hunted.append(2.0 * ate - price - 0.05 * hungry)
        return hunters + tuple(hunted)
