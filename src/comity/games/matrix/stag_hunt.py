"""Trust or safety: stag together or hare alone."""

import numpy as np
from jaxtyping import Float

from comity.games.horizon import check_horizon
from comity.games.matrix.iterated import IteratedMatrixGame, symmetric_payoffs


class StagHunt(IteratedMatrixGame):
    """Hunting the stag together is best, but only the hare is safe."""

    stag: float = 4.0  # each gets when both hunt the stag
    alone: float = 0.0  # one gets who hunts the stag alone
    hare: float = 3.0  # one gets who takes the hare while the other hunts the stag
    hares: float = 2.0  # each gets when both take a hare
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return symmetric_payoffs(((self.stag, self.alone), (self.hare, self.hares)))

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("S", "H")
