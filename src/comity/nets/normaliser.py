"""Running statistics of observations, and observations normalised by them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.shards import total


class Normaliser(eqx.Module):
    """Running mean and variance of a vector, and of how many; before there are any it changes nothing."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    count: Float[Array, ""]

    def __init__(self, size: int) -> None:
        self.mean, self.variance = jnp.zeros(size, jnp.float32), jnp.ones(size, jnp.float32)
        self.count = jnp.float32(0.0)

    def __call__(self, x: Float[Array, "... n"]) -> Float[Array, "... n"]:
        """(x - mean) / standard deviation, clipped to 10; the statistics are not learned by gradients."""
        own = jax.lax.stop_gradient(self)
        scale = jnp.broadcast_to(jax.lax.rsqrt(own.variance + 1e-8), x.shape)
        return jnp.clip((x - jnp.broadcast_to(own.mean, x.shape)) * scale, -10.0, 10.0)

    def after(self, x: Float[Array, "... n"], weight: Float[Array, "..."]) -> "Normaliser":
        """The statistics with some more vectors, by the rule for joining two samples."""
        axes = tuple(range(x.ndim - 1))
        count = total(weight.sum())
        share = weight[..., None] / jnp.maximum(count, 1.0)
        mean = total((share * x).sum(axis=axes))
        variance = total((share * jnp.square(x - jnp.broadcast_to(mean, x.shape))).sum(axis=axes))
        known = self.count + count
        part = count / jnp.maximum(known, 1.0)
        shift = mean - self.mean
        joined = (1.0 - part) * self.variance + part * variance + part * (1.0 - part) * jnp.square(shift)
        return eqx.tree_at(
            lambda own: (own.mean, own.variance, own.count),
            self,
            (self.mean + part * shift, jnp.where(known > 0, joined, self.variance), known),
        )
