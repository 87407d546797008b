"""The others' imagined learning: how policies act along what was played, and how they would move."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.batch import Trajectory
from comity.core.errors import require
from comity.learn.policies import Policy
from comity.nets.distributions import Categorical
from comity.returns.surrogates import weighted_mean

Policies = tuple[Policy, ...]
Acts = tuple[Categorical, ...]


class Lookahead(eqx.Module):
    """How the others are imagined to learn, and how I follow what comes of it."""

    inner_steps: int = 1  # how many steps of learning the others are imagined to take
    inner_learning_rate: float = 10.0  # how long such a step is, on values per step
    inner_penalty: float = 0.0  # what a change of the others' policy costs them (KL)
    max_kl: float = 0.0  # largest change (KL) of another's policy in one imagined step; 0: no limit
    shaping_weight: float = 1.0  # how much it counts that the others learn from what I do; 1 in the papers
    outer_steps: int = 1  # own steps per iteration, each after a new look ahead
    penalty: float = 0.0  # what a change of the own policy costs (KL)
    dice_lambda: float = 1.0  # how a value's dependence on earlier acts fades; below 1 less noise, some bias

    def __check_init__(self) -> None:
        for name in ("inner_steps", "outer_steps"):
            require(getattr(self, name) >= 1, f"lookahead.{name}", getattr(self, name), "at least 1")
        rate = self.inner_learning_rate
        require(rate > 0, "lookahead.inner_learning_rate", rate, "above 0")
        for name in ("inner_penalty", "max_kl", "penalty", "shaping_weight"):
            value = getattr(self, name)
            require(0 <= value < math.inf, f"lookahead.{name}", value, "finite, at least 0")
        require(0 <= self.dice_lambda <= 1, "lookahead.dice_lambda", self.dice_lambda, "between 0 and 1")

    def step_size(
        self, rival: Policy, gradient: Policy, seat: int, played: Trajectory
    ) -> float | Float[Array, ""]:
        """How far the other goes along its gradient: as far as it learns, or until it acts too differently.

        To second order, a step of length x changes what is done by x^2 / 2 times the variance of the
        derivative of the logits along it.
        """
        if self.max_kl == 0:
            return self.inner_learning_rate
        rival, gradient = jax.lax.stop_gradient((rival, gradient))
        logits, change = jax.jvp(
            lambda policy: unroll(policy, played, seat, True).logits, (rival,), (gradient,)
        )
        chance = jax.nn.softmax(logits)
        mean = (chance * change).sum(axis=-1, keepdims=True)
        variance = weighted_mean((chance * jnp.square(change - mean)).sum(axis=-1), present(played, seat))
        return jnp.minimum(self.inner_learning_rate, jnp.sqrt(2.0 * self.max_kl / (variance + 1e-12)))


def unroll(policy: Policy, played: Trajectory, seat: int, forward: bool = False) -> Categorical:
    """How a policy acts along what was played in a seat, its memory empty at the start."""
    done = played.step.terminated | played.step.truncated
    resets = jnp.concatenate([jnp.zeros_like(done[:1]), done[:-1]])
    carry = policy.torso.initial_carries(done.shape[1])
    act = policy.unroll(carry, played.obs[seat], resets, forward)
    assert isinstance(act, Categorical)
    return act


def acts(policies: Policies, own: int, played: Trajectory) -> Acts:
    """How all act along what was played, I first."""
    count = len(policies)
    return tuple(unroll(p, played, (own + turn) % count) for turn, p in enumerate(policies))


def moved(old: Policy, new: Categorical, seat: int, played: Trajectory) -> Float[Array, ""]:
    """The KL divergence between how a seat acted and how it acts now."""
    before = jax.lax.stop_gradient(unroll(old, played, seat))
    return weighted_mean(before.kl(new), present(played, seat))


def present(played: Trajectory, seat: int) -> Float[Array, "time game"]:
    """1 where a seat was in the game."""
    return played.alive[seat].astype(jnp.float32)


def ascend(policy: Policy, gradient: Policy, step_size: float | Float[Array, ""]) -> Policy:
    """A policy after a step along its gradient."""
    return jax.tree.map(lambda x, slope: x + step_size * slope, policy, gradient)


def weighted(policies: Policies, weight: float) -> Policies:
    """The same policies, whose derivatives count more or less."""

    def weigh(x: Array) -> Array:
        fixed = jax.lax.stop_gradient(x)
        return fixed + weight * (x - fixed)

    return jax.tree.map(weigh, policies)
