"""Rewards that are shared between the seats."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import PerSeat, TimeStep
from comity.core.tunable import Number
from comity.games.transforms.base import Transform


class SharedReward(Transform):
    """Every seat is paid for what the others get too: own reward + `others` times the sum of theirs.

    0 leaves every seat its own reward, 1 gives each the sum. With `weights`, seat i is paid the sum over
    j of weights[i][j] times the reward of seat j.
    """

    others: float = 1.0  # what another seat's reward counts
    weights: tuple[tuple[float, ...], ...] = ()  # one row per seat; overrides `others`

    def __check_init__(self) -> None:
        seats = len(self.game.seats)
        fits = not self.weights or (len(self.weights) == seats and {len(w) for w in self.weights} == {seats})
        finite = math.isfinite(self.others) if isinstance(self.others, float | int) else True
        require(finite, "others", self.others, "a finite number")
        require(fits, "weights", self.weights, f"{seats} rows of {seats} numbers")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric and not self.weights

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        state, step = self.game.step(key, state, actions)
        shared = jnp.asarray(self._matrix(), jnp.float32) @ jnp.stack(step.reward)
        return state, step.shaped(tuple(shared))

    def exact_returns(
        self, probabilities: PerSeat[Float[Array, "observations _"]], discount: Number
    ) -> Float[Array, " seats"]:
        return jnp.asarray(self._matrix(), jnp.float32) @ self.game.exact_returns(probabilities, discount)

    def _matrix(self) -> np.ndarray:
        if self.weights:
            return np.asarray(self.weights)
        seats = len(self.game.seats)
        return np.eye(seats) + self.others * (1 - np.eye(seats))
