"""The iterated prisoner's dilemma."""

import numpy as np
from jaxtyping import Float

from comity.games.horizon import check_horizon
from comity.games.matrix.iterated import IteratedMatrixGame, symmetric_payoffs


class PrisonersDilemma(IteratedMatrixGame):
    """Defection pays for each, whatever the other does; mutual cooperation would be better for both."""

    reward: float = -1.0  # each gets when both cooperate
    sucker: float = -3.0  # one gets who cooperates alone
    temptation: float = 0.0  # one gets who defects alone
    punishment: float = -2.0  # each gets when both defect
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return symmetric_payoffs(((self.reward, self.sucker), (self.temptation, self.punishment)))

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("C", "D")
