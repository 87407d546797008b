"""Dense, convolutional and recurrent layers, on arrays with any leading axes."""

from functools import partial
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


class GRU(eqx.Module):
    r"""A gated recurrent unit (Cho et al., 2014, arXiv:1406.1078), in the form that cuDNN uses.

    .. math::
        r, z &= \sigma(x W_{r,z} + h U_{r,z} + b_{r,z}) \\
        n &= \tanh(x W_n + b_n + r \odot (h U_n + c_n)) \\
        h' &= (1 - z) \odot n + z \odot h
    """

    inputs: Linear
    hidden: Float[Array, "size three_size"]
    candidate_bias: Float[Array, " size"]

    def __init__(self, inputs: int, size: int, key: Key, precision: Precision = "float32") -> None:
        input_key, hidden_key = jax.random.split(key)
        self.inputs = Linear(inputs, 3 * size, 1.0, input_key, precision=precision)
        self.hidden = Linear(size, 3 * size, 1.0, hidden_key, use_bias=False).weight
        self.candidate_bias = jnp.zeros(size, jnp.float32)

    @property
    def size(self) -> int:
        return int(self.candidate_bias.shape[0])

    def start(self) -> Float[Array, " size"]:
        return jnp.zeros(self.size, jnp.float32)

    def step(
        self, h: Float[Array, "... size"], x: Float[Array, "... inputs"]
    ) -> tuple[Float[Array, "... size"], Float[Array, "... size"]]:
        """The memory after an input, which is the output too."""
        u = product(h, self.hidden, self.inputs.precision)
        _, keep, candidate, _ = _gates(self.inputs(x), u, self.candidate_bias)
        h = candidate + keep * (h - candidate)
        return h, h

    def unroll(
        self,
        h: Float[Array, "batch size"],
        x: Float[Array, "time batch inputs"],
        keeps: Float[Array, "time batch"],
    ) -> Float[Array, "time batch size"]:
        """The memory after each input of a trajectory; before it, it is multiplied by `keeps`, 1 or 0.

        Its gradient is written by hand. What is kept of each step are the gates, and the gradient of the
        weights is one product over all steps at the end instead of a small one at each. For reverse mode
        only.
        """
        return _recur(self.inputs.precision, self.inputs(x), self.hidden, self.candidate_bias, h, keeps)


class LSTM(eqx.Module):
    r"""Long short-term memory (Hochreiter and Schmidhuber, 1997), the forget gate open at the start.

    .. math::
        i, f, o &= \sigma(x W_{i,f,o} + h U_{i,f,o} + b_{i,f,o}), \quad g = \tanh(x W_g + h U_g + b_g) \\
        c' &= f \odot c + i \odot g, \quad h' = o \odot \tanh(c')
    """

    inputs: Linear
    hidden: Float[Array, "size four_size"]

    def __init__(self, inputs: int, size: int, key: Key, precision: Precision = "float32") -> None:
        input_key, hidden_key = jax.random.split(key)
        layer = Linear(inputs, 4 * size, 1.0, input_key, precision=precision)
        bias = jnp.zeros(4 * size, jnp.float32).at[size : 2 * size].set(1.0)
        self.inputs = eqx.tree_at(lambda own: own.bias, layer, bias)
        self.hidden = Linear(size, 4 * size, 1.0, hidden_key, use_bias=False).weight

    @property
    def size(self) -> int:
        return int(self.hidden.shape[0])

    def start(self) -> tuple[Float[Array, " size"], Float[Array, " size"]]:
        return jnp.zeros(self.size, jnp.float32), jnp.zeros(self.size, jnp.float32)

    def step(
        self,
        memory: tuple[Float[Array, "... size"], Float[Array, "... size"]],
        x: Float[Array, "... inputs"],
    ) -> tuple[tuple[Float[Array, "... size"], Float[Array, "... size"]], Float[Array, "... size"]]:
        """The memory (output and cell) after an input, and the output."""
        h, cell = memory
        u = product(h, self.hidden, self.inputs.precision)
        enter, forget, leave, candidate = jnp.split(self.inputs(x) + u, 4, axis=-1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        h = jax.nn.sigmoid(leave) * jnp.tanh(cell)
        return (h, cell), h


class Convolution(eqx.Module):
    """A 3 x 3 convolution over planes [..., planes, height, width], the border padded with zeros."""

    weight: Float[Array, "outputs inputs 3 3"]
    bias: Float[Array, " outputs"]
    stride: int = eqx.field(static=True)
    precision: Precision = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        stride: int,
        scale: float,
        key: Key,
        precision: Precision = "float32",
    ) -> None:
        shape = (outputs, inputs, 3, 3)
        self.weight = scale / (9 * inputs) ** 0.5 * jax.random.normal(key, shape, jnp.float32)
        self.bias = jnp.zeros(outputs, jnp.float32)
        self.stride = stride
        self.precision = precision

    def __call__(self, x: Float[Array, "... inputs height width"]) -> Float[Array, "... outputs h w"]:
        flat, weight = x.reshape((-1, *x.shape[-3:])), self.weight
        if self.precision == "bfloat16":
            flat, weight = flat.astype(jnp.bfloat16), weight.astype(jnp.bfloat16)
        strides = (self.stride, self.stride)
        y = jax.lax.conv_general_dilated(flat, weight, strides, [(1, 1), (1, 1)]).astype(jnp.float32)
        y = y + jnp.broadcast_to(self.bias[:, None, None], y.shape)
        return y.reshape((*x.shape[:-3], *y.shape[1:]))


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
    return _contract(x, weight, ((x.ndim - 1,), (0,)), "bfloat16")


