"""Observations of planes, read by convolutions."""

import math

import jax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.spaces import Space
from comity.nets.convolution import Convolution
from comity.nets.dense import HIDDEN_SCALE
from comity.nets.encoder import Encoder, plane_shape, require_planes
from comity.nets.linear import Precision


class Convolutional(Encoder):
    """The newest observation, made of planes, through 3 x 3 convolutions."""

    filters: tuple[int, ...] = (16, 32)  # planes that come out of each convolution
    step_size: int = 1  # how far the convolutions move at each place

    def __check_init__(self) -> None:
        sizes = len(self.filters) > 0 and all(size >= 1 for size in self.filters)
        require(sizes, "network.encoder.filters", self.filters, "one number or more, each at least 1")
        require(self.step_size >= 1, "network.encoder.step_size", self.step_size, "at least 1")

    @property
    def earlier(self) -> int:
        return 0

    def check(self, observation: Space) -> None:
        require_planes("network.encoder convolutional", observation)

    def size(self, observation: Space) -> int:
        places = plane_shape(observation)[1:]
        for _ in self.filters:
            places = tuple((length - 1) // self.step_size + 1 for length in places)
        return self.filters[-1] * math.prod(places)

    def build(self, observation: Space, precision: Precision, key: Key) -> tuple[Convolution, ...]:
        sizes = [plane_shape(observation)[0], *self.filters]
        keys = jax.random.split(key, len(self.filters))
        return tuple(
            Convolution(inputs, outputs, self.step_size, HIDDEN_SCALE, own_key, precision)
            for inputs, outputs, own_key in zip(sizes[:-1], sizes[1:], keys, strict=True)
        )

    def encode(
        self,
        layers: tuple[Convolution, ...],
        observation: Space,
        observations: tuple[Float[Array, "... flat"], ...],
    ) -> Float[Array, "... inputs"]:
        x = observations[0].reshape((*observations[0].shape[:-1], *plane_shape(observation)))
        for layer in layers:
            x = jax.nn.relu(layer(x))
        return x.reshape((*x.shape[:-3], -1))
