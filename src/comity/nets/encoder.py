"""What every encoder does: it turns encoded observations into the vector that the first dense layer reads."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError
from comity.core.registry import Registry
from comity.core.spaces import Space
from comity.nets.convolution import Convolution
from comity.nets.linear import Precision
from comity.nets.registry import ENCODERS


class Encoder(eqx.Module):
    """How observations are read: as one vector, or as planes by convolutions. It is chosen by name.

    An encoder is settings only; the torso holds its layers.
    """

    options: ClassVar[Registry] = ENCODERS

    @property
    @abstractmethod
    def earlier(self) -> int:
        """How many observations before the newest one are read."""

    @abstractmethod
    def check(self, observation: Space) -> None:
        """Raises if the observation cannot be read so."""

    @abstractmethod
    def size(self, observation: Space) -> int:
        """The length of the vector."""

    @abstractmethod
    def build(self, observation: Space, precision: Precision, key: Key) -> tuple[Convolution, ...]:
        """New layers, if it has any."""

    @abstractmethod
    def encode(
        self,
        layers: tuple[Convolution, ...],
        observation: Space,
        observations: tuple[Float[Array, "... flat"], ...],
    ) -> Float[Array, "... inputs"]:
        """The vector, from the newest observation and those `earlier`, newest first."""


def plane_shape(observation: Space) -> tuple[int, ...]:
    """The shape of an observation of planes [planes, height, width]."""
    shape = spaces.planes(observation)
    assert shape is not None
    return shape


def require_planes(field: str, observation: Space) -> None:
    """Raises if an observation is not made of planes, as a setting needs."""
    if spaces.planes(observation) is None:
        raise ComityError(
            f"{field} needs an observation of planes, and this game gives "
            f"{spaces.describe(spaces.plain(observation))}: leave it out."
        )
