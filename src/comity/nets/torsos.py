"""Torsos turn observations into features: a table, a perceptron, convolutions, any of them with memory."""

from typing import Any, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.spaces import Discrete, Space
from comity.nets.layers import GRU, LSTM, Convolution, Linear

HIDDEN_SCALE = 2.0**0.5
RECURRENT: dict[str, type[GRU] | type[LSTM]] = {"gru": GRU, "lstm": LSTM}
T = TypeVar("T")


class Network(eqx.Module):
    """The shape of a policy's or a critic's network."""

    kind: Literal["tabular", "mlp", "gru", "lstm"] = "gru"  # a table, a perceptron, or a recurrent net
    width: int = 64  # units of a hidden layer and of the memory
    depth: int = 1  # dense layers (before the memory in a recurrent net)
    after: int = 0  # dense layers after the memory; the first also sees what the memory saw
    stack: int = 1  # how many of the last observations are seen at once
    overlaps: bool = False  # in games seen as planes: whether to see how each plane overlaps each one before
    shared: bool = False  # whether policy and critic share all but their heads
    filters: tuple[int, ...] = ()  # in games seen as planes: planes of the 3 x 3 convolutions that come first
    stride: int = 1  # how far these move at each place
    normalise: bool = False  # whether observations are brought to their running mean 0 and variance 1
    orthogonal: bool = False  # whether dense layers start with orthogonal weights instead of normal ones
    precision: Literal["float32", "bfloat16"] = "float32"  # of what is computed; weights stay float32

    def __check_init__(self) -> None:
        require(self.stride >= 1, "network.stride", self.stride, "at least 1")
        require(all(f >= 1 for f in self.filters), "network.filters", self.filters, "each at least 1")
        if self.filters:
            require(self.stack == 1, "network.stack", self.stack, "1 with network.filters")
            require(not self.overlaps, "network.overlaps", self.overlaps, "false with network.filters")
        require(self.width >= 1, "network.width", self.width, "at least 1")
        require(self.depth >= 0, "network.depth", self.depth, "at least 0")
        require(self.after >= 0, "network.after", self.after, "at least 0")
        require(self.stack >= 1, "network.stack", self.stack, "at least 1")
        if self.kind == "tabular":
            require(self.stack == 1, "network.stack", self.stack, "1 for a table")
            require(not self.overlaps, "network.overlaps", self.overlaps, "false for a table")
            require(not self.filters, "network.filters", self.filters, "empty for a table")
            require(not self.normalise, "network.normalise", self.normalise, "false for a table")

    def check(self, observation: Space) -> None:
        """Raises if the network cannot read the observation."""
        if self.kind == "tabular" and not isinstance(observation, Discrete):
            raise ComityError(
                f"A tabular network needs a discrete observation, and this game gives "
                f"{spaces.describe(observation)}: use network.kind mlp or gru."
            )
        observation = spaces.plain(observation)
        for name in ("overlaps", "filters"):
            if getattr(self, name) and spaces.planes(observation) is None:
                raise ComityError(
                    f"network.{name} needs an observation of planes, and this game gives "
                    f"{spaces.describe(observation)}: leave it out."
                )


def refuse_normaliser(*networks: Network) -> None:
    """Raises if a network wants running statistics from a learner that does not keep any."""
    for network in networks:
        allowed = "false here: a2c, ppo, ippo, mappo and trpo keep these statistics"
        require(not network.normalise, "network.normalise", network.normalise, allowed)


class TorsoMemory(NamedTuple):
    """The observations before this one, newest first, and the recurrent state; empty where not used."""

    earlier: tuple[Float[Array, "... flat"], ...]
    hidden: PyTree


