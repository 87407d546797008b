"""Naive learning: each follows the gradient of its own value as if the others stood still."""

from comity.agents.shaping.exact import ExactLearner
from comity.returns.differentiable import Params, Values, naive


class Naive(ExactLearner):
    """Gradient ascent on the own value."""

    learning_rate: float = 1.0  # step size
    discount: float = 0.96  # what the next step's reward counts
    initial: float = 0.5  # standard deviation of the first logits

    def directions(self, values: Values, params: Params) -> Params:
        return naive(values, params)
