"""A dense layer, and products in float32 or with rounded factors, on arrays with any leading axes."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

Precision = Literal["float32", "bfloat16"]
Axes = tuple[tuple[int, ...], tuple[int, ...]]
# A CPU's gradient of a product with few outputs is faster output by output, over so many rows.
FEW, SHORT, LONG = 8, 512, 16_384


class Linear(eqx.Module):
    """x W + b; the weights start as normal numbers of variance scale^2 / inputs, the bias at 0.

    Orthogonal weights are a choice: their QR decompositions cost seconds of compilation.
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None
    precision: Precision = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        scale: float,
        key: Key,
        use_bias: bool = True,
        orthogonal: bool = False,
        precision: Precision = "float32",
    ) -> None:
        if orthogonal:
            self.weight = jax.nn.initializers.orthogonal(scale)(key, (inputs, outputs), jnp.float32)
        else:
            self.weight = scale / inputs**0.5 * jax.random.normal(key, (inputs, outputs), jnp.float32)
        self.bias = jnp.zeros(outputs, jnp.float32) if use_bias else None
        self.precision = precision

    def __call__(self, x: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
        y = product(x, self.weight, self.precision)
        return y if self.bias is None else y + jnp.broadcast_to(self.bias, y.shape)


def product(
    x: Float[Array, "... inputs"], weight: Float[Array, "inputs outputs"], precision: Precision
) -> Float[Array, "... outputs"]:
    """x W. In bfloat16 the factors are rounded and their products summed in float32, in gradients too.

    That is what the matrix units of processors do: several times as fast as float32, where there are any.
    """
    if precision == "bfloat16":
        return _rounded_product(x, weight)
    inputs, outputs = weight.shape
    rows = x.reshape(-1, inputs)  # in float32, sums over one axis are faster than over several
    if 1 < outputs <= FEW and SHORT <= len(rows) <= LONG and jax.default_backend() == "cpu":
        y = jnp.stack([rows @ weight[:, i] for i in range(outputs)], axis=-1)
    else:
        y = rows @ weight
    return y.reshape((*x.shape[:-1], outputs))


@jax.custom_vjp
def _rounded_product(x: Array, weight: Array) -> Array:
    return contract(x, weight, ((x.ndim - 1,), (0,)), "bfloat16")


def _product_forward(x: Array, weight: Array) -> tuple[Array, tuple[Array, Array]]:
    return _rounded_product(x, weight), (x, weight)


def _product_backward(kept: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, weight = kept
    to_x = contract(gradient, weight, ((gradient.ndim - 1,), (1,)), "bfloat16")
    return to_x, weight_gradient(x, gradient, "bfloat16")


_rounded_product.defvjp(_product_forward, _product_backward)


def contract(a: Array, b: Array, axes: Axes, precision: Precision) -> Array:
    """The sum of products over some axes of each."""
    if precision == "bfloat16":
        a, b = a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)
    return jax.lax.dot_general(a, b, (axes, ((), ())), preferred_element_type=jnp.float32)


def weight_gradient(x: Array, gradient: Array, precision: Precision) -> Array:
    """The gradient of weights: the sum of products over all axes but the last."""
    if precision == "float32":
        x, gradient = x.reshape(-1, x.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
    leading = tuple(range(x.ndim - 1))
    return contract(x, gradient, (leading, leading), precision)
