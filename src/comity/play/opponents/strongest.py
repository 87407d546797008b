"""Opponents are the strongest past selves, by a rating that is measured while they are met."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.play.opponents.rated import RatedPool, RatedSelves
from comity.play.opponents.seating import by_weight


class Strongest(RatedSelves):
    """Draws evenly from the past selves with the highest ratings, and now and then from all of them.

    Without the latter one whose rating fell by bad luck would never be met again.
    """

    best: int = 8  # how many of the strongest are met
    all_share: float = 0.125  # share of the draws that are from all past selves

    def __check_init__(self) -> None:
        require(self.best >= 1, "best", self.best, "at least 1")
        require(0.0 <= self.all_share <= 1.0, "all_share", self.all_share, "between 0 and 1")

    def members(
        self, pool: RatedPool, learner: int, team: int, filled: Bool[Array, " capacity"], key: Key
    ) -> Int[Array, " drawn"]:
        rating = jnp.where(filled, pool.ledger.rating[team], -jnp.inf)
        rank = jnp.argsort(jnp.argsort(-rating))  # 0 for the strongest; of equals the earlier place
        there = filled.astype(jnp.float32)
        chosen = jnp.where(rank < self.best, there, 0.0)
        weights = (1.0 - self.all_share) * chosen / chosen.sum() + self.all_share * there / there.sum()
        return by_weight(weights, filled, self.drawn, key)
