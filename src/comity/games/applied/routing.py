r"""Routing (a congestion game, Rosenthal 1973): drivers choose ways and slow each other down.

An edge takes :math:`a_e + b_e x_e`, where :math:`x_e` is the share of the drivers on it. In Pigou's network
selfish drivers take 4/3 of the time of the best flow; in Braess' a new road makes everybody slower.
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
from comity.core.spaces import Box, Discrete
from comity.games.applied.base import round_over
from comity.games.applied.network import Network, read_network
from comity.games.horizon import check_count, check_horizon


class Day(NamedTuple):
    """The time, what way everybody took (-1 before the first day), and how long each way takes."""

    time: Int[Array, ""]
    took: Int[Array, " drivers"]
    latency: Float[Array, " routes"]


class Routing(Environment):
    """Drivers who go the same trip every day; each sees how long every way took, and its own."""

    players: int = 8  # how many drivers
    network: str = (
        "braess-shortcut"  # pigou, braess, braess-shortcut, or a JSON file with edges and latencies
    )
    routes: int = 8  # the quickest ways that there are to choose from
    horizon: int | None = 20  # days in an episode

    def __check_init__(self) -> None:
        check_count("players", self.players, 2)
        require(1 <= self.routes <= 64, "routes", self.routes, "between 1 and 64")
        read_network(self.network, self.routes)
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "routing"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def roads(self) -> Network:
        """The network and its ways."""
        return read_network(self.network, self.routes)

    @property
    def seats(self) -> PerSeat[Seat]:
        ways = len(self.roads.routes)
        action = Discrete(ways, tuple(self.roads.name(i) for i in range(ways)))
        seen = (Discrete(ways + 1), Box((ways,)))
        return tuple(Seat(f"driver-{i + 1}", seen, action, role="driver") for i in range(self.players))

    def latencies(self, took: Int[Array, " drivers"]) -> Float[Array, " routes"]:
        """How long each way takes when the drivers take these."""
        uses = jnp.asarray(self.roads.uses, jnp.float32)
        there = (took >= 0).astype(jnp.float32)
        load = (uses[took] * there[:, None]).sum(axis=0) / self.players
        edges = (
            jnp.asarray(self.roads.constants, jnp.float32)
            + jnp.asarray(self.roads.slopes, jnp.float32) * load
        )
        return uses @ edges

    def reset(self, key: Key) -> tuple[Day, PerSeat[PyTree]]:
        took = jnp.full(self.players, -1, jnp.int32)
        state = Day(jnp.int32(0), took, self.latencies(took))
        return state, self._observe(state)

    def step(self, key: Key, state: Day, actions: PerSeat[PyTree]) -> tuple[Day, TimeStep]:
        took = jnp.stack([action.astype(jnp.int32) for action in actions])
        latency = self.latencies(took)
        after = Day(state.time + 1, took, latency)
        paid = [-latency[took[i]] for i in range(self.players)]
        return after, round_over(self, self._observe(after), paid, after.time)

    def draw(self, state: Day) -> Scene:
        """How many take each way, and how long it takes."""
        took, latency = np.asarray(state.took), np.asarray(state.latency)
        colours = palette.series(len(latency))
        bars = tuple(
            Bar(
                ((self.roads.name(i), colour),),
                ((float((took == i).sum()), colour),),
                f"{int((took == i).sum())} drivers, {float(latency[i]):.2f} each",
            )
            for i, colour in enumerate(colours)
        )
        on_way = took[took >= 0]
        mean = f"{float(latency[on_way].mean()):.3f}" if len(on_way) else "nobody drives yet"
        return Stack((Bars(bars, most=float(self.players)), Note(f"mean latency {mean}")))

    def _observe(self, state: Day) -> PerSeat[PyTree]:
        return tuple((state.took[i] + 1, state.latency) for i in range(self.players))
