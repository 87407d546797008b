"""A multi-layer perceptron: dense layers without memory."""

import jax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.spaces import Space
from comity.nets.layered import LayeredNetwork, LayeredTorso
from comity.nets.torso import TorsoCarry


class MLP(LayeredNetwork):
    """Dense layers, each followed by a ReLU."""

    def build(self, observation: Space, key: Key) -> "MLPTorso":
        return MLPTorso(self, observation, key)


class MLPTorso(LayeredTorso):
    """Dense layers, without memory but for the observations and the time that the inputs ask for."""

    def __init__(self, network: LayeredNetwork, observation: Space, key: Key) -> None:
        super().__init__(network, observation, jax.random.split(key, 3)[0])  # as with memory

    @property
    def features(self) -> int:
        return self.read_size

    def initial_carry(self) -> TorsoCarry:
        return self.initial_reading()

    def step_rows(self, carry: TorsoCarry, obs: PyTree) -> tuple[TorsoCarry, Float[Array, "*row features"]]:
        return self.read(carry, obs)

    def unroll_rows(
        self, carry: TorsoCarry, obs: PyTree, resets: Bool[Array, "time row"], forward: bool
    ) -> tuple[Float[Array, "time row features"], TorsoCarry]:
        after, x = self.read_all(carry, obs, resets)
        return x, after
