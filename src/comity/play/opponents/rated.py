"""Past selves in a buffer, with a ledger of ratings and scores: what those who choose among them share."""

from abc import abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent, Metrics
from comity.core.batch import Trajectory
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.matchmaker import Lineup, Team
from comity.play.matchmaking import MOST_PAST
from comity.play.opponents.base import DrawnOpponents
from comity.play.opponents.ledger import Ledger, after_lineups, begin_anew, empty_ledger
from comity.play.opponents.seating import (
    Draw,
    Seating,
    check_opponents,
    learner_lineups,
    with_present,
)


class RatedPool(NamedTuple):
    """Past parameters of every team, leaves [capacity, ...], how many were stored so far, and the ledger.

    `notes` is what else a matchmaker keeps of them.
    """

    past: tuple[PyTree, ...]
    stored: Int[Array, ""]
    ledger: Ledger
    notes: PyTree = ()


class RatedSelves(DrawnOpponents):
    """Opponents are past selves, whose strength is measured by what comes of the games with them.

    They are drawn in groups, each facing an equal slice of the batch, by `members`. Metrics: `rating` of each
    learner as it is now, and `rating_best` of the strongest past self; only differences mean something.
    """

    capacity: int = 64  # how many past selves are kept; the oldest is overwritten
    every: int = 20  # iterations between two copies into the buffer

    def __check_init__(self) -> None:
        require(1 <= self.capacity <= MOST_PAST, "capacity", self.capacity, f"between 1 and {MOST_PAST:,}")
        require(self.every >= 1, "every", self.every, "at least 1")

    @abstractmethod
    def members(
        self, pool: RatedPool, learner: int, team: int, filled: Bool[Array, " capacity"], key: Key
    ) -> Int[Array, " drawn"]:
        """The past selves of a team that a learner meets, one per group, among those that are `filled`."""

    def notes(
        self, pool: RatedPool | None, teams: tuple[Team, ...] | int, played: tuple[Trajectory, ...]
    ) -> PyTree:
        """What else is kept of past selves after an iteration; without a pool, what it begins with."""
        return ()

    def check(self, spec: GameSpec, seating: Seating, batch: int) -> None:
        check_opponents(spec, seating, batch, self.groups, self.learning_seats)

    def init(self, policies: tuple[PyTree, ...]) -> RatedPool:
        def room(x: Array) -> Array:
            return jnp.zeros((self.capacity, *x.shape), x.dtype).at[0].set(x)

        ledger = empty_ledger(len(policies), self.capacity)
        past = jax.tree.map(room, policies)
        return RatedPool(past, jnp.int32(1), ledger, self.notes(None, len(policies), ()))

    def remember(self, pool: RatedPool, policies: tuple[PyTree, ...], iteration: Array) -> RatedPool:
        due = (iteration + 1) % self.every == 0
        place = pool.stored % self.capacity

        def store(past: Array, now: Array) -> Array:
            return past.at[place].set(jnp.where(due, now, past[place]))

        past = jax.tree.map(store, pool.past, policies)
        ledger = begin_anew(pool.ledger, place, due)
        return RatedPool(past, pool.stored + due.astype(jnp.int32), ledger, pool.notes)

    def lineups(self, pool: RatedPool, teams: tuple[Team, ...], key: Key) -> tuple[Lineup, ...]:
        return learner_lineups(
            teams, self.learning_seats, key, lambda learner: self._draw(pool, teams, learner)
        )

    def observe(
        self,
        pool: RatedPool,
        lineups: tuple[Lineup, ...],
        teams: tuple[Team, ...],
        played: tuple[Trajectory, ...],
    ) -> RatedPool:
        ledger = after_lineups(pool.ledger, lineups, played, self.rating_step, self.score_memory)
        return pool._replace(ledger=ledger, notes=self.notes(pool, teams, played))

    def metrics(self, pool: RatedPool) -> Metrics:
        filled = self._filled(pool)
        found: Metrics = {}
        for team in range(len(pool.past)):
            name = f"/{team + 1}" if len(pool.past) > 1 else ""
            found[f"rating{name}"] = pool.ledger.present[team]
            found[f"rating_best{name}"] = jnp.max(jnp.where(filled, pool.ledger.rating[team], -jnp.inf))
        return found

    def _filled(self, pool: RatedPool) -> Bool[Array, " capacity"]:
        return jnp.arange(self.capacity) < pool.stored

    def _draw(self, pool: RatedPool, teams: tuple[Team, ...], learner: int) -> Draw:
        def draw(other: int, seats: tuple[int, ...], key: Key) -> tuple[Agent, PyTree, Array]:
            filled = self._filled(pool)
            member = self.members(pool, learner, other, filled, key)
            member = with_present(member, self.groups)
            team = teams[other]

            def pick(past: Array, now: Array) -> Array:
                mask = (member < 0).reshape((self.groups,) + (1,) * now.ndim)
                return jnp.where(mask, now[None], past[jnp.maximum(member, 0)])

            return team.agent, jax.tree.map(pick, pool.past[other], team.policy), member

        return draw
