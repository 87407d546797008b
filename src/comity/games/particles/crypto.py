"""Crypto: a secret message and a key."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from comity.core import palette
from comity.core.game import PerSeat
from comity.core.scene import Note, Scene, Stack, Table
from comity.games.horizon import check_horizon
from comity.games.particles.drawing import spoken
from comity.games.particles.physics import Body, ParticleGame, ParticleState


class Crypto(ParticleGame):
    """Alice tells Bob a message with a key that both have, Eve listens without it (simple_crypto)."""

    words: ClassVar[int] = 4
    goal_sizes: ClassVar[tuple[int, ...]] = (2, 2)  # the message, and the key

    continuous: bool = False  # words as numbers instead of choices
    horizon: int | None = 25  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def agents(self) -> tuple[Body, ...]:
        return tuple(Body(name, speaks=True) for name in ("eve_0", "bob_0", "alice_0"))

    @property
    def landmarks(self) -> tuple[Body, ...]:
        return (Body(),) * 2

    def observe(self, state: ParticleState) -> PerSeat[Float[Array, " _"]]:
        message, key = jax.nn.one_hot(state.goals, self.words, dtype=state.position.dtype)
        said = state.speech[2]
        return said, jnp.concatenate([key, said]), jnp.concatenate([message, key])

    def rewards(self, state: ParticleState) -> PerSeat[Float[Array, ""]]:
        message = jax.nn.one_hot(state.goals[0], self.words, dtype=state.position.dtype)
        misses = []
        for listener in (0, 1):
            said = state.speech[listener]
            # Who says nothing is neither paid nor punished.
            misses.append(jnp.where(jnp.any(said != 0.0), jnp.square(said - message).sum(), 0.0))
        eve, bob = misses
        return -eve, eve - bob, eve - bob

    def draw(self, state: ParticleState) -> Scene:
        """The message and the key, and what everybody says; places mean nothing here."""
        message, key = ("ab"[goal] for goal in np.asarray(state.goals).tolist())
        eve, bob, alice = (spoken(words) for words in np.asarray(state.speech))
        colours = palette.series(3)
        rows = (
            ("message", message, "alice knows it"),
            ("key", key, "alice and bob know it"),
            ((("alice says", colours[2]),), alice, "all hear it"),
            ((("bob guesses", colours[1]),), bob, "right" if bob == message else ""),
            ((("eve guesses", colours[0]),), eve, "right" if eve == message else ""),
        )
        return Stack((Table(rows, align="lcl"), Note("bob should find the message, eve should not")))
