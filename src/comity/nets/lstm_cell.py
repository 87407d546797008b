"""A long short-term memory cell."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.nets.linear import Linear, Precision, product
from comity.nets.recurrence import Core, step_by_step


class LSTMCell(Core):
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

    def initial_carry(self) -> tuple[Float[Array, " size"], Float[Array, " size"]]:
        return jnp.zeros(self.size, jnp.float32), jnp.zeros(self.size, jnp.float32)

    def step(
        self,
        carry: tuple[Float[Array, "... size"], Float[Array, "... size"]],
        x: Float[Array, "... inputs"],
    ) -> tuple[tuple[Float[Array, "... size"], Float[Array, "... size"]], Float[Array, "... size"]]:
        h, cell = carry
        u = product(h, self.hidden, self.inputs.precision)
        enter, forget, leave, candidate = jnp.split(self.inputs(x) + u, 4, axis=-1)
        cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        h = jax.nn.sigmoid(leave) * jnp.tanh(cell)
        return (h, cell), h

    def unroll(
        self,
        carry: tuple[Float[Array, "row size"], Float[Array, "row size"]],
        x: Float[Array, "time row inputs"],
        resets: Bool[Array, "time row"],
        forward: bool = False,
    ) -> tuple[Float[Array, "time row size"], PyTree]:
        return step_by_step(self, carry, x, resets)

    def prefers_inputs_at_once(self, steps: int, forward: bool) -> bool:
        return False
