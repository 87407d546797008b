"""The penalty game: two best ways, and no mixing."""

import numpy as np
from jaxtyping import Float

from comity.core.errors import require
from comity.games.cooperative.base import common_payoffs
from comity.games.horizon import check_horizon
from comity.games.matrix import IteratedMatrixGame


class Penalty(IteratedMatrixGame):
    """The penalty game (Claus and Boutilier, 1998): two best joint actions, and a penalty for mixing them.

    Answer: 10 a step in two ways; most learners settle on the safe 2 as the penalty grows.
    """

    penalty: float = -50.0  # what mixing the two best joint actions pays
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        require(self.penalty <= 0, "penalty", self.penalty, "at most 0")
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return common_payoffs([[self.penalty, 0, 10], [0, 2, 0], [10, 0, self.penalty]])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("a", "b", "c")
