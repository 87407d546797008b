"""Torsos turn observations into features: a table, a perceptron, or a perceptron with memory."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.spaces import Box, Discrete, Space
from comity.nets.layers import GRU, Linear

HIDDEN_SCALE = 2.0**0.5


class Network(eqx.Module):
    """The shape of a policy's or a critic's network."""

    kind: Literal["tabular", "mlp", "gru"] = "gru"  # a table, a perceptron, or a recurrent net
    width: int = 64  # units of a hidden layer and of the memory
    depth: int = 1  # dense layers (before the memory in a recurrent net)
    after: int = 0  # dense layers after the memory; the first also sees what the memory saw
    stack: int = 1  # how many of the last observations are seen at once
    overlaps: bool = False  # in games seen as planes: whether to see how each plane overlaps each one before
    shared: bool = False  # whether policy and critic share all but their heads

    def __check_init__(self) -> None:
        require(self.width >= 1, "network.width", self.width, "at least 1")
        require(self.depth >= 0, "network.depth", self.depth, "at least 0")
        require(self.after >= 0, "network.after", self.after, "at least 0")
        require(self.stack >= 1, "network.stack", self.stack, "at least 1")
        if self.kind == "tabular":
            require(self.stack == 1, "network.stack", self.stack, "1 for a table")
            require(not self.overlaps, "network.overlaps", self.overlaps, "false for a table")

    def check(self, observation: Space) -> None:
        """Raises if the network cannot read the observation."""
        if self.kind == "tabular" and not isinstance(observation, Discrete):
            raise ComityError(
                f"A tabular network needs a discrete observation, and this game gives "
                f"{spaces.describe(observation)}: use network.kind mlp or gru."
            )
        if self.overlaps and not (isinstance(observation, Box) and len(observation.shape) == 3):
            raise ComityError(
                f"network.overlaps needs an observation of planes, and this game gives "
                f"{spaces.describe(observation)}: turn it off."
            )


class TorsoMemory(NamedTuple):
    """The observations before this one, newest first, and the recurrent state; empty where not used."""

    earlier: tuple[Float[Array, "... flat"], ...]
    hidden: PyTree


class Torso(eqx.Module):
    """Dense layers, then memory if there is any, then dense layers; a table passes its one-hot through."""

    observation: Space = eqx.field(static=True)
    stack: int = eqx.field(static=True)
    overlaps: bool = eqx.field(static=True)
    layers: tuple[Linear, ...]
    memory: GRU | None
    after: tuple[Linear, ...]

    def __init__(self, network: Network, observation: Space, key: Key) -> None:
        self.observation = observation
        self.stack = network.stack
        self.overlaps = network.overlaps
        tabular = network.kind == "tabular"
        depth = 0 if tabular else network.depth
        after = network.after if network.kind == "gru" else 0
        layer_key, memory_key, after_key = jax.random.split(key, 3)
        sizes = [self._inputs] + [network.width] * depth
        self.layers = _dense_layers(sizes, layer_key)
        self.memory = GRU(sizes[-1], network.width, memory_key) if network.kind == "gru" else None
        joined = [network.width + sizes[-1]] + [network.width] * after
        self.after = _dense_layers(joined, after_key) if after else ()

    @property
    def features(self) -> int:
        """The length of the feature vector."""
        if self.memory is not None:
            return self.memory.size
        if self.layers:
            return int(self.layers[-1].weight.shape[1])
        return self._inputs

    @property
    def _inputs(self) -> int:
        """The length of the vector that the first layer sees."""
        planes = self.observation.shape[0] if self.overlaps and isinstance(self.observation, Box) else 0
        return spaces.flat_size(self.observation) * self.stack + planes**2

    @property
    def _kept(self) -> int:
        """How many earlier observations are kept."""
        return max(self.stack - 1, 1 if self.overlaps else 0)

    def start(self) -> TorsoMemory:
        """The memory at the start of an episode."""
        flat = spaces.flat_size(self.observation)
        earlier = tuple(jnp.zeros(flat, jnp.float32) for _ in range(self._kept))
        return TorsoMemory(earlier, () if self.memory is None else self.memory.start())

    def starts(self, count: int) -> TorsoMemory:
        """That memory for each of `count` streams side by side."""
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), self.start())

    def step(self, carry: TorsoMemory, obs: PyTree) -> tuple[TorsoMemory, Float[Array, "... features"]]:
        """The memory after an observation, and the features of it."""
        now = spaces.encode(self.observation, obs)
        x = _through(self.layers, self._gather((now, *carry.earlier)))
        earlier = (now, *carry.earlier)[: self._kept]
        if self.memory is None:
            return TorsoMemory(earlier, ()), x
        hidden, y = self.memory.step(carry.hidden, x)
        return TorsoMemory(earlier, hidden), self._finish(x, y)

    def unroll(
        self, carry: TorsoMemory, obs: PyTree, resets: Bool[Array, "time ..."]
    ) -> tuple[Float[Array, "time ... features"], TorsoMemory]:
        """The features of a whole trajectory, time first, and the memory after each step.

        With memory, whole steps run one after another, and are computed again on the way back: what a
        step needs stays in the processor's cache, which was twice as fast on a CPU as projecting the
        inputs of all steps at once.
        """
        if self.memory is None:
            return self._unroll_at_once(carry, obs, resets)

        def advance(carry: TorsoMemory, step: tuple[PyTree, Array]) -> tuple[TorsoMemory, PyTree]:
            seen, reset = step
            carry = jax.tree.map(lambda x: jnp.where(reset[..., None], 0.0, x), carry)
            carry, features = self.step(carry, seen)
            return carry, (features, carry)

        _, (features, memory) = jax.lax.scan(jax.checkpoint(advance), carry, (obs, resets))
        return features, memory

    def _unroll_at_once(
        self, carry: TorsoMemory, obs: PyTree, resets: Bool[Array, "time ..."]
    ) -> tuple[Float[Array, "time ... features"], TorsoMemory]:
        seen = [spaces.encode(self.observation, obs)]
        for first in carry.earlier:
            seen.append(_delay(seen[-1], first, resets))
        x = _through(self.layers, self._gather(tuple(seen)))
        return x, TorsoMemory(tuple(seen[: self._kept]), ())

    def _gather(self, seen: tuple[Array, ...]) -> Array:
        """What the first layer sees: the last observations, and how their planes overlap.

        The overlap of two planes is the sum of their products: that of where the other stands now and
        where my coin was before says that it took my coin, which no single layer could read otherwise.
        """
        parts = list(seen[: self.stack])
        if self.overlaps and isinstance(self.observation, Box):
            shape = (self.observation.shape[0], -1)
            now, before = (x.reshape((*x.shape[:-1], *shape)) for x in seen[:2])
            overlap = jnp.einsum("...ic,...jc->...ij", now, before)
            parts.append(overlap.reshape((*overlap.shape[:-2], shape[0] ** 2)))
        return jnp.concatenate(parts, axis=-1)

    def _finish(self, x: Array, y: Array) -> Array:
        return _through(self.after, jnp.concatenate([y, x], axis=-1)) if self.after else y


def _dense_layers(sizes: list[int], key: Key) -> tuple[Linear, ...]:
    keys = jax.random.split(key, len(sizes))
    pairs = zip(sizes[:-1], sizes[1:], keys[1:], strict=True)
    return tuple(Linear(inputs, outputs, HIDDEN_SCALE, k) for inputs, outputs, k in pairs)


def _through(layers: tuple[Linear, ...], x: Array) -> Array:
    for layer in layers:
        x = jax.nn.relu(layer(x))
    return x


def _delay(x: Float[Array, "time ... flat"], first: Array, resets: Bool[Array, "time ..."]) -> Array:
    """One step later; nothing is seen from before a reset."""
    late = jnp.concatenate([first[None], x[:-1]])
    return jnp.where(resets[..., None], 0.0, late)
