"""Lookahead (Zhang and Lesser, 2010): each answers the step that the others are about to take."""

from comity.agents.shaping.exact import ExactLearner
from comity.returns.differentiable import Params, Values, lookahead


class Lookahead(ExactLearner):
    """Gradient ascent on the own value where the others are about to be."""

    learning_rate: float = 1.0  # step size
    discount: float = 0.96  # what the next step's reward counts
    initial: float = 0.5  # standard deviation of the first logits
    step: float = 1.0  # the step that the others are expected to take

    def directions(self, values: Values, params: Params) -> Params:
        return lookahead(values, params, self.step)
