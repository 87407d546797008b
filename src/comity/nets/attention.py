r"""Blocks of gated attention with relative positions (Parisotto et al., 2020, arXiv:1910.06764).

The score of the step j for the step t is that of Transformer-XL (Dai et al., 2019, arXiv:1901.02860):

.. math:: \big((q_t + u)\cdot k_j + (q_t + v)\cdot r_{t-j}\big)/\sqrt d

Normalisation comes before each part and a gate instead of a sum after it, so that a new network is close to a
memoryless one.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.linear import Linear, Precision

GATE_BIAS = 2.0  # how closed gates are at the start
HIDDEN = -1e9  # the score of what may not be looked at


class Norm(eqx.Module):
    """Layer normalisation over the last axis."""

    scale: Float[Array, " width"]
    shift: Float[Array, " width"]

    def __init__(self, width: int) -> None:
        self.scale, self.shift = jnp.ones(width, jnp.float32), jnp.zeros(width, jnp.float32)

    def __call__(self, x: Float[Array, "... width"]) -> Float[Array, "... width"]:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x * jax.lax.rsqrt(jnp.square(x).mean(axis=-1, keepdims=True) + 1e-5)
        return x * jnp.broadcast_to(self.scale, x.shape) + jnp.broadcast_to(self.shift, x.shape)


class Gate(eqx.Module):
    r"""A GRU's gates between what goes past a part and what comes out of it, mostly closed at the start.

    .. math::
        r, z &= \sigma(y W_{r,z} + x U_{r,z} - b_{r,z}), \quad h = \tanh(y W_h + (r \odot x) U_h) \\
        x' &= (1 - z) \odot x + z \odot h
    """

    update: Linear  # of what comes out
    past: Linear  # of what goes past, for the gates
    candidate: Linear  # of what goes past, for the candidate

    def __init__(self, width: int, key: Key, precision: Precision) -> None:
        update_key, past_key, candidate_key = jax.random.split(key, 3)
        layer = Linear(width, 3 * width, 1.0, update_key, precision=precision)
        closed = jnp.zeros(3 * width, jnp.float32).at[width : 2 * width].set(-GATE_BIAS)
        self.update = eqx.tree_at(lambda own: own.bias, layer, closed)
        self.past = Linear(width, 2 * width, 1.0, past_key, use_bias=False, precision=precision)
        self.candidate = Linear(width, width, 1.0, candidate_key, use_bias=False, precision=precision)

    def __call__(self, x: Float[Array, "... width"], y: Float[Array, "... width"]) -> Array:
        width = x.shape[-1]
        fresh = self.update(y)
        gates = jax.nn.sigmoid(fresh[..., : 2 * width] + self.past(x))
        reset, open_ = gates[..., :width], gates[..., width:]
        candidate = jnp.tanh(fresh[..., 2 * width :] + self.candidate(reset * x))
        return x + open_ * (candidate - x)


class Block(eqx.Module):
    """Attention and a perceptron, each with a norm before it and a gate after it."""

    norms: tuple[Norm, Norm]
    gates: tuple[Gate, Gate]
    project: Linear  # to queries, keys and values
    position: Linear
    content_bias: Float[Array, "heads depth"]
    position_bias: Float[Array, "heads depth"]
    leave: Linear
    hidden: tuple[Linear, Linear]

    def __init__(self, width: int, heads: int, key: Key, precision: Precision) -> None:
        keys = jax.random.split(key, 7)
        linear = partial(Linear, width, precision=precision)
        self.norms = Norm(width), Norm(width)
        self.gates = Gate(width, keys[0], precision), Gate(width, keys[1], precision)
        self.project = linear(3 * width, 1.0, keys[2], use_bias=False)
        self.position = linear(width, 1.0, keys[3], use_bias=False)
        self.content_bias = jnp.zeros((heads, width // heads), jnp.float32)
        self.position_bias = jnp.zeros((heads, width // heads), jnp.float32)
        self.leave = linear(width, 1.0, keys[4], use_bias=False)
        self.hidden = linear(width, 2.0**0.5, keys[5]), linear(width, 1.0, keys[6])

    def split(self, x: Float[Array, "... width"]) -> Float[Array, "... heads depth"]:
        """The heads' parts of a vector."""
        return x.reshape((*x.shape[:-1], *self.content_bias.shape))

    def look(
        self, x: Float[Array, "... width"]
    ) -> tuple[Float[Array, "... width"], Float[Array, "... width"], Float[Array, "... width"]]:
        """Queries, keys and values of some steps."""
        query, key, value = jnp.split(self.project(self.norms[0](x)), 3, axis=-1)
        return query, key, value

    def content(self, query: Float[Array, "... width"]) -> Float[Array, "... heads depth"]:
        """What is compared with keys."""
        query = self.split(query)
        return query + jnp.broadcast_to(self.content_bias, query.shape)

    def places(
        self, query: Float[Array, "... width"], signal: Float[Array, "distances width"]
    ) -> Float[Array, "... heads distances"]:
        """The scores of distances."""
        query = self.split(query)
        query = query + jnp.broadcast_to(self.position_bias, query.shape)
        return jnp.einsum("...hd,shd->...hs", query, self.split(self.position(signal)))

    def finish(self, x: Float[Array, "... width"], seen: Float[Array, "... width"]) -> Array:
        """What follows attention."""
        x = self.gates[0](x, jax.nn.relu(self.leave(seen)))
        out = self.hidden[1](jax.nn.relu(self.hidden[0](self.norms[1](x))))
        return self.gates[1](x, jax.nn.relu(out))


def shares(score: Array, allowed: Bool[Array, "..."], block: Block) -> Array:
    """How much of each step of the window is taken in."""
    score = score / block.content_bias.shape[-1] ** 0.5
    return jax.nn.softmax(jnp.where(allowed, score, HIDDEN), axis=-1)
