"""Hands that tremble."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import require
from comity.core.game import PerSeat, TimeStep
from comity.games.transforms.base import Transform


class TremblingHand(Transform):
    """Replaces each action, with some probability, by one drawn evenly: mistakes that all can see."""

    probability: float = 0.1  # chance that an action is replaced

    def __check_init__(self) -> None:
        require(0.0 <= self.probability <= 1.0, "probability", self.probability, "between 0 and 1")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        key, tremble_key, replace_key = jax.random.split(key, 3)
        trembles = jax.random.bernoulli(tremble_key, self.probability, (len(actions),))
        played = []
        for i, (seat, action) in enumerate(zip(self.seats, actions, strict=True)):
            drawn = spaces.sample(seat.action, jax.random.fold_in(replace_key, i))
            played.append(_choose(trembles[i], drawn, action))
        return self.game.step(key, state, tuple(played))


def _choose(condition: Bool[Array, ""], first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a.astype(b.dtype), b), first, second)
