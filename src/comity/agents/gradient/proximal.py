"""What PPO and its centralised form share: the clipped objective, and minibatches of whole sequences."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from jaxtyping import PRNGKeyArray as Key

from comity.agents.streams import Streams
from comity.core.errors import require
from comity.core.types import Agent
from comity.nets.distributions import Distribution
from comity.returns.surrogates import approximate_kl, clipped_surrogate, clipped_value_loss, weighted_mean


class Proximal(Agent):
    """A learner that takes several passes over each rollout, with the change of the policy kept small."""

    discount: eqx.AbstractVar[float]
    trace: eqx.AbstractVar[float]
    clip: eqx.AbstractVar[float]
    value_clip: eqx.AbstractVar[float]
    epochs: eqx.AbstractVar[int]
    minibatches: eqx.AbstractVar[int]
    value_weight: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        require(0.0 <= self.discount <= 1.0, "discount", self.discount, "between 0 and 1")
        require(0.0 <= self.trace <= 1.0, "trace", self.trace, "between 0 and 1")
        require(self.clip > 0, "clip", self.clip, "above 0")
        require(self.epochs >= 1, "epochs", self.epochs, "at least 1")
        require(self.minibatches >= 1, "minibatches", self.minibatches, "at least 1")

    def objective(
        self,
        policy: Distribution,
        value: Float[Array, "time stream"],
        data: Streams,
        advantage: Float[Array, "time stream"],
        target: Float[Array, "time stream"],
        entropy_weight: Float[Array, ""],
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The clipped surrogate, the entropy bonus and the value loss as one loss, and its parts."""
        log_ratio = policy.log_prob(data.extras.raw) - data.extras.log_prob
        gain = weighted_mean(clipped_surrogate(jnp.exp(log_ratio), advantage, self.clip), data.weight)
        entropy = weighted_mean(policy.entropy(), data.weight)
        if self.value_clip > 0:
            squares = clipped_value_loss(value, data.extras.value, target, self.value_clip)
        else:
            squares = 0.5 * jnp.square(value - target)
        value_loss = weighted_mean(squares, data.weight)
        total = -gain - entropy_weight * entropy + self.value_weight * value_loss
        kl = weighted_mean(approximate_kl(log_ratio), data.weight)
        return total, {"loss": total, "entropy": entropy, "value_loss": value_loss, "kl": kl}

    def parts(self, key: Key, count: int) -> Int[Array, "steps streams"]:
        """Which streams are in which minibatch, all epochs one after another."""
        require(
            count % self.minibatches == 0, "minibatches", self.minibatches, f"a divisor of {count} streams"
        )
        keys = jax.random.split(key, self.epochs)
        orders = jax.vmap(lambda k: jax.random.permutation(k, count))(keys)
        return orders.reshape(self.epochs * self.minibatches, count // self.minibatches)


def pick(
    chosen: Int[Array, " streams"], data: Streams, *more: Float[Array, "time stream"]
) -> tuple[Streams, *tuple[Float[Array, "time stream"], ...]]:
    """Some of the streams, whole, with their memories."""
    part = jax.tree.map(lambda x: jnp.take(x, chosen, axis=1), (data._replace(carry=()), *more))
    carry = jax.tree.map(lambda x: jnp.take(x, chosen, axis=0), data.carry)
    return (part[0]._replace(carry=carry), *part[1:])
