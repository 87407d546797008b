r"""Prioritised fictitious self-play (Vinyals et al., 2019, "Grandmaster level in StarCraft II").

A past self that the learner beats with probability p is drawn in proportion to f(p):

- ``squared``: :math:`(1-p)^2`, who is hard to beat; ``linear``: :math:`1-p`;
- ``variance``: :math:`p(1-p)`, who is about as strong;
- ``capped``: :math:`\min(1/2, 1-p)`, all but those who are beaten.
"""

from collections.abc import Callable
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int
from jaxtyping import PRNGKeyArray as Key

from comity.play.opponents.rated import RatedPool, RatedSelves
from comity.play.opponents.seating import by_weight

Weighting = Literal["squared", "variance", "linear", "capped"]
WEIGHTS: dict[str, Callable[[Array], Array]] = {
    "squared": lambda p: (1.0 - p) ** 2,
    "variance": lambda p: p * (1.0 - p),
    "linear": lambda p: 1.0 - p,
    "capped": lambda p: jnp.minimum(0.5, 1.0 - p),
}


class Prioritised(RatedSelves):
    """Draws past selves by how often the learner still loses to them."""

    weighting: Weighting = "squared"  # squared: hard opponents; variance: equal ones; linear; capped

    def members(
        self, pool: RatedPool, learner: int, team: int, filled: Bool[Array, " capacity"], key: Key
    ) -> Int[Array, " drawn"]:
        weights = WEIGHTS[self.weighting](pool.ledger.score(learner, team))
        return by_weight(weights, filled, self.drawn, key)
