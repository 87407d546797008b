"""Scripted players of Commons Harvest; they see the window of planes that any player sees.

The planes are those of `comity.games.commons_harvest.PLANES`, in that order.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Bits, Discrete

PLANES = 12  # those that every player sees; identity planes may follow
ROW, COLUMN = ROW_COLUMN = (9, 5)  # where the player itself is in its window
OUTSIDE, WALL, GRASS, APPLE, PLAYERS, READY = 0, 1, 2, 4, (5, 6, 7, 8), 10
FORWARD, BACKWARD, LEFT, RIGHT, TURN_LEFT, TURN_RIGHT, ZAP = range(1, 8)
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))  # rows and columns by which forward, backward, left and right move
# The cells of the beam's three lines, each from the shooter on.
BEAM = (((-1, 0), (-2, 0), (-3, 0)), ((0, -1), (-1, -1), (-2, -1)), ((0, 1), (-1, 1), (-2, 1)))
_NEAR = tuple((row, column) for row in range(-2, 3) for column in range(-2, 3) if 0 < row**2 + column**2 <= 4)


def plane(window: Int[Array, "11 11"], *which: int) -> Bool[Array, "11 11"]:
    """Where one of some planes is set."""
    bits = sum(1 << index for index in which)
    return window.astype(jnp.int32) & bits != 0


def apples_near(apples: Bool[Array, "11 11"]) -> Int[Array, "11 11"]:
    """How many apples in sight each cell has within two steps of it."""
    padded = jnp.pad(apples.astype(jnp.int32), 2)
    return sum(
        (padded[2 + row : 13 + row, 2 + column : 13 + column] for row, column in _NEAR),
        jnp.zeros((11, 11), jnp.int32),
    )


def in_line(others: Bool[Array, "11 11"], targets: Bool[Array, "11 11"]) -> Bool[Array, ""]:
    """Whether a beam would hit a target: the first player along one of its lines."""
    rows, columns = np.moveaxis(ROW_COLUMN + np.asarray(BEAM), -1, 0)
    somebody = others[rows, columns]
    first = somebody & (jnp.cumsum(somebody, axis=1) == 1)
    return jnp.any(first & targets[rows, columns])


class Harvester(Scripted):
    """Walks to the nearest apple that it wants, and looks around if it sees none."""

    zaps: ClassVar[bool] = False

    def check_seat(self, seat: Seat) -> None:
        seen = seat.observation
        planes = isinstance(seen, Bits) and seen.shape[0] >= PLANES and seen.shape[1:] == (11, 11)
        if not planes or not isinstance(seat.action, Discrete) or seat.action.n != 8:
            raise ComityError(
                f"This player walks in Commons Harvest and sees planes, and the seat {seat.name!r} is not in "
                f"it or sees pixels."
            )

    def read_seat(self, seat: Seat) -> PyTree:
        self.check_seat(seat)
        return ()

    def wants(self, apples: Bool[Array, "11 11"]) -> Bool[Array, "11 11"]:
        """Which of the apples in sight it would eat."""
        return apples

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        action = self.walk(obs, key)
        if self.zaps:
            action = self.zap_at(plane(obs, *PLAYERS), obs, action)
        return action, carry

    def zap_at(
        self, targets: Bool[Array, "11 11"], obs: Int[Array, "11 11"], otherwise: Int[Array, ""]
    ) -> Int[Array, ""]:
        """A zap if it is possible now and hits a target, else the other action."""
        hits = in_line(plane(obs, *PLAYERS), targets) & plane(obs, READY)[ROW, COLUMN]
        return jnp.where(hits, ZAP, otherwise).astype(jnp.int32)

    def walk(self, obs: Int[Array, "11 11"], key: Key) -> Int[Array, ""]:
        """A step towards the nearest apple that it wants, or a look around."""
        pick_key, way_key, look_key = jax.random.split(key, 3)
        apples = plane(obs, APPLE)
        wanted = self.wants(apples)
        enters = ~plane(obs, OUTSIDE, WALL, *PLAYERS) & (wanted | ~apples)  # spared apples are not stepped on
        rows, columns = np.indices((11, 11))
        far = np.abs(rows - ROW) + np.abs(columns - COLUMN)
        jitter = jax.random.uniform(pick_key, (11, 11))
        best = jnp.argmin(jnp.where(wanted, jnp.asarray(far, jnp.float32) + 0.5 * jitter, 1e3))
        down, right = best // 11 - ROW, best % 11 - COLUMN
        gains = jnp.stack([-down, down, -right, right]).astype(jnp.float32)
        free = jnp.stack([enters[ROW + row, COLUMN + column] for row, column in STEPS])
        good = (gains > 0) & free & jnp.any(wanted)
        score = jnp.where(good, gains + jax.random.uniform(way_key, (4,)), -1.0)
        action = jnp.where(jnp.any(good), FORWARD + jnp.argmax(score), self._look_around(free, look_key))
        return action.astype(jnp.int32)

    def _look_around(self, free: Bool[Array, " 4"], key: Key) -> Int[Array, ""]:
        """Straight on, now and then a turn; where there is a wall, a turn."""
        draw = jax.random.uniform(key)
        turn = jnp.where(draw < 0.5, TURN_LEFT, TURN_RIGHT)
        onward = (jnp.abs(draw - 0.5) < 0.4) & free[0]
        return jnp.where(onward, FORWARD, turn)


class Bystander(Harvester):
    """Stands still."""

    def walk(self, obs: Int[Array, "11 11"], key: Key) -> Int[Array, ""]:
        return jnp.int32(0)


class Greedy(Harvester):
    """Eats the nearest apple, whatever comes of it."""


class Sustainable(Harvester):
    """Eats only apples that leave enough others near them, so that they come back."""

    leaves: int = 3  # apples that must grow near one that is eaten

    def __check_init__(self) -> None:
        require(0 <= self.leaves <= 12, "leaves", self.leaves, "between 0 and 12")

    def wants(self, apples: Bool[Array, "11 11"]) -> Bool[Array, "11 11"]:
        return apples & (apples_near(apples) >= self.leaves)


class FreeRider(Harvester):
    """Greedy, and sends away whoever comes near."""

    zaps: ClassVar[bool] = True
