"""Who dares wins, unless both do."""

import numpy as np
from jaxtyping import Float

from comity.games.horizon import check_horizon
from comity.games.matrix.iterated import IteratedMatrixGame, symmetric_payoffs


class Chicken(IteratedMatrixGame):
    """Daring pays if the other swerves, and is worst for both if it does not."""

    swerve: float = 3.0  # each gets when both swerve
    yielding: float = 1.0  # one gets who swerves alone
    dare: float = 4.0  # one gets who dares alone
    crash: float = 0.0  # each gets when both dare
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return symmetric_payoffs(((self.swerve, self.yielding), (self.dare, self.crash)))

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("S", "D")
