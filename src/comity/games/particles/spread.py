"""Spread: agents cover all landmarks."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.core.game import PerSeat
from comity.games.horizon import check_count, check_horizon
from comity.games.particles.physics import Body, ParticleGame, ParticleState


class Spread(ParticleGame):
    """Agents cover all landmarks and avoid each other (simple_spread).

    Each is paid `local_ratio` times its collisions (-1 each) plus the rest times the sum over landmarks of
    the distance of the nearest agent, negative.
    """

    players: int = 3  # how many agents, and landmarks
    local_ratio: float = 0.5  # the weight of one's own collisions
    continuous: bool = False  # forces instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_count("players", self.players, 1)
        require(0.0 <= self.local_ratio <= 1.0, "local_ratio", self.local_ratio, "between 0 and 1")
        check_horizon(self.horizon)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(f"agent_{i}", 0.15, moves=True, collides=True) for i in range(self.players))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * self.players

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        seen = []
        for i in range(self.players):
            others = [self._others_seen(state, i)] if self.players > 1 else []
            heard = jnp.zeros(2 * (self.players - 1), state.position.dtype)
            own = [state.velocity[i], state.position[i], self._landmarks_seen(state, i)]
            seen.append(jnp.concatenate([*own, *others, heard]))
        return tuple(seen)

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        agents, landmarks = state.position[: self.players], state.position[self.players :]
        apart = jnp.sqrt(jnp.square(agents[:, None] - landmarks[None, :]).sum(axis=-1))
        shared = -apart.min(axis=0).sum()
        paid = []
        for i in range(self.players):
            bumps = [self._touch(state, i, j).astype(shared.dtype) for j in range(self.players) if j != i]
            own = -sum(bumps, jnp.zeros_like(shared))
            paid.append((1.0 - self.local_ratio) * shared + self.local_ratio * own)
        return tuple(paid)
