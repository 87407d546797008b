r"""Cournot's oligopoly (1838): firms choose quantities, and the price falls with what all of them sell.

.. math:: p = \max(0, a - b \sum_j q_j), \qquad u_i = (p - c) q_i

In units of :math:`(a - c) / b` the market is :math:`u_i = q_i (1 - \sum_j q_j)`: a cartel sells 1/2 in all,
firms in equilibrium :math:`n/(n+1)`, and competition that drives the price to cost 1.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import require
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Bar, Bars, Note, Scene, Stack
from comity.core.spaces import Box
from comity.games.applied.base import Rounds, own_first, round_over, within
from comity.games.horizon import check_count, check_horizon


class Cournot(Environment):
    """Firms that sell the same good; each sees what all sold in the last round, its own first."""

    players: int = 2  # how many firms
    intercept: float = 2.0  # the price at which nobody buys
    slope: float = 1.0  # how much the price falls for each unit that is sold
    cost: float = 1.0  # of producing a unit
    horizon: int | None = 20  # rounds in an episode

    def __check_init__(self) -> None:
        check_count("players", self.players, 2)
        require(self.slope > 0, "slope", self.slope, "above 0")
        require(self.cost >= 0, "cost", self.cost, "at least 0")
        require(self.intercept > self.cost, "intercept", self.intercept, f"above the cost, {self.cost:g}")
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "cournot"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        sold, sell = Box((self.players,), 0.0, 1.0), Box((1,), 0.0, 1.0)
        return tuple(Seat(f"firm-{i + 1}", sold, sell, role="firm") for i in range(self.players))

    @property
    def unit(self) -> float:
        """The quantity at which the price is the cost: actions and observations are shares of it."""
        return (self.intercept - self.cost) / self.slope

    @property
    def nash_share(self) -> float:
        """What each firm sells in the equilibrium of one round, as a share of `unit`."""
        return 1.0 / (self.players + 1)

    @property
    def cartel_share(self) -> float:
        """What each firm sells where all together earn most."""
        return 0.5 / self.players

    def profit(self, shares: Float[Array, " players"]) -> Float[Array, " players"]:
        """What each firm earns in a round by what all of them sell."""
        sold = shares * self.unit
        price = jnp.maximum(self.intercept - self.slope * sold.sum(), 0.0)
        return (price - self.cost) * sold

    def reset(self, key: Key) -> tuple[Rounds, PerSeat[PyTree]]:
        state = Rounds(jnp.int32(0), jnp.zeros(self.players))
        return state, own_first(state.last)

    def step(self, key: Key, state: Rounds, actions: PerSeat[PyTree]) -> tuple[Rounds, TimeStep]:
        shares = within(actions, 0.0, 1.0)
        profits = self.profit(shares)
        after = Rounds(state.time + 1, shares)
        rewards = [profits[i] for i in range(self.players)]
        return after, round_over(self, own_first(shares), rewards, after.time)

    def cooperation(
        self, state: Rounds, actions: PerSeat[PyTree], next_state: Rounds
    ) -> PerSeat[Cooperation]:
        """1 for the cartel's share or less, 0 for the equilibrium's or more, straight between."""
        kept = (self.nash_share - next_state.last) / (self.nash_share - self.cartel_share)
        kept = jnp.clip(kept, 0.0, 1.0)
        return tuple(Cooperation(kept[i], jnp.float32(1.0)) for i in range(self.players))

    def draw(self, state: Rounds) -> Scene:
        """What each firm sold in the last round and earned by it, and the price."""
        shares = np.asarray(state.last)
        profits = np.asarray(self.profit(jnp.asarray(shares)))
        price = max(self.intercept - self.slope * float(shares.sum()) * self.unit, 0.0)
        bars = tuple(
            Bar(
                ((seat.name, colour),),
                ((float(share), colour),),
                f"sold {share * self.unit:.2f}, earned {own:+.2f}",
            )
            for seat, colour, share, own in zip(
                self.seats, palette.series(self.players), shares, profits, strict=True
            )
        )
        note = (
            f"price {price:.2f}, cost {self.cost:g}; each sells {self.nash_share * self.unit:.2f} in "
            f"equilibrium, {self.cartel_share * self.unit:.2f} as a cartel"
        )
        return Stack((Bars(bars), Note(note if int(state.time) else "nothing was sold yet")))
