r"""GTrXL: a gated transformer that looks back over some steps (Parisotto et al., 2020, arXiv:1910.06764).

Attention with relative positions (Transformer-XL, Dai et al., 2019, arXiv:1901.02860): a step attends to
itself and to the `context` steps before it in the same episode, with the score

.. math:: \big((q_t + u)\cdot k_j + (q_t + v)\cdot r_{t-j}\big)/\sqrt d

Normalisation comes before each part and a gate instead of a sum after it, so that a new network is close to a
memoryless one. Keys and values of earlier steps are kept: while acting, a step costs one step.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.layers import Linear, Precision

GATE_BIAS = 2.0  # how closed gates are at the start
HIDDEN = -1e9  # the score of what may not be looked at


class Cache(NamedTuple):
    """Keys and values of the last steps of each block, oldest first, and which of them are there (1 or 0)."""

    keys: Float[Array, "*batch blocks context width"]
    values: Float[Array, "*batch blocks context width"]
    filled: Float[Array, "*batch context"]


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


class GTrXL(eqx.Module):
    """Some blocks over a window of `context` earlier steps."""

    enter: Linear
    blocks: tuple[Block, ...]
    context: int = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        width: int,
        blocks: int,
        heads: int,
        context: int,
        key: Key,
        precision: Precision = "float32",
    ) -> None:
        enter_key, *keys = jax.random.split(key, blocks + 1)
        self.enter = Linear(inputs, width, 1.0, enter_key, precision=precision)
        self.blocks = tuple(Block(width, heads, k, precision) for k in keys)
        self.context = context

    @property
    def size(self) -> int:
        return int(self.enter.weight.shape[1])

    def start(self) -> Cache:
        shape = (len(self.blocks), self.context, self.size)
        empty = jnp.zeros(shape, jnp.float32)
        return Cache(empty, empty, jnp.zeros(self.context, jnp.float32))

    def step(self, cache: Cache, x: Float[Array, "... inputs"]) -> tuple[Cache, Float[Array, "... width"]]:
        """The cache after an input, and the output."""
        x = self.enter(x)
        signal = self._signal()[::-1]  # entry i of the window is context - i steps away
        here = jnp.ones((*cache.filled.shape[:-1], 1), cache.filled.dtype)
        window = jnp.concatenate([cache.filled, here], axis=-1)
        keys, values = [], []
        for i, block in enumerate(self.blocks):
            query, key, value = block.look(x)
            key, value = (
                jnp.concatenate([old[..., i, :, :], new[..., None, :]], axis=-2)
                for old, new in ((cache.keys, key), (cache.values, value))
            )
            score = jnp.einsum("...hd,...jhd->...hj", block.content(query), block.split(key))
            score = score + block.places(query, signal)
            share = _shares(score, window[..., None, :] > 0, block)
            seen = jnp.einsum("...hj,...jhd->...hd", share, block.split(value))
            x = block.finish(x, seen.reshape(x.shape))
            keys.append(key[..., 1:, :])
            values.append(value[..., 1:, :])
        stacked = jnp.stack(keys, axis=-3), jnp.stack(values, axis=-3)
        return Cache(*stacked, window[..., 1:]), x

    def unroll(
        self,
        cache: Cache,
        x: Float[Array, "time batch inputs"],
        resets: Bool[Array, "time batch"],
    ) -> tuple[Float[Array, "time batch width"], Cache]:
        """The outputs of a whole trajectory at once, and the cache after each step."""
        x = self.enter(x)
        signal = self._signal()
        length, context = x.shape[0], self.context
        episode = jnp.cumsum(resets, axis=0, dtype=jnp.int32)
        before = jnp.where(cache.filled > 0, 0, -1).T  # cached steps belong to the episode under way
        which = jnp.concatenate([before, episode])
        away = context + jnp.arange(length)[:, None] - jnp.arange(context + length)[None, :]
        near = (away >= 0) & (away <= context)
        allowed = near[:, None, :] & (which.T[None] == episode[:, :, None])  # time, batch, window
        distance = jnp.clip(away, 0, context)
        keys, values = [], []
        for i, block in enumerate(self.blocks):
            query, key, value = block.look(x)
            key, value = (
                jnp.concatenate([jnp.moveaxis(old[:, i], 1, 0), new])
                for old, new in ((cache.keys, key), (cache.values, value))
            )
            score = jnp.einsum("tbhd,jbhd->tbhj", block.content(query), block.split(key))
            places = block.places(query, signal)
            index = jnp.broadcast_to(distance[:, None, None, :], score.shape)
            score = score + jnp.take_along_axis(places, index, axis=-1)
            share = _shares(score, allowed[:, :, None, :], block)
            seen = jnp.einsum("tbhj,jbhd->tbhd", share, block.split(value))
            x = block.finish(x, seen.reshape(x.shape))
            keys.append(key)
            values.append(value)
        # Entries t + 1 to t + context of the joined steps are what is kept after step t.
        kept = jnp.arange(length)[:, None] + 1 + jnp.arange(context)[None, :]
        filled = jnp.moveaxis(which[kept], 1, -1) == episode[..., None]

        def windows(parts: list[Array]) -> Float[Array, "time batch blocks context width"]:
            joined = jnp.moveaxis(jnp.stack([part[kept] for part in parts]), (0, 2), (2, 3))
            return jnp.where(filled[:, :, None, :, None], joined, 0.0)

        return x, Cache(windows(keys), windows(values), filled.astype(x.dtype))

    def _signal(self) -> Float[Array, "distances width"]:
        """Waves of many lengths for the distances 0 to `context`."""
        half = (self.size + 1) // 2
        rate = jnp.exp(-jnp.log(10000.0) * jnp.arange(half, dtype=jnp.float32) / half)
        angle = jnp.arange(self.context + 1, dtype=jnp.float32)[:, None] * rate[None, :]
        return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)[:, : self.size]


def _shares(score: Array, allowed: Bool[Array, "..."], block: Block) -> Array:
    """How much of each step of the window is taken in."""
    score = score / block.content_bias.shape[-1] ** 0.5
    return jax.nn.softmax(jnp.where(allowed, score, HIDDEN), axis=-1)
