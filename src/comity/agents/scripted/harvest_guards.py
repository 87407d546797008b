"""Guards of Commons Harvest: they leave enough apples, and send away who does not.

Upper references for what defence is worth: neither restraint nor zapping suffices alone.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.harvest import (
    APPLE,
    COLUMN,
    FORWARD,
    GRASS,
    LEFT,
    PLANES,
    PLAYERS,
    RIGHT,
    ROW,
    TURN_LEFT,
    TURN_RIGHT,
    Sustainable,
    apples_near,
    plane,
)
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Bits

Targets = Literal["over-harvesters", "anybody", "strangers"]


class Guardian(Sustainable):
    """Sustainable, and zaps who over-harvests as soon as it is in reach.

    Who stands in a bush with fewer than `leaves` apples near is taken for somebody who ate one too many.
    Where identity planes show who it was, it is remembered for `grudge` steps and zapped wherever it is met.
    """

    targets: Targets = "over-harvesters"  # who is zapped
    grudge: int = 50  # for how many steps an over-harvester is remembered, with identity planes
    strangers: tuple[int, ...] = (5, 6)  # seats of strangers, for `targets strangers` with identity by seat

    def __check_init__(self) -> None:
        require(self.grudge >= 0, "grudge", self.grudge, "at least 0")

    def check_seat(self, seat: Seat) -> None:
        super().check_seat(seat)
        if self.targets == "strangers":
            last = max(self.strangers, default=0)
            if identities(seat) <= last:
                raise ComityError(
                    f"A guard that zaps strangers must see who is who: use game.identity seat in a game of "
                    f"more than {last} players, or targets anybody."
                )

    def read_seat(self, seat: Seat) -> Int[Array, " players"]:
        self.check_seat(seat)
        return jnp.zeros(identities(seat), jnp.int32)

    def initial_carry(self, params: PyTree) -> Int[Array, " players"]:
        """For how many more steps each player is a culprit."""
        return params

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        targets, carry = self.find_targets(obs, carry)
        return self.zap_at(targets, obs, self.walk(obs, key)), carry

    def find_targets(
        self, obs: Int[Array, "11 11"], culprits: Int[Array, " players"]
    ) -> tuple[Bool[Array, "11 11"], Int[Array, " players"]]:
        """Where those are who should be sent away, and for how long each player is remembered."""
        others = plane(obs, *PLAYERS).at[ROW, COLUMN].set(False)
        if self.targets == "anybody":
            return others, culprits
        if self.targets == "strangers":
            return others & plane(obs, *(PLANES + seat for seat in self.strangers)), culprits
        thin = plane(obs, GRASS) & (apples_near(plane(obs, APPLE)) < self.leaves)
        caught = others & thin
        if not culprits.shape[0]:
            return caught, culprits
        known = jnp.stack([plane(obs, PLANES + i) for i in range(culprits.shape[0])])  # [player, row, column]
        seen = jnp.any(known & caught[None], axis=(1, 2))
        culprits = jnp.where(seen, self.grudge, jnp.maximum(culprits - 1, 0))
        return caught | jnp.any(known & (culprits > 0)[:, None, None], axis=0), culprits


class Warden(Guardian):
    """A guardian that goes after those whom it would zap as soon as it sees them."""

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        targets, carry = self.find_targets(obs, carry)
        action = jnp.where(jnp.any(targets), self.chase(targets), self.walk(obs, key))
        return self.zap_at(targets, obs, action), carry

    def chase(self, targets: Bool[Array, "11 11"]) -> Int[Array, ""]:
        """A move that brings the nearest target into the beam: turn to it, then aside, then nearer."""
        rows, columns = np.indices((11, 11))
        far = np.abs(rows - ROW) + np.abs(columns - COLUMN)
        nearest = jnp.argmin(jnp.where(targets, far, 99))
        ahead, right = ROW - nearest // 11, nearest % 11 - COLUMN
        aside = jnp.where(right > 0, RIGHT, LEFT)
        turn = jnp.where(right > 0, TURN_RIGHT, TURN_LEFT)
        onward = jnp.where((jnp.abs(right) > 1) & (ahead <= 3), aside, FORWARD)
        return jnp.where((ahead <= 0) | (jnp.abs(right) > ahead + 2), turn, onward)


def identities(seat: Seat) -> int:
    """How many identity planes the seat sees."""
    assert isinstance(seat.observation, Bits)
    return seat.observation.shape[0] - PLANES
