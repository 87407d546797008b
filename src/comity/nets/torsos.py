"""Torsos turn observations into features: a table, a perceptron, convolutions, the last two with memory."""

from functools import partial
from typing import Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.spaces import Discrete, Space
from comity.nets.layers import GRU, LSTM, Convolution, Linear, Precision
from comity.nets.transformer import GTrXL

HIDDEN_SCALE = 2.0**0.5
CLOCK = 2  # numbers that tell the time
CACHED = 400_000  # numbers of a memory, over all steps, of which what a GRU keeps fits a processor's cache
T = TypeVar("T")


class Network(eqx.Module):
    """The shape of a policy's or a critic's network."""

    kind: Literal["tabular", "mlp", "gru", "lstm", "gtrxl"] = "gru"
    """a table, a perceptron, a recurrent net, or a gated transformer that looks back over some steps"""
    width: int = 64  # units of a hidden layer and of the memory
    depth: int = 1  # dense layers (before the memory in a recurrent net)
    after: int = 0  # dense layers after the memory
    skip: bool = True  # whether the first of these also sees what the memory saw
    stack: int = 1  # how many of the last observations are seen at once
    overlaps: bool = False  # in games seen as planes: whether to see how each plane overlaps each one before
    shared: bool = False  # whether policy and critic share all but their heads
    filters: tuple[int, ...] = ()  # in games seen as planes: planes of the 3 x 3 convolutions that come first
    stride: int = 1  # how far these move at each place
    blocks: int = 1  # with gtrxl: blocks of attention
    heads: int = 4  # with gtrxl: heads of each block
    context: int = 32  # with gtrxl: how many earlier steps are looked back at
    clock: bool = False  # whether to see how many steps the episode has lasted
    normalise: bool = False  # whether observations are brought to their running mean 0 and variance 1
    orthogonal: bool = False  # whether dense layers start with orthogonal weights instead of normal ones
    precision: Precision = "float32"  # of the factors in products; sums and weights stay float32

    def __check_init__(self) -> None:
        require(self.stride >= 1, "network.stride", self.stride, "at least 1")
        require(all(f >= 1 for f in self.filters), "network.filters", self.filters, "each at least 1")
        if self.filters:
            require(self.stack == 1, "network.stack", self.stack, "1 with network.filters")
            require(not self.overlaps, "network.overlaps", self.overlaps, "false with network.filters")
        for name in ("width", "blocks", "heads", "context"):
            require(getattr(self, name) >= 1, f"network.{name}", getattr(self, name), "at least 1")
        if self.kind == "gtrxl":
            fits = self.width % self.heads == 0
            require(fits, "network.heads", self.heads, f"a divisor of network.width, which is {self.width}")
        require(self.depth >= 0, "network.depth", self.depth, "at least 0")
        require(self.after >= 0, "network.after", self.after, "at least 0")
        require(self.stack >= 1, "network.stack", self.stack, "at least 1")
        if self.kind == "tabular":
            require(self.stack == 1, "network.stack", self.stack, "1 for a table")
            require(not self.overlaps, "network.overlaps", self.overlaps, "false for a table")
            require(not self.filters, "network.filters", self.filters, "empty for a table")
            require(not self.normalise, "network.normalise", self.normalise, "false for a table")
            require(not self.clock, "network.clock", self.clock, "false for a table")

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
    """The observations before this one, newest first, the recurrent state, the time; empty if not used."""

    earlier: tuple[Float[Array, "... flat"], ...]
    hidden: PyTree
    clock: PyTree = ()


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
    skip: bool = eqx.field(static=True)
    clock: bool = eqx.field(static=True)
    normaliser: Normaliser | None
    convolutions: tuple[Convolution, ...]
    layers: tuple[Linear, ...]
    memory: GRU | LSTM | GTrXL | None
    after: tuple[Linear, ...]

    def __init__(self, network: Network, observation: Space, key: Key) -> None:
        self.observation = observation
        self.stack = network.stack
        self.overlaps = network.overlaps
        self.skip = network.skip
        self.clock = network.clock
        self.normaliser = Normaliser(spaces.flat_size(observation)) if network.normalise else None
        depth = 0 if network.kind == "tabular" else network.depth
        layer_key, memory_key, after_key = jax.random.split(key, 3)
        self.convolutions = _convolutions(network, observation, jax.random.fold_in(layer_key, 0))
        sizes = [self._inputs] + [network.width] * depth
        self.layers = _dense_layers(sizes, layer_key, network)
        self.memory = _memory(network, sizes[-1], memory_key)
        after = network.after if self.memory is not None else 0
        joined = [network.width + sizes[-1] * network.skip] + [network.width] * after
        self.after = _dense_layers(joined, after_key, network) if after else ()

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
            return int(self.convolutions[-1].bias.shape[0]) * height * width + CLOCK * self.clock
        planes = self._planes[0] if self.overlaps else 0
        return spaces.flat_size(self.observation) * self.stack + planes**2 + CLOCK * self.clock

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
        clock = jnp.float32(0.0) if self.clock else ()
        return TorsoMemory(earlier, () if self.memory is None else self.memory.start(), clock)

    def starts(self, count: int, age: Int[Array, " count"] | None = None) -> TorsoMemory:
        """That memory for each of `count` streams side by side, whose episodes have lasted `age` steps."""
        memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), self.start())
        return memory._replace(clock=age.astype(jnp.float32)) if self.clock and age is not None else memory

    def step(self, carry: TorsoMemory, obs: PyTree) -> tuple[TorsoMemory, Float[Array, "... features"]]:
        """The memory after an observation, and the features of it."""
        now = self._encode(obs)
        x = self._dense(self._gather((now, *carry.earlier)), carry.clock)
        earlier = (now, *carry.earlier)[: self._kept]
        clock = carry.clock + 1.0 if self.clock else ()
        if self.memory is None:
            return TorsoMemory(earlier, (), clock), x
        hidden, y = self.memory.step(carry.hidden, x)
        return TorsoMemory(earlier, hidden, clock), self._finish(x, y)

    def seen(self, obs: PyTree, weight: Float[Array, "..."]) -> "Torso":
        """The torso after its statistics took in some more observations, each with its weight."""
        if self.normaliser is None:
            return self
        grown = self.normaliser.after(spaces.encode(self.observation, obs), weight)
        return eqx.tree_at(lambda torso: torso.normaliser, self, grown)

    def _encode(self, obs: PyTree) -> Float[Array, "... flat"]:
        now = spaces.encode(self.observation, obs)
        return now if self.normaliser is None else self.normaliser(now)

    def _dense(self, x: Float[Array, "... inputs"], clock: PyTree) -> Array:
        if self.convolutions:
            x = self._convolve(x)
        if self.clock:
            x = jnp.concatenate([x, jnp.stack([jnp.log1p(clock) / 7.0, clock / 1000.0], -1)], -1)
        return _through(self.layers, x)

    def _convolve(self, x: Float[Array, "... flat"]) -> Array:
        x = x.reshape((*x.shape[:-1], *self._planes))
        for layer in self.convolutions:
            x = jax.nn.relu(layer(x))
        return x.reshape((*x.shape[:-3], -1))

    def unroll(
        self, carry: TorsoMemory, obs: PyTree, resets: Bool[Array, "time ..."], forward: bool = False
    ) -> tuple[Float[Array, "time ... features"], TorsoMemory]:
        """The features of a whole trajectory, time first, and the memory after each step.

        `forward` says that forward-mode derivatives are going to be taken.
        """
        if self._steps_at_once(resets, forward):
            return self._unroll_at_once(carry, obs, resets, forward)

        def advance(carry: TorsoMemory, step: tuple[PyTree, Array]) -> tuple[TorsoMemory, PyTree]:
            seen, reset = step
            carry, features = self.step(_cleared(carry, reset), seen)
            return carry, (() if same else features, carry)

        same = isinstance(self.memory, GRU) and not self.after  # then the features are the memory
        _, (features, memory) = jax.lax.scan(jax.checkpoint(advance), carry, (obs, resets))
        return memory.hidden if same else features, memory

    def _steps_at_once(self, resets: Bool[Array, "time ..."], forward: bool) -> bool:
        """Whether what does not depend on the memory is computed for all steps at once.

        Else whole steps run one after another and are computed again on the way back. On a CPU that is
        faster if what would be kept of all steps does not fit the processor's cache: at 50 steps of 512
        games and 64 units by a third. Convolutions are far slower that way.
        """
        if not isinstance(self.memory, GRU | LSTM) or self.convolutions:
            return True
        small = resets.size * self.memory.size <= CACHED or jax.default_backend() != "cpu"
        return isinstance(self.memory, GRU) and not forward and small

    def _unroll_at_once(
        self, carry: TorsoMemory, obs: PyTree, resets: Bool[Array, "time ..."], forward: bool
    ) -> tuple[Float[Array, "time ... features"], TorsoMemory]:
        seen = [self._encode(obs)]
        for first in carry.earlier:
            seen.append(_delay(seen[-1], first, resets))
        clock: PyTree = _clock(carry.clock, resets) if self.clock else ()
        x = self._dense(self._gather(tuple(seen)), clock)
        after = TorsoMemory(tuple(seen[: self._kept]), (), clock + 1.0 if self.clock else ())
        if self.memory is None:
            return x, after
        y, hidden = self._remember(carry.hidden, x, resets, forward)
        return self._finish(x, y), after._replace(hidden=hidden)

    def _remember(
        self, hidden: PyTree, x: Float[Array, "time ... inputs"], resets: Array, forward: bool
    ) -> tuple[Float[Array, "time ... size"], PyTree]:
        """What comes out of the memory at each step, and the memory after it."""
        memory = self.memory
        assert memory is not None
        if isinstance(memory, GTrXL):
            return memory.unroll(hidden, x, resets)
        if isinstance(memory, GRU) and not forward and resets.ndim == 2:
            y = memory.unroll(hidden, x, 1.0 - resets.astype(jnp.float32))
            return y, y

        def advance(hidden: PyTree, step: tuple[Array, Array]) -> tuple[PyTree, PyTree]:
            x, reset = step
            hidden, y = memory.step(_cleared(hidden, reset), x)
            return hidden, (y, hidden)

        _, (y, hidden) = jax.lax.scan(jax.checkpoint(advance), hidden, (x, resets))
        return y, hidden

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
        if not self.after:
            return y
        return _through(self.after, jnp.concatenate([y, x], axis=-1) if self.skip else y)


