"""Who meets whom while learning."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import add_group_axis, communicates
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.matchmaker import Lineup, Matchmaker, Occupant, Team

Seating = tuple[tuple[int, ...], ...]

MOST_PAST = 1_000_000  # past selves


class SelfPlay(Matchmaker):
    """Everybody meets the others as they are now; one rollout serves all learners."""

    def check(self, spec: GameSpec, seating: Seating, batch: int) -> None:
        """Any seating will do."""

    def init(self, policies: tuple[PyTree, ...]) -> PyTree:
        return ()

    def remember(self, pool: PyTree, policies: tuple[PyTree, ...], iteration: Array) -> PyTree:
        return pool

    def lineups(self, pool: PyTree, teams: tuple[Team, ...], key: Key) -> tuple[Lineup, ...]:
        learning = tuple((i, team.seats) for i, team in enumerate(teams) if team.agent.learns)
        return (Lineup(present_selves(teams), learning),)


class Pool(NamedTuple):
    """Past parameters of every learner, leaves [capacity, ...], and how many were stored so far."""

    past: tuple[PyTree, ...]
    stored: Int[Array, ""]


class PastSelves(Matchmaker):
    """Opponents are past selves, drawn evenly from a buffer of copies of the parameters.

    A learner that sits in several seats learns in the first `learning_seats` of them and meets its past
    selves in the rest; a learner with one seat meets the past selves of the others. Opponents are drawn
    in groups, each facing an equal slice of the batch: a few large matrix products are far faster than
    one small product per game.
    """

    capacity: int = 512  # how many past selves are kept; the oldest is overwritten
    every: int = 10  # iterations between two copies into the buffer
    groups: int = 16  # how many past selves are met in one iteration
    current_share: float = 0.0  # share of the groups in which the opponent is the present self
    learning_seats: int = 1  # in how many of its seats a learner with several sits as it is now
    early: float = 1.0  # preference for early selves: the place in the buffer is drawn as u^early
    first: int = 0  # iterations before the first copy; until then the opponent is the newest self

    def __check_init__(self) -> None:
        require(1 <= self.capacity <= MOST_PAST, "capacity", self.capacity, f"between 1 and {MOST_PAST:,}")
        require(self.every >= 1, "every", self.every, "at least 1")
        require(self.groups >= 1, "groups", self.groups, "at least 1")
        require(0.0 <= self.current_share <= 1.0, "current_share", self.current_share, "between 0 and 1")
        require(self.learning_seats >= 1, "learning_seats", self.learning_seats, "at least 1")
        require(self.early > 0, "early", self.early, "above 0")
        require(self.first >= 0, "first", self.first, "at least 0")

    def check(self, spec: GameSpec, seating: Seating, batch: int) -> None:
        require(batch % self.groups == 0, "groups", self.groups, f"a divisor of the batch of {batch}")
        seats = len(spec.seats)
        if seats == 1:
            raise ComityError("A game of one seat has no opponents to draw from past selves.")
        if len(seating) == 1:
            allowed = f"less than the {seats} seats of the game"
            require(self.learning_seats < seats, "learning_seats", self.learning_seats, allowed)

    def init(self, policies: tuple[PyTree, ...]) -> Pool:
        def room(x: Array) -> Array:
            return jnp.zeros((self.capacity, *x.shape), x.dtype).at[0].set(x)

        return Pool(jax.tree.map(room, policies), jnp.int32(1))

    def remember(self, pool: Pool, policies: tuple[PyTree, ...], iteration: Array) -> Pool:
        """Stores copies every so many iterations; arrays are values, so later updates do not reach them."""
        due = (iteration + 1) % self.every == 0
        warm = iteration < self.first
        slot = jnp.where(warm, 0, pool.stored % self.capacity)

        def store(past: Array, now: Array) -> Array:
            return past.at[slot].set(jnp.where(due, now, past[slot]))

        past = jax.tree.map(store, pool.past, policies)
        return Pool(past, pool.stored + (due & ~warm).astype(jnp.int32))

    def lineups(self, pool: Pool, teams: tuple[Team, ...], key: Key) -> tuple[Lineup, ...]:
        learners = [i for i, team in enumerate(teams) if team.agent.learns]
        return tuple(
            self._lineup(pool, teams, learner, jax.random.fold_in(key, number))
            for number, learner in enumerate(learners)
        )

    def _lineup(self, pool: Pool, teams: tuple[Team, ...], learner: int, key: Key) -> Lineup:
        """One learner as it is now among past selves of all."""
        own = teams[learner]
        learning = own.seats[: self.learning_seats] if len(teams) == 1 else own.seats
        occupants = [Occupant(learning, own.agent, add_group_axis(own.behaviour))]
        for other, team in enumerate(teams):
            rest = tuple(seat for seat in team.seats if seat not in learning)
            # Seats that communicate are one past self; others are each one of their own.
            for seats in [rest] if rest and communicates(team.agent) else [(seat,) for seat in rest]:
                draw_key = jax.random.fold_in(key, seats[0])
                past = self._draw(pool.past[other], team.policy, pool.stored, draw_key)
                occupants.append(Occupant(seats, team.agent, past))
        return Lineup(tuple(occupants), ((learner, learning),))

    def _draw(self, past: PyTree, now: PyTree, stored: Int[Array, ""], key: Key) -> PyTree:
        """Parameters of past selves, leaves [groups, ...]."""
        count = jnp.minimum(stored, self.capacity).astype(jnp.float32)
        drawn = jnp.power(jax.random.uniform(key, (self.groups,)), self.early)
        oldest = jnp.where(stored > self.capacity, stored % self.capacity, 0)
        place = jnp.minimum(jnp.floor(drawn * count), count - 1.0)
        index = (oldest + place.astype(jnp.int32)) % self.capacity
        present = jnp.arange(self.groups) < round(self.current_share * self.groups)

        def pick(past: Array, now: Array) -> Array:
            mask = present.reshape((self.groups,) + (1,) * now.ndim)
            return jnp.where(mask, now[None], past[index])

        return jax.tree.map(pick, past, now)


def present_selves(teams: tuple[Team, ...]) -> tuple[Occupant, ...]:
    """Every team in its own seats, as it plays now."""
    return tuple(Occupant(team.seats, team.agent, add_group_axis(team.behaviour)) for team in teams)
