"""Learning with opponent-learning awareness (Foerster et al., 2018, arXiv:1709.04326), with exact values.

An agent follows the gradient of its own value after the others have learned, through their learning: it moves
so that they learn what is good for it. It assumes that the others are naive learners with a known step and
known parameters.
"""

from comity.agents.exact.base import ExactLearner
from comity.core.errors import require
from comity.returns.differentiable import Params, Values, lola


class LOLA(ExactLearner):
    """Gradient ascent on the own value after the others' next steps, through those steps."""

    step: float = 1.0  # the step that the others are expected to take
    steps: int = 1  # how many such steps

    def __check_init__(self) -> None:
        require(self.steps >= 1, "steps", self.steps, "at least 1")

    def directions(self, values: Values, params: Params) -> Params:
        return lola(values, params, self.step, self.steps)
