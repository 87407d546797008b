"""The Coin Game (Lerer and Peysakhovich, 2018, arXiv:1707.01068), as the opponent-shaping papers play it.

Players walk on a torus in four directions; there is no way to stay. There is one coin at a time, and it
belongs to one player; the owner changes at each pickup, and the first is random. A coin that is taken
comes back at once on a cell where nobody stands. Players may stand on one cell. Whoever steps on the coin
gets 1; if another than its owner takes it, the owner pays 2.

This is the version behind the published numbers: the text of some papers says that the owner pays 3,
their code and figures use 2. The game with two coins on the board or with an action to stay is another.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import require
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Grid, Note, Piece, Scene, Stack
from comity.core.spaces import Box, Discrete
from comity.games.horizon import check_count, check_horizon

MOVES = ("right", "left", "down", "up")
_DX = np.asarray([1, -1, 0, 0], np.int32)
_DY = np.asarray([0, 0, 1, -1], np.int32)


class CoinState(NamedTuple):
    """Cells are counted row by row."""

    players: Int[Array, " players"]
    coin: Int[Array, ""]
    owner: Int[Array, ""]
    time: Int[Array, ""]


class CoinGame(Environment):
    """Each seat sees planes of the grid: itself, the others, its own coin, the others' coins."""

    width: int = 3  # columns of the grid
    height: int = 3  # rows of the grid
    players: int = 2  # how many play; the coin belongs to them in turn
    reward: float = 1.0  # what a coin is worth to whoever takes it
    penalty: float = 2.0  # what the owner pays when another takes its coin
    horizon: int | None = 50  # steps in an episode

    def __check_init__(self) -> None:
        require(self.players >= 2, "players", self.players, "at least 2")
        for name, size in (("width", self.width), ("height", self.height)):
            check_count(name, size, 1)
        cells = self.width * self.height
        enough = f"large enough that a coin finds a free cell: more than {self.players} cells"
        require(cells > self.players, "width x height", f"{self.width} x {self.height}", enough)
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "coin"

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def seats(self) -> PerSeat[Seat]:
        observation = Box((2 * self.players, self.height, self.width), 0.0, 1.0)
        action = Discrete(4, MOVES)
        return tuple(Seat(f"player {i + 1}", observation, action) for i in range(self.players))

    def reset(self, key: Key) -> tuple[CoinState, PerSeat[PyTree]]:
        place_key, coin_key, owner_key = jax.random.split(key, 3)
        cells = self.width * self.height
        players = jax.random.randint(place_key, (self.players,), 0, cells)
        owner = jax.random.randint(owner_key, (), 0, self.players)
        state = CoinState(players, self._free_cell(players, coin_key), owner, jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Key, state: CoinState, actions: PerSeat[PyTree]) -> tuple[CoinState, TimeStep]:
        move = jnp.stack(actions).astype(jnp.int32)
        x = (state.players % self.width + jnp.asarray(_DX)[move]) % self.width
        y = (state.players // self.width + jnp.asarray(_DY)[move]) % self.height
        players = y * self.width + x
        takes = players == state.coin
        owns = jnp.arange(self.players) == state.owner
        stolen = jnp.any(takes & ~owns)
        rewards = self.reward * takes.astype(jnp.float32) - self.penalty * (owns & stolen).astype(jnp.float32)
        taken = jnp.any(takes)
        state = CoinState(
            players,
            jnp.where(taken, self._free_cell(players, key), state.coin),
            jnp.where(taken, (state.owner + 1) % self.players, state.owner),
            state.time + 1,
        )
        step = TimeStep(
            obs=self._observe(state),
            reward=tuple(rewards),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False) if self.horizon is None else state.time >= self.horizon,
            alive=(jnp.bool_(True),) * self.players,
        )
        return state, step

    def cooperation(
        self, state: CoinState, actions: PerSeat[PyTree], next_state: CoinState
    ) -> PerSeat[Cooperation]:
        """Every coin that a seat takes is a choice, and its own ones are cooperative."""
        takes = (next_state.players == state.coin).astype(jnp.float32)
        owns = (jnp.arange(self.players) == state.owner).astype(jnp.float32)
        return tuple(Cooperation(takes[i] * owns[i], takes[i]) for i in range(self.players))

    def locate(self, state: CoinState) -> Float[Array, "players 2"]:
        places = jnp.stack([state.players // self.width, state.players % self.width], axis=-1)
        return places.astype(jnp.float32)

    def draw(self, state: CoinState) -> Scene:
        """The torus: a disc for each player, a ring for the coin in its owner's colour."""
        colours = palette.series(self.players)
        coin, owner = int(state.coin), int(state.owner)
        pieces = [
            Piece(
                coin // self.width, coin % self.width, colours[owner], "$", "ring", f"${owner + 1}", size=0.5
            )
        ]
        for i, cell in enumerate(np.asarray(state.players).tolist()):
            pieces.append(Piece(cell // self.width, cell % self.width, colours[i], f"{i + 1}"))
        coins = Note((("$ ", colours[owner]), (f"the coin is player {owner + 1}'s", palette.LABEL)))
        return Stack((Grid(self.height, self.width, tuple(pieces)), coins))

    def _free_cell(self, players: Int[Array, " players"], key: Key) -> Int[Array, ""]:
        """A cell where nobody stands, each with the same probability."""
        cells = jnp.arange(self.width * self.height)
        free = jnp.all(cells[None, :] != players[:, None], axis=0)
        count = jnp.cumsum(free)
        chosen = jax.random.randint(key, (), 0, count[-1])
        return jnp.argmax(count > chosen).astype(jnp.int32)

    def _observe(self, state: CoinState) -> PerSeat[Float[Array, "planes height width"]]:
        cells = jnp.arange(self.width * self.height)
        bodies = (cells[None, :] == state.players[:, None]).astype(jnp.float32)
        coin = (cells == state.coin).astype(jnp.float32)
        coins = (jnp.arange(self.players) == state.owner).astype(jnp.float32)[:, None] * coin[None, :]
        shape = (2 * self.players, self.height, self.width)
        return tuple(
            jnp.concatenate([jnp.roll(bodies, -i, axis=0), jnp.roll(coins, -i, axis=0)]).reshape(shape)
            for i in range(self.players)
        )
