"""What all scripted players share: they do not learn, and keep nothing of what they did."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.spaces import Space
from comity.core.types import Agent, Experience, Seat


class Scripted(Agent):
    """A fixed rule. Subclasses say what they need to know of the seat, what they remember and do."""

    learns: ClassVar[bool] = False

    @abstractmethod
    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        """The action, and the memory after it."""

    def params(self, state: PyTree) -> PyTree:
        return state

    def start(self, params: PyTree) -> PyTree:
        return ()

    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, PyTree]:
        action, carry = self.rule(params, carry, obs, key)
        return action, carry, ()

    def update(self, state: PyTree, experience: Experience, key: Key) -> tuple[PyTree, dict[str, Array]]:
        return state, {}


class SeatSpaces(eqx.Module):
    """What a random player knows: the actions it may draw from, and where it sees which are legal."""

    action: Space = eqx.field(static=True)
    observation: Space = eqx.field(static=True)


class Random(Scripted):
    """Draws evenly from all legal actions, in any game."""

    def check(self, seat: Seat) -> None:
        """Any seat will do."""

    def init(self, key: Key, seat: Seat) -> SeatSpaces:
        return SeatSpaces(seat.action, seat.observation)

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        legal = spaces.legal(params.observation, obs)
        if legal is None:
            return spaces.sample(params.action, key), carry
        return jax.random.categorical(key, jnp.where(legal, 0.0, -jnp.inf)), carry
