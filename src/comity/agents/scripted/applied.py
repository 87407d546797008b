"""Scripted players of applied games; they see what any player sees."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Box, Discrete


class Market(eqx.Module):
    """How many there are, read off the seat."""

    players: int = eqx.field(static=True)


class Firm(Scripted):
    """A firm in Cournot's oligopoly: the equilibrium's quantity, the cartel's, or that of competition."""

    quantity: Literal["nash", "cartel", "competitive", "best-reply"] = "nash"  # best-reply: to the last round

    def check_seat(self, seat: Seat) -> None:
        _sellers(seat)

    def read_seat(self, seat: Seat) -> Market:
        return Market(_sellers(seat))

    def rule(
        self, params: Market, carry: PyTree, obs: Float[Array, " players"], key: Key
    ) -> tuple[PyTree, PyTree]:
        shares = {
            "nash": 1.0 / (params.players + 1),
            "cartel": 0.5 / params.players,
            "competitive": 1.0 / params.players,
        }
        if self.quantity == "best-reply":
            share = jnp.maximum(0.5 * (1.0 - obs[1:].sum()), 0.0)
        else:
            share = jnp.float32(shares[self.quantity])
        return share[None], carry


class Fisher(Scripted):
    """Takes the same share of the stock in every season, the rule that is optimal in the great fish war."""

    share: float = 0.25  # of the stock

    def __check_init__(self) -> None:
        require(0.0 < self.share <= 1.0, "share", self.share, "above 0 and at most 1")

    def check_seat(self, seat: Seat) -> None:
        match seat.observation, seat.action:
            case Box(shape=(numbers,), low=0.0, high=1.0), Box(shape=(1,)) if numbers >= 3:
                return
        raise ComityError(f"This player shares a stock, and the seat {seat.name!r} is in another game.")

    def read_seat(self, seat: Seat) -> tuple[()]:
        return ()

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return jnp.full(1, self.share), carry


class Driver(Scripted):
    """Takes the way that was quickest yesterday, and otherwise stays with its own."""

    habit: float = 0.8  # how likely it stays with its way, so that not all change at once

    def __check_init__(self) -> None:
        require(0.0 <= self.habit <= 1.0, "habit", self.habit, "between 0 and 1")

    def check_seat(self, seat: Seat) -> None:
        match seat.observation, seat.action:
            case (Discrete(n=known), Box(shape=(ways,))), Discrete(n=choices) if known - 1 == ways == choices:
                return
        raise ComityError(f"This player chooses a way, and the seat {seat.name!r} is in another game.")

    def read_seat(self, seat: Seat) -> tuple[()]:
        return ()

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        own, latency = obs
        quickest = jnp.argmin(latency).astype(jnp.int32)
        stays = (jax.random.uniform(key) < self.habit) & (own > 0)
        return jnp.where(stays, own - 1, quickest), carry


def _sellers(seat: Seat) -> int:
    match seat.observation, seat.action:
        case Box(shape=(players,), low=0.0, high=1.0), Box(shape=(1,), low=0.0, high=1.0) if players >= 2:
            return players
    raise ComityError(f"This player sells a quantity, and the seat {seat.name!r} is in another game.")
