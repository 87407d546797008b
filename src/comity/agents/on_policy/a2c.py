r"""Advantage actor-critic (Mnih et al., 2016, arXiv:1602.01783), synchronous.

.. math:: \nabla J = E\Big[\sum_t A_t \nabla\log\pi(a_t|s_t)\Big] + c_H \nabla H - c_V \nabla (V - G)^2 / 2
"""

from typing import ClassVar

import jax
import optax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.base import (
    ActorCriticAgent,
    LearnerState,
    PolicyGradientAgent,
    Shape,
    refuse_minibatches,
)
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.shards import mean_over
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch, critic_values
from comity.learn.critics import CriticTargets
from comity.learn.policies import Policy
from comity.returns.surrogates import weighted_mean


class A2C(ActorCriticAgent):
    """One gradient step per rollout on the advantage-weighted log-probabilities.

    Policy and critic are unrolled once: the advantages are measured from the very values that learn.
    """

    spreads: ClassVar[bool] = True

    def __check_init__(self) -> None:
        refuse_minibatches(self.normalise_advantages)

    def learn(
        self,
        state: LearnerState,
        batch: TeamBatch,
        read: CriticBatch,
        shape: Shape,
        context: Context,
        key: Key,
    ) -> tuple[LearnerState, Metrics]:
        return one_step(self, state, batch, read, shape, context)


def one_step(
    agent: PolicyGradientAgent,
    state: LearnerState,
    batch: TeamBatch,
    read: CriticBatch,
    shape: Shape,
    context: Context,
) -> tuple[LearnerState, Metrics]:
    """One gradient step of policy and critic; advantages are measured from the values that learn."""
    entropy_weight = agent.entropy_weight(context.progress)

    def loss(policy: Policy, critic: CriticNet) -> tuple[Float[Array, ""], tuple[Metrics, CriticTargets]]:
        unrolled = policy.torso.unroll(batch.carry[0], batch.obs, batch.resets)
        if agent.critic.shared and read.inputs is batch.obs:
            now = critic_values(critic, policy.torso, read, unrolled)
        else:
            now = agent.values(critic, policy, read)
        fixed = jax.lax.stop_gradient(now)
        shaped = shape(fixed)
        distribution = policy.of(unrolled[0], batch.obs)
        log_prob = distribution.log_prob(batch.extras.raw)
        gain = weighted_mean(jax.lax.stop_gradient(shaped.advantage) * log_prob, batch.decides)
        entropy = weighted_mean(distribution.entropy(), batch.decides)
        slow = agent.slow_values(state, now, read)
        targets = agent.critic.targets(fixed, slow, read, agent.discount)
        value_loss = agent.critic.error(critic, now, targets, read)
        total = -gain - entropy_weight * entropy + agent.critic.value_coef * value_loss
        metrics = {"loss": total, "policy_loss": -gain, "value_loss": value_loss, "entropy": entropy}
        metrics |= shaped.metrics
        return total, (metrics, targets)

    pace = agent.pace_metrics(state, context)
    gradients, (metrics, targets) = jax.grad(loss, argnums=(0, 1), has_aux=True)(state.policy, state.critic)
    gradients = mean_over(gradients)
    state = agent.apply_gradients(state, gradients, context.progress)
    state = agent.renormalise(state, targets, read)  # for the next update: this one's values are known
    norm = optax.tree.norm(gradients[0])
    return agent.update_statistics(state, batch, read), {**metrics, **pace, "gradient_norm": norm}
