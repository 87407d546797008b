"""The running spread of returns, in units of which a critic learns."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.core.shards import total
from comity.nets.linear import Linear


class ReturnNorm(eqx.Module):
    """Whether a critic learns values as they are or normalised."""

    return_ema: float = 0.0  # how fast the running mean and spread of returns follow; 0: values as they are
    popart: bool = False  # whether the value head is rescaled with them, to go on meaning the same
    unit: float = 1.0  # what one unit of the critic is worth: the size of values, if they are large

    def __check_init__(self) -> None:
        require(0.0 <= self.return_ema <= 1.0, "return_ema", self.return_ema, "between 0 and 1")
        require(self.unit > 0, "unit", self.unit, "above 0")
        require(not (self.popart and self.return_ema == 0), "popart", self.popart, "false with return_ema 0")


class ReturnStatistics(NamedTuple):
    """Running mean and mean square of each kind of return, and the weight that they have gathered.

    A critic's values are in units of their spread, from their mean, so that its errors are of one size
    whatever the game pays.
    """

    mean: Float[Array, " outputs"]
    square: Float[Array, " outputs"]
    weight: Float[Array, ""]

    @classmethod
    def initial(cls, outputs: int) -> "ReturnStatistics":
        """Units of reward, until something was seen."""
        return cls(jnp.zeros(outputs, jnp.float32), jnp.zeros(outputs, jnp.float32), jnp.float32(0.0))

    @property
    def centre(self) -> Float[Array, " outputs"]:
        """The mean return."""
        return self.mean / jnp.maximum(self.weight, 1e-6)

    @property
    def spread(self) -> Float[Array, " outputs"]:
        """The standard deviation of returns."""
        variance = self.square / jnp.maximum(self.weight, 1e-6) - jnp.square(self.centre)
        return jnp.where(self.weight > 0, jnp.sqrt(jnp.maximum(variance, 1e-4)), 1.0)

    def update(
        self, returns: Float[Array, "*axes outputs"], weight: Float[Array, "*axes"], ema: float
    ) -> "ReturnStatistics":
        """The statistics with some more returns, older ones counting a little less."""
        axes = tuple(range(returns.ndim - 1))
        count = jnp.maximum(total(weight.sum()), 1e-6)
        share = jnp.broadcast_to((weight / count)[..., None], returns.shape)
        mean, square = total(((share * returns).sum(axis=axes), (share * jnp.square(returns)).sum(axis=axes)))
        keep = 1.0 - ema
        return ReturnStatistics(
            keep * self.mean + ema * mean, keep * self.square + ema * square, keep * self.weight + ema
        )

    def denormalise(self, value: Float[Array, "*axes outputs"]) -> Float[Array, "*axes outputs"]:
        """A value of the critic, in units of reward."""
        own = jax.lax.stop_gradient(self)
        shape = value.shape
        return jnp.broadcast_to(own.centre, shape) + jnp.broadcast_to(own.spread, shape) * value

    def normalise(self, value: Float[Array, "*axes outputs"]) -> Float[Array, "*axes outputs"]:
        """A value in units of reward, in those of the critic."""
        own = jax.lax.stop_gradient(self)
        return (value - jnp.broadcast_to(own.centre, value.shape)) / jnp.broadcast_to(own.spread, value.shape)

    def rescale(self, head: Linear, before: "ReturnStatistics", actions: int) -> Linear:
        """A head whose values mean in these units what they meant in those before (PopArt).

        The head has `actions` numbers for each output.
        """
        ratio = jnp.repeat(before.spread / self.spread, actions)
        shift = jnp.repeat((before.centre - self.centre) / self.spread, actions)
        assert head.bias is not None
        changed = (jnp.broadcast_to(ratio, head.weight.shape) * head.weight, ratio * head.bias + shift)
        return eqx.tree_at(lambda own: (own.weight, own.bias), head, changed)
