"""Dense, convolutional and recurrent layers, on arrays with any leading axes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key


class Linear(eqx.Module):
    """x W + b; the weights start as normal numbers of variance scale^2 / inputs, the bias at 0.

    Orthogonal weights are a choice: their QR decompositions cost seconds of compilation.
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None

    def __init__(
        self,
        inputs: int,
        outputs: int,
        scale: float,
        key: Key,
        use_bias: bool = True,
        orthogonal: bool = False,
    ) -> None:
        if orthogonal:
            self.weight = jax.nn.initializers.orthogonal(scale)(key, (inputs, outputs), jnp.float32)
        else:
            self.weight = scale / inputs**0.5 * jax.random.normal(key, (inputs, outputs), jnp.float32)
        self.bias = jnp.zeros(outputs, jnp.float32) if use_bias else None

    def __call__(self, x: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
        y = x @ self.weight
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

    def __init__(self, inputs: int, size: int, key: Key) -> None:
        input_key, hidden_key = jax.random.split(key)
        self.inputs = Linear(inputs, 3 * size, 1.0, input_key)
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
        projected = self.inputs(x)
        u = h @ self.hidden
        size = self.size
        gates = jax.nn.sigmoid(projected[..., : 2 * size] + u[..., : 2 * size])
        reset, keep = gates[..., :size], gates[..., size:]
        bias = jnp.broadcast_to(self.candidate_bias, reset.shape)
        candidate = jnp.tanh(projected[..., 2 * size :] + reset * (u[..., 2 * size :] + bias))
        h = candidate + keep * (h - candidate)
        return h, h


class LSTM(eqx.Module):
    r"""Long short-term memory (Hochreiter and Schmidhuber, 1997), the forget gate open at the start.

    .. math::
        i, f, o &= \sigma(x W_{i,f,o} + h U_{i,f,o} + b_{i,f,o}), \quad g = \tanh(x W_g + h U_g + b_g) \\
        c' &= f \odot c + i \odot g, \quad h' = o \odot \tanh(c')
    """

    inputs: Linear
    hidden: Float[Array, "size four_size"]

    def __init__(self, inputs: int, size: int, key: Key) -> None:
        input_key, hidden_key = jax.random.split(key)
        layer = Linear(inputs, 4 * size, 1.0, input_key)
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
        enter, forget, leave, candidate = jnp.split(self.inputs(x) + h @ self.hidden, 4, axis=-1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        h = jax.nn.sigmoid(leave) * jnp.tanh(cell)
        return (h, cell), h


class Convolution(eqx.Module):
    """A 3 x 3 convolution over planes [..., planes, height, width], the border padded with zeros."""

    weight: Float[Array, "outputs inputs 3 3"]
    bias: Float[Array, " outputs"]
    stride: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, stride: int, scale: float, key: Key) -> None:
        shape = (outputs, inputs, 3, 3)
        self.weight = scale / (9 * inputs) ** 0.5 * jax.random.normal(key, shape, jnp.float32)
        self.bias = jnp.zeros(outputs, jnp.float32)
        self.stride = stride

    def __call__(self, x: Float[Array, "... inputs height width"]) -> Float[Array, "... outputs h w"]:
        flat = x.reshape((-1, *x.shape[-3:]))
        strides = (self.stride, self.stride)
        y = jax.lax.conv_general_dilated(flat, self.weight, strides, [(1, 1), (1, 1)])
        y = y + jnp.broadcast_to(self.bias[:, None, None], y.shape)
        return y.reshape((*x.shape[:-3], *y.shape[1:]))
