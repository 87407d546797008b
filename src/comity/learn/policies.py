"""A policy network: a torso and a head."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.game import Seat
from comity.core.spaces import legal
from comity.nets.distributions import Distribution
from comity.nets.heads import PolicyHead
from comity.nets.network import Network
from comity.nets.torso import Torso


class Policy(eqx.Module):
    """From observations to a distribution over actions."""

    torso: Torso
    head: PolicyHead

    def __init__(self, network: Network, seat: Seat, key: Key) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = network.build(seat.observation, torso_key)
        self.head = PolicyHead(self.torso.features, seat.action, head_key, network.head_bias)

    def unroll(
        self, carry: PyTree, obs: PyTree, resets: Bool[Array, "time ..."], forward: bool = False
    ) -> Distribution:
        """How the policy acts along a trajectory, time first; `forward` if for forward-mode derivatives."""
        return self.of(self.torso.unroll(carry, obs, resets, forward)[0], obs)

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Distribution]:
        """The memory after an observation, and the distribution of the action."""
        carry, features = self.torso.step(carry, obs)
        return carry, self.of(features, obs)

    def of(self, features: Float[Array, "... features"], obs: PyTree) -> Distribution:
        """The distribution of the action, from features of the observation."""
        return self.head(features, legal(self.torso.observation, obs))

    @property
    def std(self) -> Float[Array, ""] | None:
        """The standard deviation of continuous actions, averaged over them; None for choices."""
        return None if self.head.log_std is None else jnp.exp(self.head.clipped_log_std).mean()

    def clip_std(self, largest: float | Float[Array, ""]) -> "Policy":
        """The policy with the standard deviation of continuous actions held below a bound."""
        if self.head.log_std is None:
            return self
        clipped = jnp.minimum(self.head.log_std, jnp.log(largest))
        return eqx.tree_at(lambda policy: policy.head.log_std, self, clipped)
