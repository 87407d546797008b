"""Who sits where in a rollout, and who decides that."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Agent, Metrics
from comity.core.batch import Trajectory
from comity.core.game import GameSpec


class Team(NamedTuple):
    """An agent that trains in some seats: its policy, and the parameters that play while it learns."""

    seats: tuple[int, ...]
    agent: Agent
    policy: PyTree
    behaviour: PyTree
    spec: GameSpec | None = None  # of the game; for matchmakers that make players of their own


class Occupant(NamedTuple):
    """Who sits in some seats of a rollout.

    `params` has a leading axis of groups: the batch is cut into that many equal slices, and slice g is
    played with the parameters at index g. Several seats of one occupant act in one batched call.
    """

    seats: tuple[int, ...]
    agent: Agent
    params: PyTree


class Drawn(NamedTuple):
    """Who of a pool sits in some seats: `member[g]` in group g, -1 where it is the team's present self."""

    seats: tuple[int, ...]
    team: int
    member: Int[Array, " groups"]


class Lineup(NamedTuple):
    """The occupants of one rollout, and which teams learn from it, each with the seats it learns in.

    `drawn` says who was drawn from the pool, for matchmakers that keep account of what came of it.
    """

    occupants: tuple[Occupant, ...]
    learning: tuple[tuple[int, tuple[int, ...]], ...]
    drawn: tuple[Drawn, ...] = ()


class Matchmaker(eqx.Module):
    """Who meets whom while learning: self-play, past selves, fixed opponents, leagues."""

    @abstractmethod
    def check(self, spec: GameSpec, seating: tuple[tuple[int, ...], ...], batch: int) -> None:
        """Raises a `ComityError` if the matchmaker cannot serve these teams."""

    @abstractmethod
    def init(self, policies: tuple[PyTree, ...]) -> PyTree:
        """An empty pool for teams whose policies have these shapes."""

    def observe(
        self,
        pool: PyTree,
        lineups: tuple[Lineup, ...],
        teams: tuple[Team, ...],
        played: tuple[Trajectory, ...],
    ) -> PyTree:
        """The pool after what was played in these lineups; by default as it is."""
        return pool

    def metrics(self, pool: PyTree) -> Metrics:
        """What the pool shows among the metrics of the run; by default nothing."""
        return {}

    @abstractmethod
    def remember(self, pool: PyTree, policies: tuple[PyTree, ...], iteration: Array) -> PyTree:
        """The pool after the iteration."""

    @abstractmethod
    def lineups(self, pool: PyTree, teams: tuple[Team, ...], key: Key) -> tuple[Lineup, ...]:
        """The rollouts of this iteration; their number and shapes are the same in every iteration."""
