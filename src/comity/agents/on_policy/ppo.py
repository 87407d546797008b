r"""Proximal policy optimisation (Schulman et al., 2017, arXiv:1707.06347), for one seat or many.

.. math:: \max_\theta E_t\big[\min(\rho_t A_t, \mathrm{clip}(\rho_t, 1-\epsilon, 1+\epsilon) A_t)\big] + c_H H
          - c_V (V - G)^2 / 2, \qquad \rho_t = \pi_\theta(a_t|s_t) / \pi_{old}(a_t|s_t)
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.base import ActorCriticAgent, LearnerState, Shape
from comity.agents.on_policy.kl import KLRule, minibatches
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.learn.advantages import Normalise, normalised
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch, critic_values
from comity.learn.critics import Critic, CriticTargets
from comity.learn.optimisers import Adam
from comity.learn.policies import Policy
from comity.learn.statistics import ReturnNorm
from comity.returns.surrogates import approximate_kl, clipped_surrogate, weighted_mean


class PPO(ActorCriticAgent):
    """Several passes over each rollout, with the change of the policy kept small."""

    critic: Critic = Critic(
        value_clip=0.2, norm=ReturnNorm(return_ema=0.01)
    )  # what advantages are measured from
    optimiser: Adam = Adam(max_grad_norm=0.5)  # how the parameters follow gradients
    normalise_advantages: Normalise = "batch"
    """by their spread (scale), or to mean 0 and variance 1 over the batch or over each minibatch"""
    clip_ratio: float = 0.2  # how far the probability ratio may move from 1
    epochs: int = 2  # passes over each rollout
    minibatches: int = 2  # parts of a rollout, each of whole games
    kl: KLRule = KLRule()  # what happens when the policy has moved too far

    tunable: ClassVar[tuple[str, ...]] = (*ActorCriticAgent.tunable, "clip_ratio")

    def __check_init__(self) -> None:
        require(self.clip_ratio > 0, "clip_ratio", self.clip_ratio, "above 0")
        for name in ("epochs", "minibatches"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")

    def learn(
        self,
        state: LearnerState,
        batch: TeamBatch,
        read: CriticBatch,
        shape: Shape,
        context: Context,
        key: Key,
    ) -> tuple[LearnerState, Metrics]:
        values = jax.lax.stop_gradient(self.values(state.critic, state.policy, read))
        shaped = shape(values)
        targets = self.critic.targets(values, self.slow_values(state, values, read), read, self.discount)
        state = self.renormalise(state, targets, read)
        entropy_weight = self.entropy_weight(context.progress)
        shared = self.critic.shared and read.inputs is batch.obs

        def loss(
            policy: Policy,
            critic: CriticNet,
            batch: TeamBatch,
            read: CriticBatch,
            targets: CriticTargets,
            advantage: Float[Array, "time seat game"],
        ) -> tuple[Float[Array, ""], Metrics]:
            unrolled = policy.torso.unroll(batch.carry[0], batch.obs, batch.resets)
            distribution = policy.of(unrolled[0], batch.obs)
            if self.normalise_advantages == "minibatch":
                advantage = normalised(advantage, batch.decides, "minibatch", self.advantage_clip)
            log_ratio = distribution.log_prob(batch.extras.raw) - batch.extras.log_prob
            gain = clipped_surrogate(jnp.exp(log_ratio), advantage, self.clip_ratio)
            entropy = weighted_mean(distribution.entropy(), batch.decides)
            now = (
                critic_values(critic, policy.torso, read, unrolled)
                if shared
                else self.values(critic, policy, read)
            )
            value_loss = self.critic.error(critic, now, targets, read)
            total = (
                -weighted_mean(gain, batch.decides)
                - entropy_weight * entropy
                + self.critic.value_coef * value_loss
            )
            kl = weighted_mean(approximate_kl(log_ratio), batch.decides)
            return total, {"loss": total, "entropy": entropy, "value_loss": value_loss, "kl": kl}

        def step(state: LearnerState, games: Array) -> tuple[LearnerState, Metrics]:
            part = (batch, read, targets, shaped.advantage)
            if self.minibatches > 1:  # else the order does not matter, and copying would cost
                advantage = jnp.take(shaped.advantage, games, axis=2)
                part = (batch.take(games), read.take(games), targets.take(games), advantage)
            gradients, metrics = jax.grad(loss, argnums=(0, 1), has_aux=True)(
                state.policy, state.critic, *part
            )
            norm = optax.tree.norm(gradients)
            return self.apply_gradients(state, gradients, context.progress), {
                **metrics,
                "gradient_norm": norm,
            }

        parts = minibatches(key, batch.games, self.epochs, self.minibatches)
        state, metrics = self.kl.run(step, state, parts)
        return self._update_statistics(state, batch, read), {**metrics, **shaped.metrics}
