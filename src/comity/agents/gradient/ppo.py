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
from comity.agents.gradient.proximal import Proximal, pick
from comity.agents.streams import streams
from comity.core.types import Experience
from comity.nets.torsos import Network
from comity.returns.surrogates import normalise


class PPO(ActorCriticAgent, Proximal):
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

    def update(
        self, state: LearnerState, experience: Experience, key: Key
    ) -> tuple[LearnerState, dict[str, Array]]:
        data = streams(experience.joint, experience.seats)
        advantage, target = stream_advantages(data, self.discount, self.trace)
        if self.normalise_advantages:
            advantage = normalise(advantage, data.weight)
        entropy_weight = self.entropy * linear(self.final_entropy, experience.progress)
        count = data.reward.shape[1]

        def loss(net, part):  # type: ignore[no-untyped-def]
            data, advantage, target = part
            policy, value = net.unroll(data.carry, data.obs, data.resets)
            return self.objective(policy, value, data, advantage, target, entropy_weight)

        def minibatch(state, chosen):  # type: ignore[no-untyped-def]
            part = pick(chosen, data, advantage, target)
            gradient, metrics = jax.grad(loss, has_aux=True)(state.net, part)
            state, norm = self.descend(state, gradient, experience.progress)
            return state, {**metrics, "gradient_norm": norm}

        state, metrics = jax.lax.scan(minibatch, state, self.parts(key, count))
        return state, jax.tree.map(jnp.mean, metrics)
