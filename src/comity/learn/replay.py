"""Replay: what was played is kept, and learned from more than once."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.free_memory import refuse_what_does_not_fit
from comity.core.memory import Memory

# What a step is made of; memories, extras and the joint trajectory are those of the policy that played then.
KEPT = (
    "obs", "next_obs", "action", "reward", "terminated", "truncated", "resets", "alive", "acts", "next_acts",
)  # fmt: skip
STATES = ("state", "next_state")
OF_GAMES = (*STATES, "age")  # without an axis of seats


class ReplayState(eqx.Module):
    """Steps in a ring, leaves [capacity, ...]; the next one's place, their number, their seats."""

    steps: PyTree
    next: Int[Array, ""]
    stored: Int[Array, ""]
    seats: tuple[int, ...] = eqx.field(static=True)


class UniformReplay(Memory):
    """The last steps of all games, drawn evenly, in sequences of some length."""

    capacity: int = 100_000  # how many steps of a game are kept, over all games side by side
    batch: int = 256  # sequences in one update
    length: int = 1  # steps of each
    updates: int = 1  # updates that follow each rollout
    learning_starts: int = 1_000  # steps of a game before the first update
    states: bool = False  # whether the game's state is kept too, for critics and mixers that read it

    def __check_init__(self) -> None:
        for name in ("capacity", "batch", "length", "updates"):
            require(getattr(self, name) >= 1, f"memory.{name}", getattr(self, name), "at least 1")
        require(
            0 <= self.learning_starts <= self.capacity,
            "memory.learning_starts", self.learning_starts, f"between 0 and the capacity of {self.capacity}",
        )  # fmt: skip

    def init(self, template: TeamBatch) -> ReplayState:
        length, games = template.reward.shape[0], template.reward.shape[2]
        room = self.capacity // games
        least = max(length, self.length) * games
        require(
            room * games >= least,
            "memory.capacity", self.capacity, f"at least {least}: one rollout of all games",
        )  # fmt: skip
        kept = jax.eval_shape(self._kept, template)
        needed = sum(room * np.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(kept))
        refuse_what_does_not_fit(int(needed), "memory.capacity", self.capacity)
        steps = jax.tree.map(lambda x: jnp.zeros((room, *x.shape[1:]), x.dtype), kept)
        return ReplayState(steps, jnp.int32(0), jnp.int32(0), template.seats)

    def add(self, memory: ReplayState, batch: TeamBatch) -> ReplayState:
        length, room = batch.reward.shape[0], memory.steps["reward"].shape[0]
        places = (memory.next + jnp.arange(length)) % room
        steps = jax.tree.map(lambda old, new: old.at[places].set(new), memory.steps, self._kept(batch))
        stored = jnp.minimum(memory.stored + length, room).astype(jnp.int32)
        return ReplayState(steps, (memory.next + length) % room, stored, memory.seats)

    def sample(self, memory: ReplayState, key: Key) -> TeamBatch:
        """Sequences [time, seat, sequence]; one that reaches over an episode's end has a reset inside."""
        room, _, games = memory.steps["reward"].shape
        time_key, game_key = jax.random.split(key)
        oldest = jnp.where(memory.stored < room, 0, memory.next)
        starts = jnp.maximum(memory.stored - self.length + 1, 1)
        first = oldest + jax.random.randint(time_key, (self.batch,), 0, starts)
        game = jax.random.randint(game_key, (self.batch,), 0, games)
        times = (first[None, :] + jnp.arange(self.length)[:, None]) % room

        def of_seats(x: Array) -> Array:  # [capacity, seat, game, ...] as [time, seat, sequence, ...]
            return jnp.swapaxes(x[times, :, jnp.broadcast_to(game, times.shape)], 1, 2)

        def of_games(x: Array) -> Array:
            return x[times, jnp.broadcast_to(game, times.shape)]

        drawn: dict[str, Any] = {
            name: jax.tree.map(of_games if name in OF_GAMES else of_seats, value)
            for name, value in memory.steps.items()
        }
        age = drawn.pop("age")[0]
        nothing: dict[str, Any] = {
            name: () for name in ("extras", "bootstrap", "carry", *STATES) if name not in drawn
        }
        return TeamBatch(**drawn, **nothing, age=age, everyone=None, seats=memory.seats)

    def ready(self, memory: ReplayState) -> Bool[Array, ""]:
        room, _, games = memory.steps["reward"].shape
        # A capacity that is no multiple of the games has room for fewer steps than it says.
        least = min(max(self.learning_starts, 1), room * games)
        return (memory.stored * games >= least) & (memory.stored >= self.length)

    def _kept(self, batch: TeamBatch) -> dict[str, PyTree]:
        names = KEPT + (STATES if self.states else ())
        kept = {name: getattr(batch, name) for name in names}
        # Within a rollout a new episode is known by the end of the one before; at its start, by its age.
        begins = jnp.broadcast_to(batch.age == 0, batch.resets.shape[1:])
        resets = batch.resets.at[0].set(begins)
        return {**kept, "resets": resets, "age": _ages(resets[:, 0], batch.age)}


def _ages(resets: Bool[Array, "time game"], age: Int[Array, " game"]) -> Int[Array, "time game"]:
    """How many steps each game had lasted before each step."""

    def after(age: Array, reset: Array) -> tuple[Array, Array]:
        now = jnp.where(reset, 0, age)
        return now + 1, now

    ages: Array = jax.lax.scan(after, age, resets)[1]
    return ages
