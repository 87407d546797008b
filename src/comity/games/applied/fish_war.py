r"""The great fish war (Levhari and Mirman, 1980): nations fish in one sea, and what is left grows.

.. math:: s' = \Big(s - \sum_j c_j\Big)^\alpha, \qquad u_i = \log c_i

With a discount :math:`\delta` everybody takes :math:`(1 - \alpha\delta) / (n - (n - 1)\alpha\delta)` of the
stock in the Markov-perfect equilibrium, and :math:`(1 - \alpha\delta) / n` where the sum of all returns is
largest.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Bar, Bars, Note, Scene, Stack
from comity.core.spaces import Box
from comity.games.applied.base import own_first, round_over, within
from comity.games.horizon import check_count, check_horizon

SPAWN = 1e-6  # the stock never falls below it, so that logarithms stay numbers


class Sea(NamedTuple):
    """The stock of fish, at most 1, what share of it everybody took last, and the time."""

    stock: Float[Array, ""]
    took: Float[Array, " players"]
    time: Int[Array, ""]


class FishWar(Environment):
    """Nations name the share of the stock that they catch, and see the stock and what all took, own first.

    Where they ask for more than `limit` together, everybody gets the same part of what it asked for.
    """

    players: int = 2  # how many nations
    growth: float = 0.5  # alpha: what is left grows to its power, so small numbers mean fast growth
    least: float = 0.001  # the smallest share that can be taken: the logarithm of nothing is no number
    limit: float = 0.99  # the largest share that all can take together
    horizon: int | None = 30  # seasons in an episode

    def __check_init__(self) -> None:
        check_count("players", self.players, 2)
        require(0.0 < self.growth < 1.0, "growth", self.growth, "between 0 and 1, both left out")
        require(0.0 < self.limit < 1.0, "limit", self.limit, "between 0 and 1, both left out")
        most = self.limit / self.players
        require(0.0 < self.least < most, "least", self.least, f"above 0 and below limit / players, {most:g}")
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "fish-war"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        sees, takes = Box((1 + self.players,), 0.0, 1.0), Box((1,), 0.0, 1.0)
        return tuple(Seat(f"nation-{i + 1}", sees, takes, role="nation") for i in range(self.players))

    def nash_share(self, discount: float) -> float:
        """The share of the stock that everybody takes in the Markov-perfect equilibrium."""
        kept = self.growth * discount
        return (1.0 - kept) / (self.players - (self.players - 1) * kept)

    def optimal_share(self, discount: float) -> float:
        """The share that everybody takes where the sum of their returns is largest."""
        return (1.0 - self.growth * discount) / self.players

    def catch(self, asked: Float[Array, " players"]) -> Float[Array, " players"]:
        """The shares of the stock that are caught by what everybody asks for."""
        return asked * jnp.minimum(1.0, self.limit / asked.sum())

    def reset(self, key: Key) -> tuple[Sea, PerSeat[PyTree]]:
        state = Sea(jnp.float32(1.0), jnp.zeros(self.players), jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Key, state: Sea, actions: PerSeat[PyTree]) -> tuple[Sea, TimeStep]:
        took = self.catch(within(actions, self.least, 1.0))
        rewards = jnp.log(took * state.stock)
        stock = jnp.maximum((state.stock * (1.0 - took.sum())) ** self.growth, SPAWN)
        after = Sea(stock, took, state.time + 1)
        paid = [rewards[i] for i in range(self.players)]
        return after, round_over(self, self._observe(after), paid, after.time)

    def draw(self, state: Sea) -> Scene:
        """The stock, and what everybody took of it in the last season."""
        took = np.asarray(state.took)
        bars = [Bar("fish", ((float(state.stock), palette.SKY),), f"{float(state.stock):.3f}")]
        bars += [
            Bar(((seat.name, colour),), ((float(own), colour),), f"took {own:.1%}" if own else "")
            for seat, colour, own in zip(self.seats, palette.series(self.players), took, strict=True)
        ]
        return Stack((Bars(tuple(bars)), Note(f"season {int(state.time)}")))

    def _observe(self, state: Sea) -> PerSeat[Float[Array, " numbers"]]:
        return tuple(jnp.concatenate([state.stock[None], took]) for took in own_first(state.took))
