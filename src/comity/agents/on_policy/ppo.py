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
from comity.agents.on_policy.kl import KLRule
from comity.agents.on_policy.minibatches import Order, minibatches, single_steps
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.shards import devices, mean_over, take_games
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
    """by their spread (scale), or to mean 0 and variance 1 over the batch (unbiased: as torch has it) or over
    each minibatch"""
    clip_ratio: float = 0.2  # how far the probability ratio may move from 1
    epochs: int = 2  # passes over each rollout
    minibatches: int = 2  # parts of a rollout
    minibatch_order: Order = "games"
    """whole games in a new order each epoch; without memory also single steps, in a new order or in-order"""
    kl: KLRule = KLRule()  # what happens when the policy has moved too far

    tunable: ClassVar[tuple[str, ...]] = (*ActorCriticAgent.tunable, "clip_ratio")
    reuses_values: ClassVar[bool] = True
    spreads: ClassVar[bool] = True

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
        values = self.played_values(state, batch, read)
        shaped = shape(values)
        targets = self.critic.targets(values, self.slow_values(state, values, read), read, self.discount)
        state = self.renormalise(state, targets, read)
        entropy_weight = self.entropy_weight(context.progress)
        shared = self.critic.shared and read.inputs is batch.obs
        data = (batch, read, targets, shaped.advantage)
        if self.minibatch_order != "games":
            order = self.minibatch_order
            require(devices() == 1, "minibatch_order", order, "games on several devices")
            data = single_steps(*data, state.critic)

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
            ratio = jnp.exp(log_ratio)
            gain = weighted_mean(clipped_surrogate(ratio, advantage, self.clip_ratio), batch.decides)
            clipped = weighted_mean(
                (jnp.abs(ratio - 1.0) > self.clip_ratio).astype(jnp.float32), batch.decides
            )
            entropy = weighted_mean(distribution.entropy(), batch.decides)
            now = (
                critic_values(critic, policy.torso, read, unrolled)
                if shared
                else self.values(critic, policy, read)
            )
            value_loss = self.critic.error(critic, now, targets, read)
            total = -gain - entropy_weight * entropy + self.critic.value_coef * value_loss
            kl = weighted_mean(approximate_kl(log_ratio), batch.decides)
            metrics = {"loss": total, "policy_loss": -gain, "value_loss": value_loss, "entropy": entropy}
            return total, {**metrics, "kl": kl, "clip_fraction": clipped}

        def step(state: LearnerState, games: Array) -> tuple[LearnerState, Metrics]:
            part = data
            if self.minibatches > 1:  # else the order does not matter, and copying would cost
                advantage = take_games(data[3], games, 2)
                part = (data[0].take(games), data[1].take(games), data[2].take(games), advantage)
            gradients, metrics = jax.grad(loss, argnums=(0, 1), has_aux=True)(
                state.policy, state.critic, *part
            )
            gradients = mean_over(gradients)
            norm = optax.tree.norm(gradients)
            metrics |= {"gradient_norm": norm, **self.pace_metrics(state, context)}
            return self.apply_gradients(state, gradients, context.progress), metrics

        games = data[0].games * devices()
        parts = minibatches(key, games, self.epochs, self.minibatches, self.minibatch_order)
        state, metrics = self.kl.run(step, state, parts, self.epochs)
        return self.update_statistics(state, batch, read), {**metrics, **shaped.metrics}
