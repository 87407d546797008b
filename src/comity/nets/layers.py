"""Dense layers and the gated recurrent unit, on arrays with any leading axes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key


class Linear(eqx.Module):
    """x W + b; the weights start as normal numbers of variance scale^2 / inputs, the bias at 0.

    Orthogonal weights would cost seconds of compilation, for their QR decompositions.
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"] | None

    def __init__(self, inputs: int, outputs: int, scale: float, key: Key, use_bias: bool = True) -> None:
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
