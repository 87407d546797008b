"""Consensus optimisation (Mescheder et al., 2017, arXiv:1705.10461), with exact values."""

from comity.agents.shaping.exact import ExactLearner
from comity.returns.differentiable import Params, Values, consensus


class Consensus(ExactLearner):
    """Gradient ascent on the own value and descent on the size of everybody's gradients."""

    learning_rate: float = 1.0  # step size
    discount: float = 0.96  # what the next step's reward counts
    initial: float = 0.5  # standard deviation of the first logits
    weight: float = 0.1  # of the descent

    def directions(self, values: Values, params: Params) -> Params:
        return consensus(values, params, self.weight)
