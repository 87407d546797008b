r"""Trust region policy optimisation (Schulman et al., 2015, arXiv:1502.05477).

.. math:: \max_\theta E[\rho_t A_t] \quad\text{with}\quad E[\mathrm{KL}(\pi_{old}\|\pi_\theta)] \le \delta

The direction is the natural gradient :math:`F^{-1}g`, by conjugate gradients on products with the Fisher
matrix (the second derivative of the divergence); its length is the largest that the quadratic model allows,
and is shortened until the divergence that is measured keeps the bound and the objective has grown.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import ActorCritic, ActorCriticAgent, LearnerState, linear
from comity.agents.policies import Policy
from comity.agents.streams import Streams, streams
from comity.core.errors import require
from comity.core.types import Experience
from comity.nets.torsos import Network
from comity.returns.surrogates import normalise, weighted_mean


class TRPO(ActorCriticAgent):
    """The largest step of the policy within a trust region; the critic learns by several steps of Adam."""

    network: Network = eqx.field(default_factory=Network)  # the shape of policy and critic
    max_kl: float = 0.01  # the trust region: the largest KL divergence of an update
    conjugate_steps: int = 10  # steps of the conjugate gradients
    damping: float = 0.1  # added to the diagonal of the Fisher matrix
    backtracks: int = 10  # how often the step may be shortened
    shorten: float = 0.7  # by which factor
    learning_rate: float = 1e-3  # Adam's step size, for the critic
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    value_steps: int = 10  # steps of the critic in each update
    value_rate: float = 0.01  # how fast the running mean and spread of values follow; 0: values as they are
    discount: float = 0.99  # what the next step's reward counts
    trace: float = 0.97  # lambda of generalised advantage estimation
    entropy: float = 0.0  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end, reached linearly
    max_gradient: float = 1.0  # largest norm of the critic's gradient

    def __check_init__(self) -> None:
        require(self.max_kl > 0, "max_kl", self.max_kl, "above 0")
        require(self.damping >= 0, "damping", self.damping, "at least 0")
        require(0 < self.shorten < 1, "shorten", self.shorten, "between 0 and 1")
        require(0 <= self.value_rate <= 1, "value_rate", self.value_rate, "between 0 and 1")
        for name in ("conjugate_steps", "backtracks", "value_steps"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        shared = self.network.shared
        require(not shared, "network.shared", shared, "false: policy and critic learn in different ways")

    def update(
        self, state: LearnerState, experience: Experience, key: Key
    ) -> tuple[LearnerState, dict[str, Array]]:
        data = streams(experience.joint, experience.seats)
        advantage, target = self.advantages(data, self.values(state, experience, data))
        if self.value_rate > 0:
            scale = state.net.scale.after(target, data.weight, self.value_rate)
            state = state._replace(net=eqx.tree_at(lambda net: net.scale, state.net, scale))
        entropy_weight = self.entropy * linear(self.final_entropy, experience.progress)
        policy, metrics = self.improve(
            state.net.policy, data, normalise(advantage, data.weight), entropy_weight
        )
        goal = state.net.scale.to_critic(target)

        def value_loss(net: ActorCritic) -> Float[Array, ""]:
            _, value = net.unroll(data.carry, data.obs, data.resets)
            return weighted_mean(0.5 * jnp.square(value - goal), data.weight)

        def fit(state: LearnerState, _: None) -> tuple[LearnerState, Float[Array, ""]]:
            loss, gradient = jax.value_and_grad(value_loss)(state.net)
            return self.descend(state, gradient, experience.progress)[0], loss

        # The critic's loss does not depend on the policy, whose gradient and step are 0 there.
        state, losses = jax.lax.scan(fit, state, None, length=self.value_steps)
        net = eqx.tree_at(lambda net: net.policy, state.net, policy).seen(data.obs, None, data.weight)
        return state._replace(net=net), {**metrics, "value_loss": losses[0]}

    def improve(
        self,
        old: Policy,
        data: Streams,
        advantage: Float[Array, "time stream"],
        entropy_weight: float | Float[Array, ""],
    ) -> tuple[Policy, dict[str, Array]]:
        """The policy after the step, and what was measured of it."""
        flat, build = ravel_pytree(old)
        before = jax.lax.stop_gradient(old.unroll(data.carry[0], data.obs, data.resets))

        def measure(
            params: Float[Array, " n"],
        ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
            """What is to grow, the divergence, and the entropy."""
            now = build(params).unroll(data.carry[0], data.obs, data.resets)
            ratio = jnp.exp(now.log_prob(data.extras.raw) - data.extras.log_prob)
            entropy = weighted_mean(now.entropy(), data.weight)
            gain = weighted_mean(ratio * advantage, data.weight) + entropy_weight * entropy
            return gain, weighted_mean(before.kl(now), data.weight), entropy

        (gain, _, entropy), pull = jax.vjp(measure, flat)
        one, zero = jnp.ones_like(gain), jnp.zeros_like(gain)
        (slope,) = pull((one, zero, zero))

        def fisher(vector: Float[Array, " n"]) -> Float[Array, " n"]:
            product = jax.grad(lambda at: jax.grad(lambda params: measure(params)[1])(at) @ vector)(flat)
            return product + self.damping * vector

        direction = conjugate_gradient(fisher, slope, self.conjugate_steps)
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
        metrics = {"kl": kl, "improvement": growth, "backtracks": tried - 1.0, "entropy": entropy}
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
