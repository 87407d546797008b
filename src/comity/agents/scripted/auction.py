"""Scripted bidders: the truthful, those who shade their bids, and those of an equilibrium."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec, Seat

ROLES = ("bidder", "buyer", "seller")


class Bidder(Scripted):
    """What all share: they see what the item is worth to them, and name a number between 0 and 1."""

    def check_seat(self, seat: Seat) -> None:
        if seat.role not in ROLES:
            raise ComityError(f"The seat {seat.name!r} is no bidder, buyer or seller.")

    def read_seat(self, seat: Seat) -> Float[Array, ""]:
        return jnp.float32(seat.role == "seller")


class Truthful(Bidder):
    """Names what the item is worth to it: dominant where the second price is paid."""

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return obs, carry


class Shading(Bidder):
    """Bids a part of what the item is worth to it, or asks so much more of what is left to 1."""

    part: float = 0.5  # of the value

    def __check_init__(self) -> None:
        require(0.0 <= self.part <= 1.0, "part", self.part, "between 0 and 1")

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return jnp.where(params > 0, 1.0 - self.part * (1.0 - obs), self.part * obs), carry


class EquilibriumBidder(Bidder):
    """The symmetric equilibrium of a sealed-bid auction, or the linear one of a double auction with k =
    1/2."""

    price: Literal["first", "second", "all-pay"] = "first"  # what is paid in a sealed-bid auction

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> tuple[Array, Array]:
        seat = spec.seats[seats[0]]
        return jnp.int32(ROLES.index(seat.role)), jnp.int32(len(spec.seats))

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        role, count = params
        bidders = count.astype(jnp.float32)
        power = bidders if self.price == "all-pay" else jnp.float32(1.0)
        shaded = obs if self.price == "second" else (bidders - 1.0) / bidders * obs**power
        buys = jnp.minimum(obs, 2.0 * obs / 3.0 + 1.0 / 12.0)
        sells = jnp.maximum(obs, 2.0 * obs / 3.0 + 1.0 / 4.0)
        return jnp.where(role == 0, shaded, jnp.where(role == 1, buys, sells)), carry
