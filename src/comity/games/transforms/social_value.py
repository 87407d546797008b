r"""Social value orientation (McKee et al., 2020, arXiv:2002.02325): seats that want a share for others.

.. math:: u_i = r_i - w\,|\theta^{SVO} - \theta(R)|, \qquad \theta(R) = \arctan(\bar r_{-i} / r_i)

The reward angle is 45 degrees where others get as much as oneself, 90 where they get all, and 0 where they
get nothing. An angle of 0 is selfish, 45 prosocial, 90 altruistic.
"""

import math

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.errors import require
from comity.core.game import PerSeat, TimeStep
from comity.games.transforms.base import Transform


class SocialValue(Transform):
    """Seats that learn from their reward less how far the reward angle is from the one that they want.

    In a step in which nobody is paid there is no angle, and nothing is taken off.
    """

    angle: float = 45.0  # degrees that every seat wants: 0 selfish, 45 prosocial, 90 altruistic
    weight: float = 0.2  # what a radian off is worth
    angles: tuple[float, ...] = ()  # one for each seat, in place of `angle`

    def __check_init__(self) -> None:
        seats = len(self.game.seats)
        require(seats >= 2, "social-value", f"a game of {seats} seat", "in a game of several seats")
        require(len(self.angles) in (0, seats), "angles", self.angles, f"{seats} angles, or none")
        for name, angles in (("angle", (self.angle,)), ("angles", self.angles)):
            fits = all(-180 <= angle <= 180 for angle in angles)
            require(fits, name, getattr(self, name), "between -180 and 180 degrees")
        fits = self.weight >= 0 and math.isfinite(self.weight)
        require(fits, "weight", self.weight, "at least 0")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric and len(set(self.angles)) <= 1

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        state, step = self.game.step(key, state, actions)
        reward = jnp.stack(step.reward)
        others = (reward.sum() - reward) / (len(actions) - 1)
        paid = (reward != 0) | (others != 0)
        # Where nobody is paid the angle is of (1, 0), so that no derivative meets arctan(0 / 0).
        found = jnp.arctan2(others, jnp.where(paid, reward, 1.0))
        wanted = jnp.deg2rad(jnp.asarray(self.angles or (self.angle,) * len(actions), jnp.float32))
        apart = jnp.mod(wanted - found + jnp.pi, 2 * jnp.pi) - jnp.pi  # the shorter way round
        off = jnp.where(paid, jnp.abs(apart), 0.0)
        return state, step.shaped(tuple(reward - self.weight * off))
