"""Replay: what was played is kept, and learned from more than once."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch
from comity.learn.ring import Replay
from comity.learn.ring import ReplayState as ReplayState


class UniformReplay(Replay):
    """The last steps of all games, drawn evenly, in sequences of some length."""

    def init(self, template: TeamBatch) -> ReplayState:
        return self.empty_ring(template)

    def add(self, memory: ReplayState, batch: TeamBatch) -> ReplayState:
        return self.add_to_ring(memory, batch)

    def sample(self, memory: ReplayState, key: Key) -> TeamBatch:
        """Sequences [time, seat, sequence], each from a place drawn evenly."""
        time_key, game_key = jax.random.split(key)
        room, games = memory.room, memory.games
        oldest = jnp.where(memory.stored < room, 0, memory.next)
        count = jnp.maximum(memory.stored - self.window + 1, 1)  # places where a sequence fits
        if self.starts == "episodes":
            # The n-th beginning of an episode, counted along all places in the order of the ring.
            fits = (jnp.arange(room) - oldest) % room < count
            begins = (memory.steps["age"] == 0) & jnp.broadcast_to(fits[:, None], (room, games))
            counted = jnp.cumsum(begins.reshape(-1).astype(jnp.int32))
            number = jax.random.randint(time_key, (self.batch,), 0, jnp.maximum(counted[-1], 1))
            place = jnp.searchsorted(counted, number + 1)
            return self.sequences(memory, place // games, place % games)
        first = oldest + jax.random.randint(time_key, (self.batch,), 0, count)
        game = jax.random.randint(game_key, (self.batch,), 0, games)
        return self.sequences(memory, first, game)

    def ready(self, memory: ReplayState) -> Bool[Array, ""]:
        enough = self.ring_ready(memory)
        if self.starts == "anywhere":
            return enough
        oldest = jnp.where(memory.stored < memory.room, 0, memory.next)
        fits = (jnp.arange(memory.room) - oldest) % memory.room <= memory.stored - self.window
        begins: Array = (memory.steps["age"] == 0).any(axis=-1)
        return enough & (begins & fits).any()
