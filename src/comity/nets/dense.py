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


def through(layers: tuple[Linear, ...], x: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
    """Layers one after another, each followed by a ReLU."""
    for layer in layers:
        x = jax.nn.relu(layer(x))
    return x
