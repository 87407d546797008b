"""What entropy is worth, and how that follows a target entropy."""

import math
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.learn.actor_net import Drawing, entropy_target
from comity.learn.optimisers import Adam


class Temperature(eqx.Module):
    r"""The temperature :math:`\alpha` of each seat (Haarnoja et al., 2018, arXiv:1812.05905, section 5).

    .. math:: \log \alpha \leftarrow \log \alpha - \eta (H(\pi) - \bar H)

    The logarithm is what is learned, so that :math:`\alpha` stays positive. Entropies of numbers are those
    of actions scaled to [-1, 1].
    """

    start: float = 0.2  # at the start
    learning_rate: float = 1e-3  # step size of its logarithm; 0: it stays as it starts
    per_number: float = -1.0  # entropy that is aimed at, for each number of an action
    of_choices: float = 0.3  # and of choices, as a share of that of even play

    tunable: ClassVar[tuple[str, ...]] = ("learning_rate", "per_number", "of_choices")

    def __check_init__(self) -> None:
        require(self.start > 0, "temperature.start", self.start, "above 0")
        require(self.learning_rate >= 0, "temperature.learning_rate", self.learning_rate, "at least 0")
        require(0 <= self.of_choices <= 1, "temperature.of_choices", self.of_choices, "between 0 and 1")

    def first(self, seats: int) -> Float[Array, " seat"]:
        """The logarithms at the start."""
        return jnp.full(seats, math.log(self.start), jnp.float32)

    def gradient(
        self,
        drawing: Drawing,
        entropy: Float[Array, "time seat game"],
        weight: Float[Array, "time seat game"],
    ) -> Float[Array, " seat"]:
        """How far each seat's entropy is above its target."""
        above = (entropy - entropy_target(drawing, self.per_number, self.of_choices)) * weight
        return above.sum(axis=(0, 2)) / jnp.maximum(weight.sum(axis=(0, 2)), 1.0)

    def optimiser(self) -> optax.GradientTransformation:
        """How the logarithms follow it."""
        return Adam(max_grad_norm=0.0).build(self.learning_rate)
