"""Zero-sum: match or differ."""

import numpy as np
from jaxtyping import Float

from comity.games.horizon import check_horizon
from comity.games.matrix.iterated import IteratedMatrixGame


class MatchingPennies(IteratedMatrixGame):
    """Player 1 wins when the coins match, player 2 when they differ."""

    stake: float = 1.0  # what the loser pays the winner
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        first = self.stake * np.asarray([[1.0, -1.0], [-1.0, 1.0]], np.float32)
        return np.stack([first, -first])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("H", "T")
