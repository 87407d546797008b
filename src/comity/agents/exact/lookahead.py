"""Lookahead (Zhang and Lesser, 2010): each answers the step that the others are about to take."""

from comity.agents.exact.base import ExactLearner
from comity.returns.differentiable import Params, Values, lookahead


class Lookahead(ExactLearner):
    """Gradient ascent on the own value where the others are about to be."""

    step: float = 1.0  # the step that the others are expected to take

    def directions(self, values: Values, params: Params) -> Params:
        return lookahead(values, params, self.step)
