r"""Trust region policy optimisation (Schulman et al., 2015, arXiv:1502.05477).

.. math:: \max_\theta E[\rho_t A_t] \quad\text{with}\quad E[\mathrm{KL}(\pi_{old}\|\pi_\theta)] \le \delta

The direction is the natural gradient :math:`F^{-1}g`, by conjugate gradients on products with the Fisher
matrix (the second derivative of the divergence); its length is the largest that the quadratic model allows,
and is shortened until the divergence that is measured keeps the bound and the objective has grown.
"""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.base import ActorCriticAgent, LearnerState, Shape, refuse_minibatches
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.learn.advantages import Normalise
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch
from comity.learn.critics import Critic
from comity.learn.policies import Policy
from comity.learn.statistics import ReturnNorm
from comity.returns.surrogates import weighted_mean


class TRPO(ActorCriticAgent):
    """The largest step of the policy within a trust region; the critic learns by several steps of Adam."""

    critic: Critic = Critic(learning_rate=1e-3, td_lambda=0.97, norm=ReturnNorm(return_ema=0.01))
    """what advantages are measured from"""
    discount: float = 0.99  # what the next step's reward counts
    gae_lambda: float = 0.97  # lambda of generalised advantages: 0 is TD(0), 1 Monte-Carlo
    entropy_coef: float = 0.0  # weight of the entropy bonus
    normalise_advantages: Normalise = "batch"
    """by their spread (scale), or to mean 0 and variance 1 over the batch"""
    max_kl: float = 0.01  # the trust region: the largest KL divergence of an update
    conjugate_steps: int = 10  # steps of the conjugate gradients
    damping: float = 0.1  # added to the diagonal of the Fisher matrix
    backtracks: int = 10  # how often the step may be shortened
    shorten: float = 0.7  # by which factor
    value_steps: int = 10  # steps of the critic in each update

    def __check_init__(self) -> None:
        require(self.max_kl > 0, "max_kl", self.max_kl, "above 0")
        require(self.damping >= 0, "damping", self.damping, "at least 0")
        require(0 < self.shorten < 1, "shorten", self.shorten, "between 0 and 1")
        for name in ("conjugate_steps", "backtracks", "value_steps"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        shared = self.critic.shared
        require(not shared, "critic.shared", shared, "false: policy and critic learn in different ways")
        rate = self.critic.learning_rate
        require(rate > 0, "critic.learning_rate", rate, "above 0: only the critic learns by Adam here")
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
        values = jax.lax.stop_gradient(self.values(state.critic, state.policy, read))
        shaped = shape(values)
        targets = self.critic.targets(values, self.slow_values(state, values, read), read, self.discount)
        state = self.renormalise(state, targets, read)
        entropy_weight = self.entropy_weight(context.progress)
        spread = {} if state.policy.std is None else {"std": state.policy.std}
        policy, metrics = self.improve(state.policy, batch, shaped.advantage, entropy_weight)
        still = jax.tree.map(jnp.zeros_like, state.policy)

        def value_loss(critic: CriticNet) -> Float[Array, ""]:
            now = self.values(critic, state.policy, read)
            return self.critic.error(critic, now, targets, read)

        def fit(state: LearnerState, _: None) -> tuple[LearnerState, Float[Array, ""]]:
            loss, gradient = jax.value_and_grad(value_loss)(state.critic)
            return self.apply_gradients(state, (still, gradient), context.progress), loss

        state, losses = jax.lax.scan(fit, state, None, length=self.value_steps)
        state = self.update_statistics(state._replace(policy=policy), batch, read)
        rate = self.critic.learning_rate * self.schedule.at(
            self.schedule.final_critic_learning_rate, context.progress
        )  # the only rate here: the policy's step is as long as the trust region allows
        learned = {"value_loss": losses[0], "critic_learning_rate": rate}
        return state, {**metrics, **spread, **shaped.metrics, **learned}

    def improve(
        self,
        old: Policy,
        batch: TeamBatch,
        advantage: Float[Array, "time seat game"],
        entropy_weight: float | Float[Array, ""],
    ) -> tuple[Policy, Metrics]:
        """The policy after the step, and what was measured of it."""
        flat, build = ravel_pytree(old)
        weight = batch.decides
        before = jax.lax.stop_gradient(old.unroll(batch.carry[0], batch.obs, batch.resets))

        def measure(
            params: Float[Array, " n"],
        ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
            """What is to grow, the divergence, and the entropy."""
            now = build(params).unroll(batch.carry[0], batch.obs, batch.resets)
            ratio = jnp.exp(now.log_prob(batch.extras.raw) - batch.extras.log_prob)
            entropy = weighted_mean(now.entropy(), weight)
            gain = weighted_mean(ratio * advantage, weight) + entropy_weight * entropy
            return gain, weighted_mean(before.kl(now), weight), entropy

        (gain, _, entropy), backward = jax.vjp(measure, flat)
        one, zero = jnp.ones_like(gain), jnp.zeros_like(gain)
        (gradient,) = backward((one, zero, zero))

        def fisher(vector: Float[Array, " n"]) -> Float[Array, " n"]:
            product = jax.grad(lambda at: jax.grad(lambda params: measure(params)[1])(at) @ vector)(flat)
            return product + self.damping * vector

        direction = conjugate_gradient(fisher, gradient, self.conjugate_steps)
        curvature = jnp.maximum(direction @ fisher(direction), 1e-12)
        longest = jnp.sqrt(2.0 * self.max_kl / curvature) * direction

        def search(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            number, _, _, _ = carry
            candidate = flat + self.shorten**number * longest
            grown, kl, _ = measure(candidate)
            good = (kl <= self.max_kl) & (grown > gain) & jnp.isfinite(grown)
            return number + 1.0, good, jnp.where(good, kl, 0.0), jnp.where(good, grown - gain, 0.0)

        first = (zero, jnp.bool_(False), zero, zero)
        tried, found, kl, growth = jax.lax.while_loop(
            lambda carry: ~carry[1] & (carry[0] < self.backtracks), search, first
        )
        step = jnp.where(found, self.shorten ** (tried - 1.0), 0.0) * longest
        metrics = {
            "policy_loss": -gain,
            "kl": kl,
            "improvement": growth,
            "backtracks": tried - 1.0,
            "entropy": entropy,
        }
        return build(flat + step), metrics


def conjugate_gradient(product, target: Float[Array, " n"], steps: int) -> Float[Array, " n"]:  # type: ignore[no-untyped-def]
    """The solution x of product(x) = target for a symmetric positive product, after some steps."""
    Carry = tuple[Array, Array, Array, Array]  # noqa: N806 - a type

    def step(carry: Carry, _: None) -> tuple[Carry, None]:
        x, residual, direction, size = carry
        image = product(direction)
        length = size / jnp.maximum(direction @ image, 1e-30)
        x = x + length * direction
        residual = residual - length * image
        after = residual @ residual
        direction = residual + after / jnp.maximum(size, 1e-30) * direction
        return (x, residual, direction, after), None

    start = (jnp.zeros_like(target), target, target, target @ target)
    return jax.lax.scan(step, start, None, length=steps)[0][0]
