"""Observations as one vector."""

import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import require
from comity.core.spaces import Space
from comity.nets.convolution import Convolution
from comity.nets.encoder import Encoder, plane_shape, require_planes
from comity.nets.linear import Precision


class Flat(Encoder):
    """The last observations as one vector, and how their planes overlap if asked for.

    The overlap of two planes is the sum of their products: that of where the other stands now and where my
    coin was before says that it took my coin, which no single layer could read otherwise.
    """

    stack: int = 1  # how many of the last observations are seen at once
    overlaps: bool = False  # in games seen as planes: whether to see how each plane overlaps each one before

    def __check_init__(self) -> None:
        require(self.stack >= 1, "network.encoder.stack", self.stack, "at least 1")

    @property
    def earlier(self) -> int:
        return max(self.stack - 1, 1 if self.overlaps else 0)

    def check(self, observation: Space) -> None:
        if self.overlaps:
            require_planes("network.encoder.overlaps", observation)

    def size(self, observation: Space) -> int:
        planes = plane_shape(observation)[0] if self.overlaps else 0
        return spaces.flat_size(observation) * self.stack + planes**2

    def build(self, observation: Space, precision: Precision, key: Key) -> tuple[Convolution, ...]:
        return ()

    def encode(
        self,
        layers: tuple[Convolution, ...],
        observation: Space,
        observations: tuple[Float[Array, "... flat"], ...],
    ) -> Float[Array, "... inputs"]:
        parts = list(observations[: self.stack])
        if self.overlaps:
            planes = plane_shape(observation)[0]
            now, before = (x.reshape((*x.shape[:-1], planes, -1)) for x in observations[:2])
            overlap = jnp.einsum("...ic,...jc->...ij", now, before)
            parts.append(overlap.reshape((*overlap.shape[:-2], planes**2)))
        return jnp.concatenate(parts, axis=-1)
