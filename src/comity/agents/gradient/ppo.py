r"""Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347), for one seat or many.

.. math:: \max_\theta E_t\big[\min(\rho_t A_t, \mathrm{clip}(\rho_t, 1-\epsilon, 1+\epsilon) A_t)\big] + c_H H
          - c_V (V - G)^2 / 2, \qquad \rho_t = \pi_\theta(a_t|s_t) / \pi_{old}(a_t|s_t)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import ActorCriticAgent, LearnerState, linear, stream_advantages
from comity.agents.streams import streams
from comity.core.errors import require
from comity.core.types import Experience
from comity.nets.torsos import Network
from comity.returns.surrogates import (
    approximate_kl,
    clipped_surrogate,
    clipped_value_loss,
    normalise,
    weighted_mean,
)


class PPO(ActorCriticAgent):
    """Several passes over each rollout, with the change of the policy kept small."""

    network: Network = eqx.field(default_factory=Network)  # the shape of policy and critic
    learning_rate: float = 1e-3  # Adam's step size
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    discount: float = 0.96  # what the next step's reward counts
    trace: float = 0.95  # lambda of generalised advantage estimation
    clip: float = 0.2  # how far the probability ratio may move from 1
    value_clip: float = 0.2  # how far the value may move in one update; 0 for no limit
    epochs: int = 2  # passes over each rollout
    minibatches: int = 2  # parts of a rollout, each of whole sequences
    entropy: float = 0.01  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end, reached linearly
    value_weight: float = 0.5  # weight of the value loss
    max_gradient: float = 0.5  # largest norm of the gradient
    normalise_advantages: bool = True  # whether advantages get mean 0 and variance 1

    def __check_init__(self) -> None:
        require(0.0 <= self.discount <= 1.0, "discount", self.discount, "between 0 and 1")
        require(0.0 <= self.trace <= 1.0, "trace", self.trace, "between 0 and 1")
        require(self.clip > 0, "clip", self.clip, "above 0")
        require(self.epochs >= 1, "epochs", self.epochs, "at least 1")
        require(self.minibatches >= 1, "minibatches", self.minibatches, "at least 1")

    def update(
        self, state: LearnerState, experience: Experience, key: Key
    ) -> tuple[LearnerState, dict[str, Array]]:
        data = streams(experience.joint, experience.seats)
        advantage, target = stream_advantages(data, self.discount, self.trace)
        if self.normalise_advantages:
            advantage = normalise(advantage, data.weight)
        entropy_weight = self.entropy * linear(self.final_entropy, experience.progress)
        count = data.reward.shape[1]
        require(
            count % self.minibatches == 0, "minibatches", self.minibatches, f"a divisor of {count} streams"
        )

        def loss(net, part):  # type: ignore[no-untyped-def]
            data, advantage, target = part
            policy, value = net.unroll(data.carry, data.obs, data.resets)
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

        def minibatch(state, chosen):  # type: ignore[no-untyped-def]
            part = jax.tree.map(
                lambda x: jnp.take(x, chosen, axis=1), (data._replace(carry=()), advantage, target)
            )
            carry = jax.tree.map(lambda x: jnp.take(x, chosen, axis=0), data.carry)
            part = (part[0]._replace(carry=carry), *part[1:])
            gradient, metrics = jax.grad(loss, has_aux=True)(state.net, part)
            state, norm = self.descend(state, gradient, experience.progress)
            return state, {**metrics, "gradient_norm": norm}

        keys = jax.random.split(key, self.epochs)
        orders = jax.vmap(lambda k: jax.random.permutation(k, count))(keys)
        parts = orders.reshape(self.epochs * self.minibatches, count // self.minibatches)
        state, metrics = jax.lax.scan(minibatch, state, parts)
        return state, jax.tree.map(jnp.mean, metrics)
