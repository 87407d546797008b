"""A stack of dense layers."""

import jax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.linear import Linear, Precision

HIDDEN_SCALE = 2.0**0.5  # keeps the variance of what goes through a ReLU


def dense_layers(sizes: list[int], key: Key, orthogonal: bool, precision: Precision) -> tuple[Linear, ...]:
    """New layers from each size to the next."""
    keys = jax.random.split(key, len(sizes))
    return tuple(
        Linear(inputs, outputs, HIDDEN_SCALE, own_key, orthogonal=orthogonal, precision=precision)
        for inputs, outputs, own_key in zip(sizes[:-1], sizes[1:], keys[1:], strict=True)
    )


def through(
    layers: tuple[Linear, ...], x: Float[Array, "... inputs"], normalise: bool = False
) -> Float[Array, "... outputs"]:
    """Layers one after another, each followed by a ReLU, and normalised before it if asked for."""
    for layer in layers:
        x = layer(x)
        x = jax.nn.relu(layer_normalised(x) if normalise else x)
    return x


def layer_normalised(x: Float[Array, "... units"]) -> Float[Array, "... units"]:
    """Units with mean 0 and variance 1 over the layer (Ba et al., 2016, arXiv:1607.06450).

    There is nothing to learn in it: the next layer can scale and shift as well.
    """
    return jax.nn.standardize(x, axis=-1, epsilon=1e-6)
