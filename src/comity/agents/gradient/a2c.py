r"""Advantage actor-critic (Mnih et al., 2016, arXiv:1602.01783), synchronous.

.. math:: \nabla J = E\Big[\sum_t A_t \nabla\log\pi(a_t|s_t)\Big] + c_H \nabla H - c_V \nabla (V - G)^2 / 2
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import ActorCriticAgent, LearnerState, linear
from comity.agents.streams import streams
from comity.core.types import Experience
from comity.nets.torsos import Network
from comity.returns.surrogates import normalise, weighted_mean


class A2C(ActorCriticAgent):
    """One gradient step per rollout on the advantage-weighted log-probabilities."""

    network: Network = eqx.field(default_factory=Network)  # the shape of policy and critic
    learning_rate: float = 1e-3  # Adam's step size
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    discount: float = 0.96  # what the next step's reward counts
    trace: float = 0.95  # lambda of generalised advantage estimation
    entropy: float = 0.01  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end, reached linearly
    value_weight: float = 0.5  # weight of the value loss
    max_gradient: float = 1.0  # largest norm of the gradient
    normalise_advantages: bool = False  # whether advantages get mean 0 and variance 1

    def update(
        self, state: LearnerState, experience: Experience, key: Key
    ) -> tuple[LearnerState, dict[str, Array]]:
        data = streams(experience.joint, experience.seats)
        advantage, target = self.advantages(data, self.values(state, experience, data))
        if self.normalise_advantages:
            advantage = normalise(advantage, data.weight)
        entropy_weight = self.entropy * linear(self.final_entropy, experience.progress)

        def loss(net):  # type: ignore[no-untyped-def]
            policy, value = net.unroll(data.carry, data.obs, data.resets)
            gain = weighted_mean(advantage * policy.log_prob(data.extras.raw), data.weight)
            entropy = weighted_mean(policy.entropy(), data.weight)
            value_loss = weighted_mean(0.5 * jnp.square(value - target), data.weight)
            total = -gain - entropy_weight * entropy + self.value_weight * value_loss
            return total, {"loss": total, "entropy": entropy, "value_loss": value_loss}

        gradient, metrics = jax.grad(loss, has_aux=True)(state.net)
        state, norm = self.descend(state, gradient, experience.progress)
        state = state._replace(net=state.net.seen(data.obs, None, data.weight))
        return state, {**metrics, "gradient_norm": norm}
