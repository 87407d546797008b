"""What networks with memory have in common: dense layers, a recurrent core, dense layers."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.spaces import Space
from comity.nets.dense import dense_layers, through
from comity.nets.layered import DEEPEST, LayeredNetwork, LayeredTorso
from comity.nets.linear import Linear
from comity.nets.recurrence import Core, cleared
from comity.nets.torso import TorsoCarry


class RecurrentNetwork(LayeredNetwork):
    """The settings of every network with memory."""

    after: int = 0  # dense layers after the memory
    skip: bool = True  # whether the first of these also sees what the memory saw

    def __check_init__(self) -> None:
        require(0 <= self.after <= DEEPEST, "network.after", self.after, f"between 0 and {DEEPEST:,}")

    def build(self, observation: Space, key: Key) -> "RecurrentTorso":
        return RecurrentTorso(self, observation, key)

    @abstractmethod
    def core(self, inputs: int, key: Key) -> Core:
        """What remembers, with new weights."""


class RecurrentTorso(LayeredTorso):
    """Dense layers, a recurrent core, dense layers."""

    memory: Core
    after: tuple[Linear, ...]
    skip: bool = eqx.field(static=True)

    def __init__(self, network: RecurrentNetwork, observation: Space, key: Key) -> None:
        layer_key, core_key, after_key = jax.random.split(key, 3)
        super().__init__(network, observation, layer_key)
        self.memory = network.core(self.read_size, core_key)
        sizes = [network.width + self.read_size * network.skip] + [network.width] * network.after
        self.after = dense_layers(sizes, after_key, network.orthogonal, network.precision)
        self.skip = network.skip

    @property
    def features(self) -> int:
        return self.memory.size

    def initial_carry(self) -> TorsoCarry:
        return self.initial_reading()._replace(hidden=self.memory.initial_carry())

    def step_rows(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Float[Array, "*row features"]]:
        reading, x = self.read(carry, obs)
        hidden, y = self.memory.step(carry.hidden, x)
        return reading._replace(hidden=hidden), self._finish(x, y)

    def unroll_rows(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time row"], forward: bool
    ) -> tuple[Float[Array, "time row features"], TorsoCarry]:
        # Convolutions are far slower step by step.
        if self.convolutions or self.memory.prefers_inputs_at_once(resets.size, forward):
            reading, x = self.read_all(carry, obs, resets)
            y, hidden = self.memory.unroll(carry.hidden, x, resets, forward)
            return self._finish(x, y), reading._replace(hidden=hidden)

        def advance(carry: TorsoCarry, step: tuple[PyTree, Array]) -> tuple[TorsoCarry, PyTree]:
            obs, reset = step
            carry, features = self.step_rows(cleared(carry, reset), obs)
            return carry, (() if same else features, carry)

        same = self.memory.outputs_carry and not self.after  # then the features need not be kept twice
        _, (features, after) = jax.lax.scan(jax.checkpoint(advance), carry, (obs, resets))
        return after.hidden if same else features, after

    def _finish(self, x: Float[Array, "... inputs"], y: Float[Array, "... size"]) -> Array:
        if not self.after:
            return y
        return through(self.after, jnp.concatenate([y, x], axis=-1) if self.skip else y, self.layer_norm)
