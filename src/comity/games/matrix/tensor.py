"""Any payoff tensor, any number of players."""

import math

import numpy as np
from jaxtyping import Float

from comity.core.errors import require
from comity.games.horizon import check_horizon
from comity.games.matrix.iterated import IteratedMatrixGame


class MatrixGame(IteratedMatrixGame):
    """Any payoff tensor, written out player by player."""

    actions: tuple[int, ...] = (2, 2)  # how many actions each player has
    payoff: tuple[float, ...] = (
        -1,
        -3,
        0,
        -2,
        -1,
        0,
        -3,
        -2,
    )  # all of player 1's payoffs, then player 2's, ...
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        require(
            len(self.actions) >= 1 and min(self.actions) >= 1, "actions", self.actions, "positive numbers"
        )
        size = len(self.actions) * math.prod(self.actions)
        require(
            len(self.payoff) == size,
            "payoff",
            f"{len(self.payoff)} numbers",
            f"{size} numbers for {len(self.actions)} players with {self.actions} actions",
        )
        require(all(math.isfinite(x) for x in self.payoff), "payoff", self.payoff, "finite numbers")
        check_horizon(self.horizon)

    @classmethod
    def from_tensor(cls, payoffs: Float[np.ndarray, "players *actions"], horizon: int = 16) -> "MatrixGame":
        """The game of a payoff tensor, `payoffs[i, a, b, ...]` being what player i gets."""
        table = np.asarray(payoffs, np.float64)
        require(
            table.ndim == table.shape[0] + 1, "payoffs", table.shape, "one axis per player after the first"
        )
        return cls(actions=tuple(table.shape[1:]), payoff=tuple(table.ravel().tolist()), horizon=horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return np.asarray(self.payoff, np.float32).reshape(len(self.actions), *self.actions)

    @property
    def action_labels(self) -> tuple[str, ...]:
        most = max(self.actions)
        return ("C", "D") if most == 2 else tuple("abcdefghijklmnopqrstuvwxyz"[:most])
