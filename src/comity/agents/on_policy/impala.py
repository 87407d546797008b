r"""IMPALA's learner (Espeholt et al., 2018, arXiv:1802.01561): it learns from play of older policies.

.. math:: \nabla J = E_\mu\Big[\sum_t \rho_t\big(r_t + \gamma v_{t+1} - V(s_t)\big)\nabla\log\pi(a_t|s_t)\Big]
          + c_H \nabla H - c_V \nabla (V - v)^2 / 2, \qquad \rho_t = \min(\bar\rho, \pi/\mu)

with V-trace's targets v (`comity.returns.vtrace`). What plays is the policy of `lag` updates ago: actors that
fetch parameters late, in one program, so that a run with any lag repeats and resumes bit by bit.
"""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import Acting
from comity.agents.on_policy.base import ActorCriticAgent, LearnerState, Shape, refuse_minibatches
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec
from comity.core.shards import mean_over
from comity.core.tunable import Number
from comity.learn.advantages import over_team
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch, CriticValues, critic_values
from comity.learn.critics import CriticTargets
from comity.learn.policies import Policy
from comity.returns.advantages import step_discounts
from comity.returns.surrogates import weighted_mean
from comity.returns.vtrace import VTrace, vtrace

MOST_LAG = 256


class IMPALA(ActorCriticAgent):
    """One gradient step per rollout of an older policy, corrected for the difference.

    `LearnerState.past` has the policies that are going to play, the next one first.
    """

    lag: int = 0  # how many updates the policy that plays is behind the one that learns
    corrected: bool = True  # whether V-trace corrects for that; false: as if both were the same policy
    rho_clip: float = 1.0  # largest ratio of an error: decides which policy's value is learned
    c_clip: float = 1.0  # largest ratio of a trace: decides how fast

    spreads: ClassVar[bool] = True

    def __check_init__(self) -> None:
        refuse_minibatches(self.normalise_advantages)
        require(0 <= self.lag <= MOST_LAG, "lag", self.lag, f"between 0 and {MOST_LAG}")
        for name in ("rho_clip", "c_clip"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        fits = self.c_clip <= self.rho_clip
        require(fits, "c_clip", self.c_clip, f"at most rho_clip, which is {self.rho_clip}")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        super().check(spec, seats)
        require(self.critic.kind == "value", "critic.kind", self.critic.kind, "value for V-trace")

    def init_with(self, key: Key, spec: GameSpec, seats: tuple[int, ...], outputs: int) -> LearnerState:
        state = super().init_with(key, spec, seats, outputs)
        return state._replace(past=(state.policy,) * self.lag)

    def behaviour(self, state: LearnerState, progress: Float[Array, ""]) -> Acting:
        played = state.past[0] if self.lag else state.policy
        return super().behaviour(state._replace(policy=played), progress)

    def learn(
        self,
        state: LearnerState,
        batch: TeamBatch,
        read: CriticBatch,
        shape: Shape,
        context: Context,
        key: Key,
    ) -> tuple[LearnerState, Metrics]:
        entropy_weight = self.entropy_weight(context.progress)

        def loss(policy: Policy, critic: CriticNet) -> tuple[Float[Array, ""], tuple[Metrics, CriticTargets]]:
            unrolled = policy.torso.unroll(batch.carry[0], batch.obs, batch.resets)
            shared = self.critic.shared and read.inputs is batch.obs
            now = (
                critic_values(critic, policy.torso, read, unrolled)
                if shared
                else self.values(critic, policy, read)
            )
            distribution = policy.of(unrolled[0], batch.obs)
            log_prob = distribution.log_prob(batch.extras.raw)
            ratio = jnp.exp(jax.lax.stop_gradient(log_prob) - batch.extras.log_prob)
            slow = self.slow_values(state, now, read)
            followed = self.trace(slow, read, batch, ratio, self.gae_lambda).advantage
            advantage = self.normalised(jax.lax.stop_gradient(followed), batch.decides)
            gain = weighted_mean(advantage * log_prob, batch.decides)
            entropy = weighted_mean(distribution.entropy(), batch.decides)
            fixed = jax.lax.stop_gradient(now)
            target = self.trace(slow, read, batch, ratio, self.critic.td_lambda).target
            targets = CriticTargets(jax.lax.stop_gradient(target)[..., None], fixed.chosen, None)
            value_loss = self.critic.error(critic, now, targets, read)
            total = -gain - entropy_weight * entropy + self.critic.value_coef * value_loss
            metrics = {"loss": total, "policy_loss": -gain, "value_loss": value_loss, "entropy": entropy}
            metrics |= {
                "ratio": weighted_mean(ratio, batch.decides),
                "cut": weighted_mean((ratio > self.rho_clip).astype(jnp.float32), batch.decides),
                "staleness": jnp.float32(self.lag),
            }
            return total, (metrics, targets)

        pace = self.pace_metrics(state, context)
        gradients, (metrics, targets) = jax.grad(loss, argnums=(0, 1), has_aux=True)(
            state.policy, state.critic
        )
        gradients = mean_over(gradients)
        after = self.apply_gradients(state, gradients, context.progress)
        after = self.update_statistics(self.renormalise(after, targets, read), batch, read)
        after = after._replace(past=(*state.past, state.policy)[1:] if self.lag else ())
        return after, {**metrics, **pace, "gradient_norm": optax.tree.norm(gradients[0])}

    def trace(
        self,
        values: CriticValues,
        read: CriticBatch,
        batch: TeamBatch,
        ratio: Float[Array, "time seat game"],
        trace_lambda: Number,
    ) -> VTrace:
        """V-trace of each seat in each game; a seat that waited chose nothing."""
        ratio = jnp.where(batch.decides > 0, ratio, 1.0) if self.corrected else jnp.ones_like(ratio)
        next_acts = jnp.ones_like(batch.acts) if read.next_acts is None else read.next_acts
        steps = step_discounts(next_acts, self.discount, trace_lambda)
        found: VTrace = over_team(partial(vtrace, rho_clip=self.rho_clip, c_clip=self.c_clip))(
            batch.reward, values.value[..., 0], values.next_value[..., 0], batch.terminated, batch.ended,
            ratio, *steps,
        )  # fmt: skip
        return found
