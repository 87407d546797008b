"""The core of GTrXL: blocks of gated attention over a window of earlier steps.

A step attends to itself and to the `context` steps before it in the same episode. Keys and values of earlier
steps are kept: while acting, a step costs one step.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.nets.attention import Block, shares
from comity.nets.linear import Linear, Precision
from comity.nets.recurrence import Core


class Cache(NamedTuple):
    """Keys and values of the last steps of each block, oldest first, and which of them are there (1 or 0)."""

    keys: Float[Array, "*batch blocks context width"]
    values: Float[Array, "*batch blocks context width"]
    filled: Float[Array, "*batch context"]


class GatedTransformer(Core):
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

    def initial_carry(self) -> Cache:
        shape = (len(self.blocks), self.context, self.size)
        empty = jnp.zeros(shape, jnp.float32)
        return Cache(empty, empty, jnp.zeros(self.context, jnp.float32))

    def step(self, cache: Cache, x: Float[Array, "... inputs"]) -> tuple[Cache, Float[Array, "... width"]]:
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
            share = shares(score, window[..., None, :] > 0, block)
            seen = jnp.einsum("...hj,...jhd->...hd", share, block.split(value))
            x = block.finish(x, seen.reshape(x.shape))
            keys.append(key[..., 1:, :])
            values.append(value[..., 1:, :])
        stacked = jnp.stack(keys, axis=-3), jnp.stack(values, axis=-3)
        return Cache(*stacked, window[..., 1:]), x

    def unroll(
        self,
        cache: Cache,
        x: Float[Array, "time row inputs"],
        resets: Bool[Array, "time row"],
        forward: bool = False,
    ) -> tuple[Float[Array, "time row width"], Cache]:
        """The outputs of a whole trajectory at once, with a mask, and the cache after each step."""
        x = self.enter(x)
        signal = self._signal()
        length, context = x.shape[0], self.context
        episode = jnp.cumsum(resets, axis=0, dtype=jnp.int32)
        before = jnp.where(cache.filled > 0, 0, -1).T  # cached steps belong to the episode under way
        which = jnp.concatenate([before, episode])
        away = context + jnp.arange(length)[:, None] - jnp.arange(context + length)[None, :]
        near = (away >= 0) & (away <= context)
        allowed = near[:, None, :] & (which.T[None] == episode[:, :, None])  # time, row, window
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
            share = shares(score, allowed[:, :, None, :], block)
            seen = jnp.einsum("tbhj,jbhd->tbhd", share, block.split(value))
            x = block.finish(x, seen.reshape(x.shape))
            keys.append(key)
            values.append(value)
        # Entries t + 1 to t + context of the joined steps are what is kept after step t.
        kept = jnp.arange(length)[:, None] + 1 + jnp.arange(context)[None, :]
        filled = jnp.moveaxis(which[kept], 1, -1) == episode[..., None]

        def windows(parts: list[Array]) -> Float[Array, "time row blocks context width"]:
            joined = jnp.moveaxis(jnp.stack([part[kept] for part in parts]), (0, 2), (2, 3))
            return jnp.where(filled[:, :, None, :, None], joined, 0.0)

        return x, Cache(windows(keys), windows(values), filled.astype(x.dtype))

    def prefers_inputs_at_once(self, steps: int, forward: bool) -> bool:
        return True

    def _signal(self) -> Float[Array, "distances width"]:
        """Waves of many lengths for the distances 0 to `context`."""
        half = (self.size + 1) // 2
        rate = jnp.exp(-jnp.log(10000.0) * jnp.arange(half, dtype=jnp.float32) / half)
        angle = jnp.arange(self.context + 1, dtype=jnp.float32)[:, None] * rate[None, :]
        return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)[:, : self.size]
