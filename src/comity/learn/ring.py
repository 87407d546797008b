"""What replays have in common: steps in a ring on the device, and sequences that are taken from it."""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree

from comity.core.batch import Drawn, TeamBatch, Trajectory
from comity.core.errors import require
from comity.core.free_memory import refuse_what_does_not_fit
from comity.core.game import TimeStep
from comity.core.memory import Memory

# What a step is made of; memories, extras and the joint trajectory are those of the policy that played then.
KEPT = (
    "obs", "next_obs", "action", "reward", "terminated", "truncated", "resets", "alive", "acts", "next_acts",
)  # fmt: skip
STATES = ("state", "next_state")
OF_GAMES = (*STATES, "age", "others")  # without an axis of seats


class OtherSeats(NamedTuple):
    """What the seats outside of the team saw and did, in their order, leaves [time, game, ...]."""

    obs: tuple[PyTree, ...]
    next_obs: tuple[PyTree, ...]
    action: tuple[PyTree, ...]
    alive: tuple[Array, ...]
    terminated: Array  # of the game


class ReplayState(eqx.Module):
    """Steps in a ring, leaves [capacity, ...]; the next one's place, their number, their seats."""

    steps: PyTree
    next: Int[Array, ""]
    stored: Int[Array, ""]
    seats: tuple[int, ...] = eqx.field(static=True)

    @property
    def room(self) -> int:
        """How many steps of each game there is room for."""
        return int(self.steps["reward"].shape[0])

    @property
    def games(self) -> int:
        """How many games there are side by side."""
        return int(self.steps["reward"].shape[2])


class Replay(Memory):
    """The last steps of all games, drawn in sequences of some length.

    Sequences start at any step (`anywhere`), or with an episode (`episodes`). What follows the end of the
    episode that a sequence began in belongs to another one: it is not `alive`, so nothing is learned from it,
    and nothing flows across since `resets` marks it. A rollout that does not go on where the one before it
    ended (`resets` in its first step) cuts the episode before it.
    """

    capacity: int = 100_000  # how many steps of a game are kept, over all games side by side
    batch: int = 256  # sequences in one update
    length: int = 1  # steps of each
    burn_in: int = 0  # steps before these, which only fill the memory of a recurrent network
    updates: int = 1  # updates that follow each rollout
    learning_starts: int = 1_000  # steps of a game before the first update
    states: bool = False  # whether the game's state is kept too, for critics and mixers that read it
    joint: bool = False  # whether what other teams saw and did is kept too, for critics that read it
    starts: Literal["anywhere", "episodes"] = "anywhere"  # where sequences begin

    def __check_init__(self) -> None:
        for name in ("capacity", "batch", "length", "updates"):
            require(getattr(self, name) >= 1, f"memory.{name}", getattr(self, name), "at least 1")
        require(self.burn_in >= 0, "memory.burn_in", self.burn_in, "at least 0")
        if self.starts == "episodes":
            why = "0 where sequences start with episodes: there is nothing before"
            require(self.burn_in == 0, "memory.burn_in", self.burn_in, why)
        require(
            0 <= self.learning_starts <= self.capacity,
            "memory.learning_starts", self.learning_starts, f"between 0 and the capacity of {self.capacity}",
        )  # fmt: skip

    @property
    def window(self) -> int:
        """Steps of a sequence with those before it that only fill memories."""
        return self.burn_in + self.length

    def empty_ring(self, template: TeamBatch) -> ReplayState:
        """An empty ring for rollouts of these shapes; refused, with the number, if it does not fit."""
        length, games = template.reward.shape[0], template.reward.shape[2]
        room = self.capacity // games
        least = max(length, self.window) * games
        require(
            room * games >= least,
            "memory.capacity", self.capacity, f"at least {least}: one rollout of all games",
        )  # fmt: skip
        kept = jax.eval_shape(self._kept, template)
        needed = sum(room * np.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(kept))
        refuse_what_does_not_fit(int(needed), "memory.capacity", self.capacity)
        steps = jax.tree.map(lambda x: jnp.zeros((room, *x.shape[1:]), x.dtype), kept)
        return ReplayState(steps, jnp.int32(0), jnp.int32(0), template.seats)

    def add_to_ring(self, ring: ReplayState, batch: TeamBatch) -> ReplayState:
        """The ring with one more rollout, in place of the oldest steps once it is full."""
        length, room = batch.reward.shape[0], ring.room
        places = (ring.next + jnp.arange(length)) % room
        steps = jax.tree.map(lambda old, new: old.at[places].set(new), ring.steps, self._kept(batch))
        stored = jnp.minimum(ring.stored + length, room).astype(jnp.int32)
        return ReplayState(steps, (ring.next + length) % room, stored, ring.seats)

    def sequences(
        self,
        ring: ReplayState,
        first: Int[Array, " sequence"],
        game: Int[Array, " sequence"],
        drawn: Drawn | None = None,
    ) -> TeamBatch:
        """The sequences [time, seat, sequence] that begin at these places of the ring."""
        times = (first[None, :] + jnp.arange(self.window)[:, None]) % ring.room
        games = jnp.broadcast_to(game, times.shape)

        def of_seats(x: Array) -> Array:  # [capacity, seat, game, ...] as [time, seat, sequence, ...]
            return jnp.swapaxes(x[times, :, games], 1, 2)

        found: dict[str, Any] = {
            name: jax.tree.map((lambda x: x[times, games]) if name in OF_GAMES else of_seats, value)
            for name, value in ring.steps.items()
        }
        age = found.pop("age")[0]
        others = found.pop("others", None)
        found["alive"] = found["alive"] & self._same_episode(found["resets"])
        # What goes on elsewhere was cut: the value of the true successor stands for it.
        cut = jnp.concatenate([found["resets"][1:], jnp.zeros_like(found["resets"][:1])])
        found["truncated"] = found["truncated"] | (cut & ~found["terminated"])
        nothing: dict[str, Any] = {
            name: () for name in ("extras", "bootstrap", "carry", *STATES) if name not in found
        }
        batch = TeamBatch(**found, **nothing, age=age, everyone=None, seats=ring.seats, drawn=drawn)
        return batch if others is None else batch.replace(everyone=_everyone(batch, others))

    def ring_ready(self, ring: ReplayState) -> Bool[Array, ""]:
        """Whether there are enough steps, and a whole sequence."""
        # A capacity that is no multiple of the games has room for fewer steps than it says.
        least = min(max(self.learning_starts, 1), ring.room * ring.games)
        return (ring.stored * ring.games >= least) & (ring.stored >= self.window)

    def _same_episode(self, resets: Bool[Array, "time seat game"]) -> Bool[Array, "time seat game"]:
        """Where the episode of the first step that is learned from goes on, and all that burns in."""
        begun = jnp.cumsum(resets[self.burn_in + 1 :].astype(jnp.int32), axis=0) > 0
        same = jnp.ones_like(resets[: self.burn_in + 1])
        return jnp.concatenate([same, ~begun])

    def _kept(self, batch: TeamBatch) -> dict[str, PyTree]:
        names = KEPT + (STATES if self.states else ())
        kept = {name: getattr(batch, name) for name in names}
        # Within a rollout a new episode is known by the end of the one before; at its start, by its age.
        begins = jnp.broadcast_to(batch.age == 0, batch.resets.shape[1:])
        resets = batch.resets.at[0].set(batch.resets[0] | begins)
        ages = _ages(batch.resets[:, 0].at[0].set(False), batch.age)
        kept = {name: _without_keys(value) if name in STATES else value for name, value in kept.items()}
        if self.joint:
            kept["others"] = _other_seats(batch)
        return {**kept, "resets": resets, "age": ages}


