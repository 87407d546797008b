"""What all scripted players share: they do not learn, and keep nothing of what they did."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core import spaces
from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.game import GameSpec, Seat
from comity.core.spaces import Space


class Scripted(Agent):
    """A fixed rule. Subclasses say what they need to know of the seat, what they remember and do."""

    learns: ClassVar[bool] = False

    @abstractmethod
    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        """The action, and the memory after it."""

    @abstractmethod
    def check_seat(self, seat: Seat) -> None:
        """Raises a `ComityError` that says why if the rule does not fit the seat."""

    @abstractmethod
    def read_seat(self, seat: Seat) -> PyTree:
        """What the rule must know of the seat: its parameters."""

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        for seat in spec.team(seats):
            self.check_seat(seat)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> PyTree:
        return self.read_seat(spec.seats[seats[0]])

    def policy(self, state: PyTree) -> PyTree:
        return state

    def initial_carry(self, params: PyTree) -> PyTree:
        return ()

    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return Act(*self.rule(params, carry, obs, key), ())

    def update(self, state: PyTree, batch: TeamBatch, context: Context, key: Key) -> tuple[PyTree, Metrics]:
        return state, {}


class SeatSpaces(eqx.Module):
    """What a random player knows: the actions it may draw from, and where it sees which are legal."""

    action: Space = eqx.field(static=True)
    observation: Space = eqx.field(static=True)


class Random(Scripted):
    """Draws evenly from all legal actions, in any game."""

    def check_seat(self, seat: Seat) -> None:
        """Any seat will do."""

    def read_seat(self, seat: Seat) -> SeatSpaces:
        return SeatSpaces(seat.action, seat.observation)

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        legal = spaces.legal(params.observation, obs)
        if legal is None:
            return spaces.sample(params.action, key), carry
        return jax.random.categorical(key, jnp.where(legal, 0.0, -jnp.inf)), carry
