"""Scripted players of the Coin Game; they see the planes that any player sees."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Box, Discrete


class Grid(eqx.Module):
    """The size of the grid, read off the seat."""

    height: int = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def after(self, cell: Int[Array, ""]) -> Int[Array, " 4"]:
        """The cells that the four moves lead to."""
        x, y = cell % self.width, cell // self.width
        xs = (x + jnp.asarray([1, -1, 0, 0])) % self.width
        ys = (y + jnp.asarray([0, 0, 1, -1])) % self.height
        return ys * self.width + xs

    def distance(self, cells: Int[Array, " n"], to: Int[Array, ""]) -> Int[Array, " n"]:
        """Steps from each cell to another on the torus."""
        dx = jnp.abs(cells % self.width - to % self.width)
        dy = jnp.abs(cells // self.width - to // self.width)
        return jnp.minimum(dx, self.width - dx) + jnp.minimum(dy, self.height - dy)


class Look(NamedTuple):
    """What the planes say: where I am, where the coin is, whether it is mine."""

    me: Int[Array, ""]
    coin: Int[Array, ""]
    mine: Bool[Array, ""]


def look(obs: Float[Array, "planes height width"]) -> Look:
    """Reads the planes."""
    players = obs.shape[0] // 2
    flat = obs.reshape(obs.shape[0], -1)
    coins = flat[players:]
    return Look(jnp.argmax(flat[0]), jnp.argmax(coins.sum(axis=0)), coins[0].sum() > 0)


def grid_of(seat: Seat) -> Grid:
    """The grid of a seat in the Coin Game."""
    box, action = seat.observation, seat.action
    if not (isinstance(box, Box) and len(box.shape) == 3 and isinstance(action, Discrete) and action.n == 4):
        raise ComityError(f"This player walks in the Coin Game, and the seat {seat.name!r} is not in it.")
    return Grid(box.shape[1], box.shape[2])


def walk(grid: Grid, seen: Look, greedy: Bool[Array, ""], key: Key) -> Int[Array, ""]:
    """A shortest way to the coin if greedy or if it is mine, else as far from it as one can get."""
    away = grid.distance(grid.after(seen.me), seen.coin)
    wanted = greedy | seen.mine
    good = jnp.where(wanted, away == away.min(), away == away.max())
    return jax.random.categorical(key, jnp.where(good, 0.0, -jnp.inf))


class CoinPlayer(Scripted):
    """Looks at the grid and walks."""

    def check_seat(self, seat: Seat) -> None:
        grid_of(seat)

    def read_seat(self, seat: Seat) -> Grid:
        return grid_of(seat)


class AlwaysCooperate(CoinPlayer):
    """Takes its own coins by the shortest way and keeps away from the others'."""

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return walk(params, look(obs), jnp.bool_(False), key), carry


class AlwaysDefect(CoinPlayer):
    """Takes every coin by the shortest way."""

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return walk(params, look(obs), jnp.bool_(True), key), carry


class Memory(NamedTuple):
    """My coin's cell in the step before (-1: it was not mine), and how many steps revenge still lasts."""

    my_coin: Int[Array, ""]
    anger: Int[Array, ""]


class TitForTat(CoinPlayer):
    """Cooperates; when another takes its coin, it takes every coin for a number of steps."""

    revenge: int = 5  # steps of revenge for a stolen coin

    def __check_init__(self) -> None:
        require(self.revenge >= 1, "revenge", self.revenge, "at least 1")

    def initial_carry(self, params: PyTree) -> Memory:
        return Memory(jnp.int32(-1), jnp.int32(0))

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        seen = look(obs)
        players = obs.shape[0] // 2
        others = obs.reshape(obs.shape[0], -1)[1:players].sum(axis=0)
        # A coin is taken by whoever stands on its cell after the move.
        stolen = (carry.my_coin >= 0) & (others[jnp.maximum(carry.my_coin, 0)] > 0)
        anger = jnp.where(stolen, self.revenge, jnp.maximum(carry.anger - 1, 0))
        my_coin = jnp.where(seen.mine, seen.coin, -1).astype(jnp.int32)
        return walk(params, seen, anger > 0, key), Memory(my_coin, anger)