def _memory(network: Network, inputs: int, key: Key) -> GRU | LSTM | GTrXL | None:
    if network.kind == "gtrxl":
        sizes = network.width, network.blocks, network.heads, network.context
        return GTrXL(inputs, *sizes, key, network.precision)
    if network.kind in ("gru", "lstm"):
        return (GRU if network.kind == "gru" else LSTM)(inputs, network.width, key, network.precision)
    return None


def _cleared(memory: T, reset: Bool[Array, "..."]) -> T:
    """A memory, emptied where an episode begins."""

    def clear(x: Array) -> Array:
        return jnp.where(reset.reshape(reset.shape + (1,) * (x.ndim - reset.ndim)), jnp.zeros_like(x), x)

    return jax.tree.map(clear, memory)


def _clock(first: Float[Array, "..."], resets: Bool[Array, "time ..."]) -> Float[Array, "time ..."]:
    """How many steps each episode has lasted before each step of a trajectory."""

    def advance(clock: Array, reset: Array) -> tuple[Array, Array]:
        clock = jnp.where(reset, 0.0, clock)
        return clock + 1.0, clock

    return jax.lax.scan(advance, first, resets)[1]


def _convolutions(network: Network, observation: Space, key: Key) -> tuple[Convolution, ...]:
    shape = spaces.planes(observation)
    if not network.filters or shape is None:
        return ()
    sizes = [shape[0], *network.filters]
    keys = jax.random.split(key, len(network.filters))
    pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
    return tuple(Convolution(i, o, network.stride, HIDDEN_SCALE, k, network.precision) for i, o, k in pairs)


def _dense_layers(sizes: list[int], key: Key, network: Network) -> tuple[Linear, ...]:
    keys = jax.random.split(key, len(sizes))
    pairs = zip(sizes[:-1], sizes[1:], keys[1:], strict=True)
    layer = partial(Linear, orthogonal=network.orthogonal, precision=network.precision)
    return tuple(layer(inputs, outputs, HIDDEN_SCALE, k) for inputs, outputs, k in pairs)


def _through(layers: tuple[Linear, ...], x: Array) -> Array:
    for layer in layers:
        x = jax.nn.relu(layer(x))
    return x


def _delay(x: Float[Array, "time ... flat"], first: Array, resets: Bool[Array, "time ..."]) -> Array:
    """One step later; nothing is seen from before a reset."""
    late = jnp.concatenate([first[None], x[:-1]])
    return jnp.where(resets[..., None], 0.0, late)
