"""Hands that tremble."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import require
from comity.core.game import PerSeat, TimeStep
from comity.core.spaces import Discrete
from comity.games.transforms.base import Transform


class TremblingHand(Transform):
    """Replaces each action, with some probability, by another one: mistakes that all can see.

    The other one is drawn evenly, or always the same: accidental defections of a game's players, say.
    """

    probability: float = 0.1  # chance that an action is replaced
    towards: int | None = None  # the number of the choice that takes its place; by default drawn evenly

    def __check_init__(self) -> None:
        require(0.0 <= self.probability <= 1.0, "probability", self.probability, "between 0 and 1")
        if self.towards is not None:
            for seat in self.seats:
                fits = isinstance(seat.action, Discrete) and 0 <= self.towards < seat.action.n
                require(fits, "towards", self.towards, f"the number of a choice of the seat {seat.name}")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        key, tremble_key, replace_key = jax.random.split(key, 3)
        trembles = jax.random.bernoulli(tremble_key, self.probability, (len(actions),))
        played = []
        for i, (seat, action) in enumerate(zip(self.seats, actions, strict=True)):
            drawn = (
                spaces.sample(seat.action, jax.random.fold_in(replace_key, i))
                if self.towards is None
                else jnp.int32(self.towards)
            )
            played.append(_choose(trembles[i], drawn, action))
        return self.game.step(key, state, tuple(played))


def _choose(condition: Bool[Array, ""], first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a.astype(b.dtype), b), first, second)
