"""Torsos turn observations into features: a table, a perceptron, or a perceptron with memory."""

from typing import Literal

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.spaces import Discrete, Space
from comity.nets.layers import GRU, Linear

HIDDEN_SCALE = 2.0**0.5


class Network(eqx.Module):
    """The shape of a policy's or a critic's network."""

    kind: Literal["tabular", "mlp", "gru"] = "gru"  # a table, a perceptron, or a recurrent net
    width: int = 64  # units of a hidden layer and of the memory
    depth: int = 1  # dense layers (before the memory in a recurrent net)
    shared: bool = False  # whether policy and critic share all but their heads

    def __check_init__(self) -> None:
        require(self.width >= 1, "network.width", self.width, "at least 1")
        require(self.depth >= 0, "network.depth", self.depth, "at least 0")

    def check(self, observation: Space) -> None:
        """Raises if the network cannot read the observation."""
        if self.kind == "tabular" and not isinstance(observation, Discrete):
            raise ComityError(
                f"A tabular network needs a discrete observation, and this game gives "
                f"{spaces.describe(observation)}: use network.kind mlp or gru."
            )


class Torso(eqx.Module):
    """Dense layers, then memory if there is any; a table passes its one-hot observation through."""

    observation: Space = eqx.field(static=True)
    layers: tuple[Linear, ...]
    memory: GRU | None

    def __init__(self, network: Network, observation: Space, key: Key) -> None:
        self.observation = observation
        depth = 0 if network.kind == "tabular" else network.depth
        *layer_keys, memory_key = jax.random.split(key, depth + 1)
        sizes = [spaces.flat_size(observation)] + [network.width] * depth
        self.layers = tuple(
            Linear(inputs, outputs, HIDDEN_SCALE, k)
            for inputs, outputs, k in zip(sizes[:-1], sizes[1:], layer_keys, strict=True)
        )
        self.memory = GRU(sizes[-1], network.width, memory_key) if network.kind == "gru" else None

    @property
    def features(self) -> int:
        """The length of the feature vector."""
        if self.memory is not None:
            return self.memory.size
        if self.layers:
            return int(self.layers[-1].weight.shape[1])
        return spaces.flat_size(self.observation)

    def start(self) -> PyTree:
        """The memory at the start of an episode."""
        return () if self.memory is None else self.memory.start()

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Float[Array, "... features"]]:
        """The memory after an observation, and the features of it."""
        x = self._dense(obs)
        return (carry, x) if self.memory is None else self.memory.step(carry, x)

    def unroll(
        self, carry: PyTree, obs: PyTree, resets: Bool[Array, "time ..."]
    ) -> Float[Array, "time ... features"]:
        """The features of a whole trajectory, time first."""
        x = self._dense(obs)
        return x if self.memory is None else self.memory.unroll(carry, x, resets)

    def _dense(self, obs: PyTree) -> Float[Array, "... features"]:
        x = spaces.encode(self.observation, obs)
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return x
