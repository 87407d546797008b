"""Naive learning: each follows the gradient of its own value as if the others stood still."""

from comity.agents.exact.base import ExactLearner
from comity.returns.differentiable import Params, Values, naive


class Naive(ExactLearner):
    """Gradient ascent on the own value."""

    def directions(self, values: Values, params: Params) -> Params:
        return naive(values, params)
