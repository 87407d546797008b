r"""A sealed-bid auction with private values (Vickrey, 1961): everybody sees its own value and bids once.

Values are drawn evenly from 0 to 1. The highest bid wins, by lot among equal ones, and the winner pays its
bid (`first`) or the second highest (`second`); in an all-pay auction everybody pays its bid. The symmetric
equilibria for n bidders are

.. math:: b(v) = \frac{n-1}{n} v,\quad b(v) = v,\quad b(v) = \frac{n-1}{n} v^n

and the seller's revenue in each is (n - 1)/(n + 1) on average.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.palette import series
from comity.core.scene import Bar, Bars, Scene
from comity.core.spaces import Box

Price = Literal["first", "second", "all-pay"]


class AuctionState(NamedTuple):
    """What the item is worth to each, what each bid, who won, and whether it is over."""

    values: Float[Array, " seat"]
    bids: Float[Array, " seat"]
    wins: Bool[Array, " seat"]
    over: Bool[Array, ""]


class SealedBidAuction(Environment):
    """One item, one bid each; see the module for the rules and equilibria."""

    bidders: int = 2  # how many there are
    price: Price = "first"  # what is paid: the winner's bid, the second highest, or everybody's own

    def __check_init__(self) -> None:
        require(2 <= self.bidders <= 1000, "bidders", self.bidders, "from 2 to 1000")
        known = self.price in ("first", "second", "all-pay")
        require(known, "price", self.price, "first, second or all-pay")

    @property
    def horizon(self) -> int | None:
        return 1

    @property
    def family(self) -> str:
        return "auction"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        unit = Box((1,), 0.0, 1.0)
        return tuple(Seat(f"bidder-{i + 1}", unit, unit, role="bidder") for i in range(self.bidders))

    @property
    def revenue(self) -> float:
        """What the seller earns on average in equilibrium."""
        return (self.bidders - 1) / (self.bidders + 1)

    def reset(self, key: Key) -> tuple[AuctionState, PerSeat[PyTree]]:
        values = jax.random.uniform(key, (self.bidders,))
        nothing = jnp.zeros(self.bidders, jnp.float32)
        state = AuctionState(values, nothing, jnp.zeros(self.bidders, jnp.bool_), jnp.bool_(False))
        return state, self._observe(state)

    def step(self, key: Key, state: AuctionState, actions: PerSeat[PyTree]) -> tuple[AuctionState, TimeStep]:
        bids = jnp.clip(jnp.stack(actions)[:, 0], 0.0, 1.0).astype(jnp.float32)
        lots = jax.random.uniform(key, (self.bidders,))
        winner = jnp.argmax(jnp.where(bids == bids.max(), lots, -1.0))
        wins = jnp.arange(self.bidders) == winner
        if self.price == "all-pay":
            paid = bids
        else:
            second = jnp.where(wins, -1.0, bids).max()
            paid = jnp.where(wins, bids if self.price == "first" else second, 0.0)
        reward = jnp.where(wins, state.values, 0.0) - paid
        after = AuctionState(state.values, bids, wins, jnp.bool_(True))
        alive = (jnp.bool_(True),) * self.bidders
        return after, TimeStep(self._observe(after), tuple(reward), jnp.bool_(True), jnp.bool_(False), alive)

    def view(self, state: AuctionState) -> PyTree:
        return state.values

    def draw(self, state: AuctionState) -> Scene:
        """What the item is worth to each, and how much of it was bid."""
        values, bids = np.asarray(state.values), np.asarray(state.bids)
        bars = []
        for i, colour in enumerate(series(self.bidders)):
            said = f" bids {bids[i]:.2f}{' and wins' if state.wins[i] else ''}" if state.over else ""
            bars.append(Bar(f"bidder-{i + 1}", ((float(values[i]), colour),), f"{values[i]:.2f}{said}"))
        return Bars(tuple(bars))

    def _observe(self, state: AuctionState) -> PerSeat[PyTree]:
        return tuple(state.values[i : i + 1] for i in range(self.bidders))


def equilibrium_bid(value: Float[Array, "*any"], bidders: int, price: Price) -> Float[Array, "*any"]:
    """What a bidder of some value bids in the symmetric equilibrium."""
    if price == "second":
        return value
    return (bidders - 1) / bidders * (value if price == "first" else value**bidders)