def _product_forward(x: Array, weight: Array) -> tuple[Array, tuple[Array, Array]]:
    return _rounded_product(x, weight), (x, weight)


def _product_backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, Array]:
    x, weight = kept
    to_x = _contract(slope, weight, ((slope.ndim - 1,), (1,)), "bfloat16")
    return to_x, _over_rows(x, slope, "bfloat16")


_rounded_product.defvjp(_product_forward, _product_backward)


def _contract(a: Array, b: Array, axes: Axes, precision: Precision) -> Array:
    """The sum of products over some axes of each."""
    if precision == "bfloat16":
        a, b = a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)
    return jax.lax.dot_general(a, b, (axes, ((), ())), preferred_element_type=jnp.float32)


def _over_rows(x: Array, slope: Array, precision: Precision) -> Array:
    """The gradient of weights: the sum of products over all axes but the last."""
    if precision == "float32":
        x, slope = x.reshape(-1, x.shape[-1]), slope.reshape(-1, slope.shape[-1])
    leading = tuple(range(x.ndim - 1))
    return _contract(x, slope, (leading, leading), precision)


def _gates(projected: Array, u: Array, bias: Array) -> tuple[Array, Array, Array, Array]:
    """A GRU's reset and keep gates, its candidate, and what the reset gate lets through, from its products.

    Gates are not computed together: cutting apart and joining cost more than they save.
    """
    size = bias.shape[0]
    reset = jax.nn.sigmoid(projected[..., :size] + u[..., :size])
    keep = jax.nn.sigmoid(projected[..., size : 2 * size] + u[..., size : 2 * size])
    past = u[..., 2 * size :] + jnp.broadcast_to(bias, reset.shape)
    return reset, keep, jnp.tanh(projected[..., 2 * size :] + reset * past), past


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _recur(
    precision: Precision, projected: Array, hidden: Array, bias: Array, first: Array, keeps: Array
) -> Array:
    return _recur_forward(precision, projected, hidden, bias, first, keeps)[0]


def _recur_forward(
    precision: Precision, projected: Array, hidden: Array, bias: Array, first: Array, keeps: Array
) -> tuple[Array, tuple[Array, ...]]:
    weight = hidden if precision == "float32" else hidden.astype(jnp.bfloat16)

    def step(h: Array, inputs: tuple[Array, Array]) -> tuple[Array, tuple[Array, ...]]:
        projected, keeps = inputs
        before = h * keeps[:, None]
        u = _contract(before, weight, ((1,), (0,)), precision)
        reset, keep, candidate, past = _gates(projected, u, bias)
        h = candidate + keep * (before - candidate)
        return h, (h, before, reset, keep, candidate, past)

    _, (memory, *kept) = jax.lax.scan(step, first, (projected, keeps))
    return memory, (hidden, keeps, *kept)


def _recur_backward(
    precision: Precision, kept: tuple[Array, ...], slopes: Float[Array, "time batch size"]
) -> tuple[Array, ...]:
    hidden, keeps, befores, *gates = kept
    size = hidden.shape[0]
    low = hidden if precision == "float32" else hidden.astype(jnp.bfloat16)
    backs = [low[:, i * size : (i + 1) * size].T for i in range(3)]

    def step(later: Array, inputs: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        slope, keeps, before, reset, keep, candidate, past = inputs
        slope = slope + later
        to_candidate = slope * (1.0 - keep) * (1.0 - jnp.square(candidate))
        to_keep = slope * (before - candidate) * keep * (1.0 - keep)
        to_past = to_candidate * reset
        to_reset = to_candidate * past * reset * (1.0 - reset)
        earlier = slope * keep
        for part, back in zip((to_reset, to_keep, to_past), backs, strict=True):
            earlier = earlier + _contract(part, back, ((1,), (0,)), precision)
        return earlier * keeps[:, None], (to_reset, to_keep, to_candidate, to_past)

    last = jnp.zeros_like(slopes[0])
    to_first, each = jax.lax.scan(step, last, (slopes, keeps, befores, *gates), reverse=True)
    to_reset, to_keep, to_candidate, to_past = each
    parts = [_over_rows(befores, part, precision) for part in (to_reset, to_keep, to_past)]
    to_hidden = jnp.concatenate(parts, axis=-1)
    to_projected = jnp.concatenate([to_reset, to_keep, to_candidate], axis=-1)
    return to_projected, to_hidden, to_past.sum(axis=(0, 1)), to_first, jnp.zeros_like(keeps)


_recur.defvjp(_recur_forward, _recur_backward)
