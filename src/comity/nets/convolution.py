"""A convolution over planes, on arrays with any leading axes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.linear import Precision


class Convolution(eqx.Module):
    """A 3 x 3 convolution over planes [..., planes, height, width], the border padded with zeros."""

    weight: Float[Array, "outputs inputs 3 3"]
    bias: Float[Array, " outputs"]
    step_size: int = eqx.field(static=True)
    precision: Precision = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        step_size: int,
        scale: float,
        key: Key,
        precision: Precision = "float32",
    ) -> None:
        shape = (outputs, inputs, 3, 3)
        self.weight = scale / (9 * inputs) ** 0.5 * jax.random.normal(key, shape, jnp.float32)
        self.bias = jnp.zeros(outputs, jnp.float32)
        self.step_size = step_size
        self.precision = precision

    def __call__(self, x: Float[Array, "... inputs height width"]) -> Float[Array, "... outputs h w"]:
        flat, weight = x.reshape((-1, *x.shape[-3:])), self.weight
        if self.precision == "bfloat16":
            flat, weight = flat.astype(jnp.bfloat16), weight.astype(jnp.bfloat16)
        strides = (self.step_size, self.step_size)
        y = jax.lax.conv_general_dilated(flat, weight, strides, [(1, 1), (1, 1)]).astype(jnp.float32)
        y = y + jnp.broadcast_to(self.bias[:, None, None], y.shape)
        return y.reshape((*x.shape[:-3], *y.shape[1:]))
