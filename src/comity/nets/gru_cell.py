"""A gated recurrent unit, with a custom VJP over whole trajectories."""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.linear import Linear, Precision, contract, product, weight_gradient
from comity.nets.recurrence import Core, step_by_step

CACHED = 400_000  # numbers of a memory, over all steps, of which what a GRU keeps fits a processor's cache


class GRUCell(Core):
    r"""A gated recurrent unit (Cho et al., 2014, arXiv:1406.1078), in the form that cuDNN uses.

    .. math::
        r, z &= \sigma(x W_{r,z} + h U_{r,z} + b_{r,z}) \\
        n &= \tanh(x W_n + b_n + r \odot (h U_n + c_n)) \\
        h' &= (1 - z) \odot n + z \odot h
    """

    outputs_carry: ClassVar[bool] = True

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

    def initial_carry(self) -> Float[Array, " size"]:
        return jnp.zeros(self.size, jnp.float32)

    def step(
        self, h: Float[Array, "... size"], x: Float[Array, "... inputs"]
    ) -> tuple[Float[Array, "... size"], Float[Array, "... size"]]:
        u = product(h, self.hidden, self.inputs.precision)
        _, keep, candidate, _ = _gates(self.inputs(x), u, self.candidate_bias)
        h = candidate + keep * (h - candidate)
        return h, h

    def unroll(
        self,
        h: Float[Array, "row size"],
        x: Float[Array, "time row inputs"],
        resets: Bool[Array, "time row"],
        forward: bool = False,
    ) -> tuple[Float[Array, "time row size"], Float[Array, "time row size"]]:
        """The memory after each input of a trajectory, which is the output too.

        In reverse mode it has a custom VJP: what is kept of each step are the gates, and the gradient of the
        weights is one product over all steps at the end instead of a small one at each.
        """
        if forward:
            return step_by_step(self, h, x, resets)
        keeps = 1.0 - resets.astype(jnp.float32)
        y = _recur(self.inputs.precision, self.inputs(x), self.hidden, self.candidate_bias, h, keeps)
        return y, y

    def prefers_inputs_at_once(self, steps: int, forward: bool) -> bool:
        return not forward and (steps * self.size <= CACHED or jax.default_backend() != "cpu")


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
        u = contract(before, weight, ((1,), (0,)), precision)
        reset, keep, candidate, past = _gates(projected, u, bias)
        h = candidate + keep * (before - candidate)
        return h, (h, before, reset, keep, candidate, past)

    _, (memory, *kept) = jax.lax.scan(step, first, (projected, keeps))
    return memory, (hidden, keeps, *kept)


def _recur_backward(
    precision: Precision, kept: tuple[Array, ...], gradients: Float[Array, "time row size"]
) -> tuple[Array, ...]:
    hidden, keeps, befores, *gates = kept
    size = hidden.shape[0]
    low = hidden if precision == "float32" else hidden.astype(jnp.bfloat16)
    backs = [low[:, i * size : (i + 1) * size].T for i in range(3)]

    def step(later: Array, inputs: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        gradient, keeps, before, reset, keep, candidate, past = inputs
        gradient = gradient + later
        to_candidate = gradient * (1.0 - keep) * (1.0 - jnp.square(candidate))
        to_keep = gradient * (before - candidate) * keep * (1.0 - keep)
        to_past = to_candidate * reset
        to_reset = to_candidate * past * reset * (1.0 - reset)
        earlier = gradient * keep
        for part, back in zip((to_reset, to_keep, to_past), backs, strict=True):
            earlier = earlier + contract(part, back, ((1,), (0,)), precision)
        return earlier * keeps[:, None], (to_reset, to_keep, to_candidate, to_past)

    last = jnp.zeros_like(gradients[0])
    to_first, each = jax.lax.scan(step, last, (gradients, keeps, befores, *gates), reverse=True)
    to_reset, to_keep, to_candidate, to_past = each
    parts = [weight_gradient(befores, part, precision) for part in (to_reset, to_keep, to_past)]
    to_hidden = jnp.concatenate(parts, axis=-1)
    to_projected = jnp.concatenate([to_reset, to_keep, to_candidate], axis=-1)
    return to_projected, to_hidden, to_past.sum(axis=(0, 1)), to_first, jnp.zeros_like(keeps)


_recur.defvjp(_recur_forward, _recur_backward)
