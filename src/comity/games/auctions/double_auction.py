r"""A double auction of one buyer and one seller (Chatterjee and Samuelson, 1983), with private values.

The buyer's value v and the seller's cost c are drawn evenly from 0 to 1. Both name a price at once; if the
bid b is at least the ask a they trade at :math:`k b + (1 - k) a`. For k = 1/2 there is an equilibrium in
which the buyer bids :math:`2v/3 + 1/12` and the seller asks :math:`2c/3 + 1/4`: they trade if and only if v
is at least c + 1/4, and have 27/32 of the gains there are.
"""

from typing import NamedTuple

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


class TradeState(NamedTuple):
    """The value and the cost, the bid and the ask, and whether they traded."""

    worth: Float[Array, "2"]
    prices: Float[Array, "2"]
    trades: Bool[Array, ""]


class DoubleAuctionGame(Environment):
    """A buyer and a seller each name a price once; see the module for the rules and the equilibrium."""

    k: float = 0.5  # where the price lies between the ask and the bid

    def __check_init__(self) -> None:
        require(0.0 <= self.k <= 1.0, "k", self.k, "between 0 and 1")

    @property
    def horizon(self) -> int | None:
        return 1

    @property
    def family(self) -> str:
        return "auction"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def seats(self) -> PerSeat[Seat]:
        unit = Box((1,), 0.0, 1.0)
        return tuple(Seat(name, unit, unit, role=name) for name in ("buyer", "seller"))

    def reset(self, key: Key) -> tuple[TradeState, PerSeat[PyTree]]:
        state = TradeState(jax.random.uniform(key, (2,)), jnp.zeros(2, jnp.float32), jnp.bool_(False))
        return state, self._observe(state)

    def step(self, key: Key, state: TradeState, actions: PerSeat[PyTree]) -> tuple[TradeState, TimeStep]:
        prices = jnp.clip(jnp.stack(actions)[:, 0], 0.0, 1.0).astype(jnp.float32)
        trades = prices[0] >= prices[1]
        price = self.k * prices[0] + (1.0 - self.k) * prices[1]
        gains = (state.worth[0] - price, price - state.worth[1])
        after = TradeState(state.worth, prices, trades)
        return after, TimeStep(
            self._observe(after),
            tuple(jnp.where(trades, gain, 0.0) for gain in gains),
            jnp.bool_(True),
            jnp.bool_(False),
            (jnp.bool_(True),) * 2,
        )

    def view(self, state: TradeState) -> PyTree:
        return state.worth

    def draw(self, state: TradeState) -> Scene:
        """What the unit is worth to both, and the prices that they named."""
        worth, prices = np.asarray(state.worth), np.asarray(state.prices)
        said = f": {prices[0]:.2f} is bid and {prices[1]:.2f} asked, {'a' if state.trades else 'no'} trade"
        bars = [
            Bar(name, ((float(worth[i]), colour),), f"{worth[i]:.2f}{said if prices.any() else ''}")
            for i, (name, colour) in enumerate(zip(("buyer", "seller"), series(2), strict=True))
        ]
        return Bars(tuple(bars))

    def _observe(self, state: TradeState) -> PerSeat[PyTree]:
        return tuple(state.worth[i : i + 1] for i in range(2))
