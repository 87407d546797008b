"""The network of a critic: a torso of its own or the policy's, and a linear head."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.spaces import Space
from comity.learn.statistics import ReturnStatistics
from comity.nets.linear import Linear
from comity.nets.network import Network
from comity.nets.torso import Torso

HEAD_SCALE = 0.1


class CriticNet(eqx.Module):
    """Values or action values for one or more kinds of reward.

    `outputs` is 1 for one's own reward, 2 for one's own and that of the others together. `actions` is 0 for
    a critic of states, else the number of actions. A critic of afterstates values what follows a step before
    chance draws: the successor with the numbers that are `resampled` hidden. The head's numbers are in units
    of `unit` and of the running spread of returns, neither of which is learned by gradients.
    """

    torso: Torso | None
    head: Linear
    statistics: ReturnStatistics
    outputs: int = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    resampled: tuple[bool, ...] = eqx.field(static=True)
    unit: float = eqx.field(static=True)

    def __init__(
        self,
        network: Network,
        sees: Space,
        key: Key,
        *,
        shared_features: int | None = None,
        outputs: int = 1,
        actions: int = 0,
        resampled: tuple[bool, ...] = (),
        unit: float = 1.0,
    ) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = network.build(sees, torso_key) if shared_features is None else None
        features = self.torso.features if self.torso is not None else shared_features
        assert features is not None
        self.head = Linear(features, outputs * max(actions, 1), HEAD_SCALE, head_key, network.head_bias)
        self.statistics = ReturnStatistics.initial(outputs)
        self.outputs, self.actions, self.resampled, self.unit = outputs, actions, resampled, unit

    def read(self, features: Float[Array, "*axes features"]) -> Float[Array, "*axes outputs actions"]:
        """Values from features, in units of reward; for a critic of states the last axis has length 1."""
        out = self.head(features)
        out = out.reshape((*out.shape[:-1], self.outputs, max(self.actions, 1)))
        values: Array = jnp.moveaxis(self.denormalise(jnp.moveaxis(out, -1, 0)), 0, -1)
        return values

    def denormalise(self, value: Float[Array, "*axes outputs"]) -> Float[Array, "*axes outputs"]:
        """The head's numbers in units of reward."""
        return self.unit * self.statistics.denormalise(value)

    def normalise(self, value: Float[Array, "*axes outputs"]) -> Float[Array, "*axes outputs"]:
        """Values in units of reward, in those of the head: what its errors are measured in."""
        return self.statistics.normalise(value / self.unit)

    def mean_over_actions(
        self, values: Float[Array, "*axes outputs actions"], probabilities: PyTree
    ) -> Float[Array, "*axes outputs"]:
        """The value of the state: as it is, or the mean over the actions of the policy that was played."""
        if self.actions == 0:
            return values[..., 0]
        return (values * jnp.broadcast_to(probabilities[..., None, :], values.shape)).sum(axis=-1)

    def of_action(
        self, values: Float[Array, "*axes outputs actions"], action: PyTree
    ) -> Float[Array, "*axes outputs"]:
        """The value of what was done: of the action, or of the state."""
        if self.actions == 0:
            return values[..., 0]
        index = jnp.broadcast_to(action[..., None, None], (*values.shape[:-1], 1))
        return jnp.take_along_axis(values, index, axis=-1)[..., 0]