class Normaliser(eqx.Module):
    """Running mean and variance of a vector, and how many were seen; nothing is seen through it untouched."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    count: Float[Array, ""]

    def __init__(self, size: int) -> None:
        self.mean, self.variance = jnp.zeros(size, jnp.float32), jnp.ones(size, jnp.float32)
        self.count = jnp.float32(0.0)

    def __call__(self, x: Float[Array, "... n"]) -> Float[Array, "... n"]:
        """In units of the spread, within 10 of them; the statistics are not learned by gradients."""
        own = jax.lax.stop_gradient(self)
        scale = jnp.broadcast_to(jax.lax.rsqrt(own.variance + 1e-8), x.shape)
        return jnp.clip((x - jnp.broadcast_to(own.mean, x.shape)) * scale, -10.0, 10.0)

    def after(self, x: Float[Array, "... n"], weight: Float[Array, "..."]) -> "Normaliser":
        """The statistics with some more vectors, by the rule for joining two samples."""
        axes = tuple(range(x.ndim - 1))
        count = weight.sum()
        share = weight[..., None] / jnp.maximum(count, 1.0)
        mean = (share * x).sum(axis=axes)
        variance = (share * jnp.square(x - jnp.broadcast_to(mean, x.shape))).sum(axis=axes)
        total = self.count + count
        part = count / jnp.maximum(total, 1.0)
        shift = mean - self.mean
        joined = (1.0 - part) * self.variance + part * variance + part * (1.0 - part) * jnp.square(shift)
        return eqx.tree_at(
            lambda own: (own.mean, own.variance, own.count),
            self,
            (self.mean + part * shift, jnp.where(total > 0, joined, self.variance), total),
        )


class Torso(eqx.Module):
    """Convolutions, dense layers, memory, dense layers, as far as asked for; a table has none of them."""

    observation: Space = eqx.field(static=True)
    stack: int = eqx.field(static=True)
    overlaps: bool = eqx.field(static=True)
    precision: str = eqx.field(static=True)
    normaliser: Normaliser | None
    convolutions: tuple[Convolution, ...]
    layers: tuple[Linear, ...]
    memory: GRU | LSTM | None
    after: tuple[Linear, ...]

    def __init__(self, network: Network, observation: Space, key: Key) -> None:
        self.observation = observation
        self.stack = network.stack
        self.overlaps = network.overlaps
        self.precision = network.precision
        self.normaliser = Normaliser(spaces.flat_size(observation)) if network.normalise else None
        recurrent = RECURRENT.get(network.kind)
        depth = 0 if network.kind == "tabular" else network.depth
        after = network.after if recurrent else 0
        layer_key, memory_key, after_key = jax.random.split(key, 3)
        self.convolutions = _convolutions(network, observation, jax.random.fold_in(layer_key, 0))
        sizes = [self._inputs] + [network.width] * depth
        self.layers = _dense_layers(sizes, layer_key, network.orthogonal)
        self.memory = recurrent(sizes[-1], network.width, memory_key) if recurrent else None
        joined = [network.width + sizes[-1]] + [network.width] * after
        self.after = _dense_layers(joined, after_key, network.orthogonal) if after else ()

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
        if self.convolutions:
            _, height, width = self._planes
            for layer in self.convolutions:
                height, width = ((n - 1) // layer.stride + 1 for n in (height, width))
            return int(self.convolutions[-1].bias.shape[0]) * height * width
        planes = self._planes[0] if self.overlaps else 0
        return spaces.flat_size(self.observation) * self.stack + planes**2

    @property
    def _planes(self) -> tuple[int, ...]:
        """The shape of an observation of planes."""
        shape = spaces.planes(self.observation)
        assert shape is not None
        return shape

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
        now = self._encode(obs)
        x = self._dense(self._gather((now, *carry.earlier)))
        earlier = (now, *carry.earlier)[: self._kept]
        if self.memory is None:
            return TorsoMemory(earlier, ()), self._precise(x)
        hidden, y = self._quick(self.memory).step(self._quick(carry.hidden), x)
        return TorsoMemory(earlier, self._precise(hidden)), self._precise(self._finish(x, y))

    def seen(self, obs: PyTree, weight: Float[Array, "..."]) -> "Torso":
        """The torso after its statistics took in some more observations, each with its weight."""
        if self.normaliser is None:
            return self
        grown = self.normaliser.after(spaces.encode(self.observation, obs), weight)
        return eqx.tree_at(lambda torso: torso.normaliser, self, grown)

    def _encode(self, obs: PyTree) -> Float[Array, "... flat"]:
        now = spaces.encode(self.observation, obs)
        return now if self.normaliser is None else self.normaliser(now)

    def _dense(self, x: Float[Array, "... inputs"]) -> Array:
        x = self._quick(x)
        if self.convolutions:
            x = self._convolve(x)
        return _through(self._quick(self.layers), x)

    def _convolve(self, x: Float[Array, "... flat"]) -> Array:
        x = x.reshape((*x.shape[:-1], *self._planes))
        for layer in self._quick(self.convolutions):
            x = jax.nn.relu(layer(x))
        return x.reshape((*x.shape[:-3], -1))

    def _quick(self, tree: T) -> T:
        """Numbers in the precision that is computed with."""
        return tree if self.precision == "float32" else _as(tree, jnp.bfloat16)

    def _precise(self, tree: T) -> T:
        return tree if self.precision == "float32" else _as(tree, jnp.float32)

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
        seen = [self._encode(obs)]
        for first in carry.earlier:
            seen.append(_delay(seen[-1], first, resets))
        x = self._precise(self._dense(self._gather(tuple(seen))))
        return x, TorsoMemory(tuple(seen[: self._kept]), ())

    def _gather(self, seen: tuple[Array, ...]) -> Array:
        """What the first layer sees: the last observations, and how their planes overlap.

        The overlap of two planes is the sum of their products: that of where the other stands now and
        where my coin was before says that it took my coin, which no single layer could read otherwise.
        """
        parts = list(seen[: self.stack])
        if self.overlaps:
            shape = (self._planes[0], -1)
            now, before = (x.reshape((*x.shape[:-1], *shape)) for x in seen[:2])
            overlap = jnp.einsum("...ic,...jc->...ij", now, before)
            parts.append(overlap.reshape((*overlap.shape[:-2], shape[0] ** 2)))
        return jnp.concatenate(parts, axis=-1)

    def _finish(self, x: Array, y: Array) -> Array:
        return _through(self._quick(self.after), jnp.concatenate([y, x], axis=-1)) if self.after else y


def _as(tree: T, kind: Any) -> T:
    return jax.tree.map(lambda x: x.astype(kind) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def _convolutions(network: Network, observation: Space, key: Key) -> tuple[Convolution, ...]:
    shape = spaces.planes(observation)
    if not network.filters or shape is None:
        return ()
    sizes = [shape[0], *network.filters]
    keys = jax.random.split(key, len(network.filters))
    pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
    return tuple(Convolution(i, o, network.stride, HIDDEN_SCALE, k) for i, o, k in pairs)


def _dense_layers(sizes: list[int], key: Key, orthogonal: bool) -> tuple[Linear, ...]:
    keys = jax.random.split(key, len(sizes))
    pairs = zip(sizes[:-1], sizes[1:], keys[1:], strict=True)
    return tuple(
        Linear(inputs, outputs, HIDDEN_SCALE, k, orthogonal=orthogonal) for inputs, outputs, k in pairs
    )


def _through(layers: tuple[Linear, ...], x: Array) -> Array:
    for layer in layers:
        x = jax.nn.relu(layer(x))
    return x


def _delay(x: Float[Array, "time ... flat"], first: Array, resets: Bool[Array, "time ..."]) -> Array:
    """One step later; nothing is seen from before a reset."""
    late = jnp.concatenate([first[None], x[:-1]])
    return jnp.where(resets[..., None], 0.0, late)
