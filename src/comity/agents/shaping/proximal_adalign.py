r"""Proximal Advantage Alignment (Duque et al., 2024, equations 9 and 10).

.. math:: \max_\theta E\big[\min(\rho_t A^*_t, \mathrm{clip}(\rho_t, 1-\epsilon, 1+\epsilon)A^*_t)\big],\qquad
          A^*_t = A^1_t + \beta\gamma\Big(\sum_{k<t}\gamma^{t-k}A^1_k\Big)A^2_t

with :math:`\rho_t = \pi_\theta(a_t|s_t) / \pi_{old}(a_t|s_t)`: PPO with the aligned advantage.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array
from jaxtyping import PRNGKeyArray as Key

from comity.agents.critics import Kind
from comity.agents.shaping.actor_critic import Lesson, ShapingState, sizes
from comity.agents.shaping.aligned import AlignedAgent
from comity.agents.streams import minibatches, pick, streams
from comity.core.errors import require
from comity.core.types import Experience
from comity.nets.torsos import Network
from comity.returns.alignment import Case, Past
from comity.returns.surrogates import approximate_kl, clipped_surrogate, weighted_mean


class ProximalAdvantageAlignment(AlignedAgent):
    """Several passes over each rollout with the aligned advantage, the change of the policy kept small."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic
    critic: Kind = "value"
    """V; action-value: Q, with V as its mean under the policy; after-state: V that looks ahead to before
    chance draws, so that luck is no advantage"""
    opponent_critic: Literal["own-view", "learned", "given"] = "own-view"
    """where the others' values come from: own critic on their view, learned from their observed rewards,
    or given by them"""
    learn_from: Literal["own", "all"] = "all"
    """the views that an own-view critic learns from: one's own, so that others are valued as if they were
    oneself, or all, so that they are valued as they are"""
    weight: float = 1.0  # beta, the weight of the alignment term
    past: Past = "discounted"  # own past advantages: discounted (eq. 10), averaged (eq. 59) or separate
    past_discount: float = 0.9  # with past separate: further discount of past advantages
    without: tuple[Case, ...] = ()  # cases left out: cooperative, empathetic, vengeful, spiteful
    discount: float = 0.96  # what the next step's reward counts
    discount_time: bool = False  # whether step t counts discount^t
    own_trace: float = 0.95  # lambda of own advantages: 0 is TD(0), 1 Monte-Carlo
    past_trace: float = 0.95  # lambda of own past advantages in the alignment term
    opponent_trace: float = 0.95  # lambda of the others' advantages
    critic_trace: float = 0.9  # lambda of the value critic's targets
    value_unit: float = 1.0  # what one unit of the critic is worth: the size of values, if they are large
    normalise: Literal["none", "scale", "standardise"] = "scale"  # advantages by their spread, or fully
    advantage_clip: float = 0.0  # largest advantage after normalising; 0 for no limit
    past_clip: float = 0.0  # largest sum of past advantages; 0 for no limit
    goodwill: float = 0.0  # added to past advantages: how kindly others are met who did nothing yet
    clip: float = 0.2  # how far the probability ratio may move from 1
    epochs: int = 2  # passes over each rollout
    minibatches: int = 1  # parts of a rollout, each of whole sequences
    entropy: float = 0.1  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end
    learning_rate: float = 1e-3  # step size of the policy
    final_learning_rate: float = 1.0  # share of it left at the end
    critic_learning_rate: float = 1e-2  # step size of the critic
    final_critic_learning_rate: float = 1.0  # share of it left at the end
    decay_from: float = 0.5  # share of the training after which these fall to their final shares
    critic_first: float = 0.0  # share of the training in which only the critic learns
    target_rate: float = 1.0  # how fast the slow critic follows (1: no slow copy, .01: an EMA of .99)
    spread: float = 1.0  # largest standard deviation of continuous actions, before squashing
    final_spread: float = 1.0  # share of it left at the end
    max_gradient: float = 1.0  # largest norm of the gradients

    def __check_init__(self) -> None:
        require(self.clip > 0, "clip", self.clip, "above 0")
        require(self.epochs >= 1, "epochs", self.epochs, "at least 1")
        require(self.minibatches >= 1, "minibatches", self.minibatches, "at least 1")

    def update(
        self, state: ShapingState, experience: Experience, key: Key
    ) -> tuple[ShapingState, dict[str, Array]]:
        data = streams(experience.joint, experience.seats)
        advantages = self.shaped(state, experience)
        lesson = self.lesson(experience.joint, experience.seats)
        entropy_weight = self.entropy * self.faded(self.final_entropy, experience.progress)

        def loss(policy, critic, state, data, advantage, lesson):  # type: ignore[no-untyped-def]
            distribution = policy.unroll(data.carry[0], data.obs, data.resets)
            log_ratio = distribution.log_prob(data.extras.raw) - data.extras.log_prob
            surrogate = clipped_surrogate(jnp.exp(log_ratio), advantage, self.clip)
            entropy = weighted_mean(distribution.entropy(), data.weight)
            critic_loss = self.critic_loss(self.says(critic, policy.torso, lesson), state, lesson)
            total = -weighted_mean(surrogate, data.weight) - entropy_weight * entropy + critic_loss
            kl = weighted_mean(approximate_kl(log_ratio), data.weight)
            return total, {"loss": total, "entropy": entropy, "critic_loss": critic_loss, "kl": kl}

        def learn(state, chosen):  # type: ignore[no-untyped-def]
            part = (data, advantages.total, lesson)
            if self.minibatches > 1:
                part = (*pick(chosen[0], data, advantages.total), Lesson(*pick(chosen[1], *lesson)))
            slope = jax.grad(loss, argnums=(0, 1), has_aux=True)
            gradients, metrics = slope(state.policy, state.critic, state, *part)
            norm = optax.tree.norm(gradients[0])
            return self.learned(state, gradients, experience.progress), {**metrics, "gradient_norm": norm}

        parts = tuple(
            minibatches(part_key, each.reward.shape[1], self.epochs, self.minibatches)
            for part_key, each in zip(jax.random.split(key), (data, lesson.data), strict=True)
        )
        state, metrics = jax.lax.scan(learn, state, parts)
        return state, {**jax.tree.map(jnp.mean, metrics), **sizes(advantages)}