def _without_keys(state: PyTree) -> PyTree:
    """A game's state without the random keys in it, which no critic reads (`as_numbers`)."""
    return jax.tree.map(lambda x: None if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x, state)


def _other_seats(batch: TeamBatch) -> OtherSeats:
    """What the other teams saw and did."""
    joint = batch.joint
    outside = [seat for seat in range(len(joint.obs)) if seat not in batch.seats]

    def kept(by_seat: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        return tuple(by_seat[seat] for seat in outside)

    return OtherSeats(
        kept(joint.obs), kept(joint.step.obs), kept(joint.action), kept(joint.alive), joint.step.terminated
    )


def _everyone(batch: TeamBatch, others: OtherSeats) -> Trajectory:
    """What all seats saw and did, the team's from its own part; nothing else is known of the trajectory."""
    count = len(batch.seats) + len(others.obs)
    outside = [seat for seat in range(count) if seat not in batch.seats]

    def by_seat(own: PyTree, rest: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        team = {seat: jax.tree.map(lambda x, i=place: x[:, i], own) for place, seat in enumerate(batch.seats)}
        found = team | dict(zip(outside, rest, strict=True))
        return tuple(found[seat] for seat in range(count))

    next_obs = by_seat(batch.next_obs, others.next_obs)
    step = TimeStep(next_obs, (), others.terminated, batch.truncated[:, 0], ())
    return Trajectory(
        by_seat(batch.obs, others.obs), by_seat(batch.alive, others.alive),
        by_seat(batch.action, others.action), (), (), step, (), (), (), batch.age,
    )  # fmt: skip


def _ages(resets: Bool[Array, "time game"], age: Int[Array, " game"]) -> Int[Array, "time game"]:
    """How many steps each game had lasted before each step."""

    def after(age: Array, reset: Array) -> tuple[Array, Array]:
        now = jnp.where(reset, 0, age)
        return now + 1, now

    ages: Array = jax.lax.scan(after, age, resets)[1]
    return ages
