"""Consensus optimisation (Mescheder et al., 2017, arXiv:1705.10461), with exact values."""

from comity.agents.exact.base import ExactLearner
from comity.returns.differentiable import Params, Values, consensus


class Consensus(ExactLearner):
    """Gradient ascent on the own value and descent on the size of everybody's gradients."""

    weight: float = 0.1  # of the descent

    def directions(self, values: Values, params: Params) -> Params:
        return consensus(values, params, self.weight)
