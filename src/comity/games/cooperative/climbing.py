"""The climbing game: 11 together at the top, -30 beside it."""

import numpy as np
from jaxtyping import Float

from comity.games.cooperative.base import common_payoffs
from comity.games.horizon import check_horizon
from comity.games.matrix import IteratedMatrixGame


class Climbing(IteratedMatrixGame):
    """The climbing game (Claus and Boutilier, 1998): 11 together at the top, beside it -30.

    Answer: the best joint action pays 11 a step; most learners settle on 7 or 5, which are safer.
    """

    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return common_payoffs([[11, -30, 0], [-30, 7, 0], [0, 6, 5]])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("a", "b", "c")
