"""Scripted players of Negotiation; they see the numbers that any player sees."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Box


class Bounds(eqx.Module):
    """What may be proposed, read off the seat."""

    items: int = eqx.field(static=True)
    most: float = eqx.field(static=True)


class Look(NamedTuple):
    """The parts of an observation, item by item."""

    mine: Float[Array, " items"]
    others: Float[Array, " items"]
    their_proposals: Float[Array, " items"]


def look(bounds: Bounds, obs: Float[Array, " numbers"]) -> Look:
    """Reads the observation: pool, my values, my proposals, the other's values, the other's proposals."""
    rows = obs.reshape(5, bounds.items)
    return Look(rows[1], rows[3], rows[4])


def bounds_of(seat: Seat) -> Bounds:
    """The bounds of a seat in Negotiation."""
    box, seen = seat.action, seat.observation
    fits = isinstance(box, Box) and len(box.shape) == 1 and isinstance(seen, Box)
    if not (fits and isinstance(box, Box) and isinstance(seen, Box) and seen.shape == (5 * box.shape[0],)):
        raise ComityError(f"This player bids in Negotiation, and the seat {seat.name!r} is not in it.")
    return Bounds(box.shape[0], box.high)


def propose(bounds: Bounds, seen: Look, greedy: Bool[Array, ""]) -> Float[Array, " items"]:
    """Everything, or only what is worth more to me than to the other."""
    dear = seen.mine > seen.others
    return jnp.where(greedy | dear, jnp.float32(bounds.most), 0.0)


class Bidder(Scripted):
    """Reads the values and proposes."""

    def check_seat(self, seat: Seat) -> None:
        bounds_of(seat)

    def read_seat(self, seat: Seat) -> Bounds:
        return bounds_of(seat)


class AlwaysCooperate(Bidder):
    """Takes what is worth more to it, and nothing of the rest."""

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return propose(params, look(params, obs), jnp.bool_(False)), carry


class AlwaysDefect(Bidder):
    """Takes as much of everything as it can."""

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return propose(params, look(params, obs), jnp.bool_(True)), carry


class Memory(NamedTuple):
    """What was worth more to me in the round before, and how many rounds revenge still lasts."""

    dear: Bool[Array, " items"]
    anger: Int[Array, ""]


class TitForTat(Bidder):
    """Cooperates; when the other wants a good part of what is dear to it, it takes all for some rounds."""

    revenge: int = 2  # rounds of revenge for a greedy proposal
    tolerance: float = 0.5  # share of the largest proposal that the other may ask of what is dear to it

    def __check_init__(self) -> None:
        require(self.revenge >= 1, "revenge", self.revenge, "at least 1")
        require(0.0 <= self.tolerance <= 1.0, "tolerance", self.tolerance, "between 0 and 1")

    def initial_carry(self, params: PyTree) -> Memory:
        return Memory(jnp.zeros(params.items, jnp.bool_), jnp.int32(0))

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        seen = look(params, obs)
        asked = 10.0 * seen.their_proposals
        cheated = jnp.any(carry.dear & (asked > self.tolerance * params.most))
        anger = jnp.where(cheated, self.revenge, jnp.maximum(carry.anger - 1, 0))
        return propose(params, seen, anger > 0), Memory(seen.mine > seen.others, anger)
