"""Meet, but where: A or B."""

import numpy as np
from jaxtyping import Float

from comity.games.horizon import check_horizon
from comity.games.matrix.iterated import IteratedMatrixGame


class BattleOfTheSexes(IteratedMatrixGame):
    """Both want to meet; player 1 would rather meet at A, player 2 at B."""

    favourite: float = 3.0  # one gets when both meet at its favourite place
    other: float = 2.0  # one gets when both meet at the other's favourite place
    apart: float = 0.0  # each gets when they do not meet
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        first = [[self.favourite, self.apart], [self.apart, self.other]]
        second = [[self.other, self.apart], [self.apart, self.favourite]]
        return np.asarray([first, second], np.float32)

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("A", "B")
