"""Level-based foraging (Albrecht and Ramamoorthy, 2013, arXiv:1506.01170): food that takes several to lift.

Agents and food have levels. An agent moves, stays, or loads: food is taken when the levels of the agents
beside it that load add up to its level at least, and each of them is paid by its share of the level. All food
of an episode is worth 1 together. Agents that want the same cell stay where they are; nobody walks onto food.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Grid, Legend, Piece, Scene, Stack
from comity.core.spaces import Box, Discrete
from comity.games.horizon import MOST, check_horizon

ACTIONS = ("stay", "north", "south", "west", "east", "load")
MOVES = np.asarray([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1], [0, 0]])
LOAD = 5
FOOD_COLOUR = "#6b8e23"


class ForagingState(NamedTuple):
    """Cells (row, column) and levels; food that was taken has level 0."""

    agents: Int[Array, "agents 2"]
    levels: Int[Array, " agents"]
    food: Int[Array, "food 2"]
    food_levels: Int[Array, " food"]
    worth: Int[Array, ""]
    time: Int[Array, ""]


class Foraging(Environment):
    """Level-based foraging, seen in full: every food and every agent as row, column and level.

    Answer: with `together` every food needs all agents, and a team that coordinates earns 1 in an episode.
    """

    width: int = 6  # columns
    height: int = 6  # rows
    players: int = 2  # how many agents
    food: int = 2  # how much food
    max_level: int = 2  # the highest level of an agent
    together: bool = False  # whether every food needs all agents
    penalty: float = 0.0  # the price of loading in vain
    horizon: int | None = 50  # steps in an episode

    def __check_init__(self) -> None:
        for name in ("width", "height"):
            require(3 <= getattr(self, name) <= MOST, name, getattr(self, name), f"between 3 and {MOST:,}")
        for name in ("players", "food", "max_level"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        room = len(self._food_cells())
        require(self.food <= room, "food", self.food, f"at most {room} in this field")
        free = self.width * self.height - self.food
        require(self.players <= free, "players", self.players, f"at most {free} in this field")
        require(self.penalty >= 0, "penalty", self.penalty, "at least 0")
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "foraging"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        seen = Box((3 * (self.food + self.players),))
        return tuple(Seat(f"player-{i + 1}", seen, Discrete(6, ACTIONS)) for i in range(self.players))

    def reset(self, key: Key) -> tuple[ForagingState, PerSeat[PyTree]]:
        food_key, place_key, level_key, food_level_key = jax.random.split(key, 4)
        cells = jnp.asarray(self._food_cells(), jnp.int32)
        food = jax.random.permutation(food_key, cells)[: self.food]
        taken = jnp.zeros((self.height, self.width)).at[food[:, 0], food[:, 1]].set(1.0).reshape(-1)
        # Free cells in a random order: taken ones come last.
        order = jnp.argsort(jax.random.uniform(place_key, taken.shape) + 2.0 * taken)[: self.players]
        agents = jnp.stack([order // self.width, order % self.width], axis=1).astype(jnp.int32)
        levels = jax.random.randint(level_key, (self.players,), 1, self.max_level + 1)
        highest = levels.sum()
        if self.together:
            food_levels = jnp.full(self.food, highest, jnp.int32)
        else:
            food_levels = jax.random.randint(food_level_key, (self.food,), 1, highest + 1)
        state = ForagingState(agents, levels, food, food_levels, food_levels.sum(), jnp.int32(0))
        return state, self._observe(state)

    def step(
        self, key: Key, state: ForagingState, actions: PerSeat[PyTree]
    ) -> tuple[ForagingState, TimeStep]:
        chosen = jnp.stack([action.astype(jnp.int32) for action in actions])
        agents = self._move(state, chosen)
        beside = jnp.abs(agents[:, None] - state.food[None]).sum(axis=-1) == 1
        loads = beside & (chosen == LOAD)[:, None] & (state.food_levels > 0)[None]
        lift = jnp.where(loads, state.levels[:, None], 0)
        taken = (lift.sum(axis=0) >= state.food_levels) & (state.food_levels > 0)
        levels = lift.astype(jnp.float32)
        share = levels / jnp.maximum(levels.sum(axis=0, keepdims=True), 1.0)
        worth = jnp.where(taken, state.food_levels, 0).astype(jnp.float32)[None]
        paid = (share * worth).sum(axis=1) / state.worth.astype(jnp.float32)
        vain = (chosen == LOAD) & ~(loads & taken[None]).any(axis=1)
        paid = paid - self.penalty * vain.astype(jnp.float32)
        after = state._replace(
            agents=agents, food_levels=jnp.where(taken, 0, state.food_levels), time=state.time + 1
        )
        over = (after.food_levels == 0).all()
        late = jnp.bool_(False) if self.horizon is None else after.time >= self.horizon
        rewards = tuple(paid[i] for i in range(self.players))
        alive = (jnp.bool_(True),) * self.players
        return after, TimeStep(self._observe(after), rewards, over, late & ~over, alive)

    def draw(self, state: ForagingState) -> Scene:
        """The field: discs are agents and diamonds food, with their levels."""
        colours = palette.series(self.players)
        pieces = [
            Piece(row, column, FOOD_COLOUR, f"{level}", "diamond", f"*{level}", size=0.7)
            for (row, column), level in zip(
                np.asarray(state.food).tolist(), np.asarray(state.food_levels).tolist(), strict=True
            )
            if level > 0
        ]
        levels = np.asarray(state.levels).tolist()
        for i, (row, column) in enumerate(np.asarray(state.agents).tolist()):
            pieces.append(
                Piece(row, column, colours[i], f"{levels[i]}", text=f"{chr(ord('A') + i % 26)}{levels[i]}")
            )
        entries = [(FOOD_COLOUR, "food (*) with its level")]
        entries += [
            (colour, f"{seat.name}, level {level}")
            for seat, colour, level in zip(self.seats, colours, levels, strict=True)
        ]
        return Stack((Grid(self.height, self.width, tuple(pieces)), Legend(tuple(entries))))

    def _move(self, state: ForagingState, chosen: Int[Array, " agents"]) -> Int[Array, "agents 2"]:
        """Where everybody is after the moves: whoever would leave the field, meet food or another stays."""
        wanted = state.agents + jnp.asarray(MOVES, jnp.int32)[chosen]
        size = jnp.asarray([self.height, self.width], jnp.int32)
        inside = ((wanted >= 0) & (wanted < jnp.broadcast_to(size, wanted.shape))).all(axis=1)
        on_food = ((wanted[:, None] == state.food[None]).all(axis=-1) & (state.food_levels > 0)[None]).any(
            axis=1
        )
        wanted = jnp.where((inside & ~on_food)[:, None], wanted, state.agents)
        others = ~jnp.eye(self.players, dtype=jnp.bool_)

        def settle(wanted: Int[Array, "agents 2"], _: None) -> tuple[Int[Array, "agents 2"], None]:
            same = (wanted[:, None] == wanted[None]).all(axis=-1) & others
            return jnp.where(same.any(axis=1)[:, None], state.agents, wanted), None

        # Staying may block another, who then stays too: at most as many rounds as there are agents.
        return jax.lax.scan(settle, wanted, None, length=self.players)[0]

    def _observe(self, state: ForagingState) -> PerSeat[Float[Array, " numbers"]]:
        """Food first, then oneself, then the others; food that was taken is not anywhere (-1, -1, 0)."""
        there = (state.food_levels > 0)[:, None]
        food = jnp.concatenate([jnp.where(there, state.food, -1), state.food_levels[:, None]], axis=1)
        agents = jnp.concatenate([state.agents, state.levels[:, None]], axis=1)
        seen = []
        for i in range(self.players):
            rows = jnp.concatenate([food, jnp.roll(agents, -i, axis=0)])
            seen.append(rows.reshape(-1).astype(jnp.float32))
        return tuple(seen)

    def _food_cells(self) -> list[tuple[int, int]]:
        """Cells off the border, no two side by side: food can be reached from all sides."""
        return [
            (row, column)
            for row in range(1, self.height - 1)
            for column in range(1, self.width - 1)
            if (row + column) % 2 == 0
        ]
