r"""Inequity aversion (Fehr and Schmidt, 1999; over time: Hughes et al., 2018, arXiv:1803.08884).

.. math:: u_i = r_i - \frac{1}{n-1} \sum_j \big[\alpha \max(e_j - e_i, 0) + \beta \max(e_i - e_j, 0)\big]
.. math:: e_i \leftarrow \lambda e_i + r_i
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import PerSeat, TimeStep
from comity.games.transforms.base import Transform


class Smoothed(NamedTuple):
    """The state of the game inside, and what each seat earned lately."""

    inner: PyTree
    earned: Float[Array, " seat"]


class InequityAversion(Transform):
    """Seats that learn from their reward less what it costs them to have less, or more, than others.

    What everybody earned lately is a sum that decays; the published decay is the discount times a lambda.
    """

    envy: float = 5.0  # alpha: what it costs to have less than another
    guilt: float = 0.05  # beta: what it costs to have more
    decay: float = 0.975  # of what was earned, in each step

    def __check_init__(self) -> None:
        seats = len(self.game.seats)
        require(seats >= 2, "inequity-aversion", f"a game of {seats} seat", "in a game of several seats")
        for name in ("envy", "guilt"):
            value = getattr(self, name)
            require(value >= 0 and math.isfinite(value), name, value, "at least 0")
        require(0.0 <= self.decay < 1.0, "decay", self.decay, "at least 0 and below 1")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    def reset(self, key: Key) -> tuple[Smoothed, PerSeat[PyTree]]:
        return self._begin(*self.game.reset(key))

    def reset_where(
        self, key: Key, state: Smoothed, over: Bool[Array, ""]
    ) -> tuple[Smoothed, PerSeat[PyTree]]:
        return self._begin(*self.game.reset_where(key, state.inner, over))

    def _begin(self, inner: PyTree, obs: PerSeat[PyTree]) -> tuple[Smoothed, PerSeat[PyTree]]:
        return Smoothed(inner, jnp.zeros(len(obs))), obs

    def inner(self, state: Smoothed) -> PyTree:
        return state.inner

    def step(self, key: Key, state: Smoothed, actions: PerSeat[PyTree]) -> tuple[Smoothed, TimeStep]:
        inner, step = self.game.step(key, state.inner, actions)
        reward = jnp.stack(step.reward)
        earned = self.decay * state.earned + reward
        more = earned[None, :] - earned[:, None]  # [i, j]: by how much j has more than i
        others = len(actions) - 1
        envy = jnp.maximum(more, 0.0).sum(axis=1) / others
        guilt = jnp.maximum(-more, 0.0).sum(axis=1) / others
        felt = reward - self.envy * envy - self.guilt * guilt
        return Smoothed(inner, earned), step.shaped(tuple(felt))
