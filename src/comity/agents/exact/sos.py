"""Stable opponent shaping (Letcher et al., 2019, arXiv:1811.08469), with exact values.

LOLA with its shaping term cut back wherever it would turn against lookahead, and near fixed points, so that
it keeps the stable ones that LOLA misses.
"""

from comity.agents.exact.base import ExactLearner
from comity.returns.differentiable import Params, Values, sos


class StableOpponentShaping(ExactLearner):
    """Lookahead plus as much of the shaping term as is safe."""

    step: float = 1.0  # the step that the others are expected to take
    a: float = 0.5  # how far the shaping term may turn against lookahead
    b: float = 0.1  # size of the gradient below which a fixed point is near

    def directions(self, values: Values, params: Params) -> Params:
        return sos(values, params, self.step, self.a, self.b)
