r"""Targets of action values, time first, no batch axis; the conventions are those of `returns.advantages`."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.core.tunable import Number
from comity.returns.advantages import PerStep


def n_step_returns(
    reward: Float[Array, " time"],
    next_value: Float[Array, " time"],
    terminated: Bool[Array, " time"],
    ended: Bool[Array, " time"],
    discount: PerStep,
    steps: int,
) -> Float[Array, " time"]:
    r"""What n steps paid, and what followed: :math:`\sum_{k<n} \gamma^k r_{t+k} + \gamma^n V(s_{t+n})`.

    The sum stops where an episode ends or the sequence does, and takes the value of the true successor there:
    nothing where the game `terminated`, its value where the clock ran out. One step is TD(0).
    """
    factor = jnp.broadcast_to(jnp.asarray(discount, jnp.float32), reward.shape)
    one = reward + factor * jnp.where(terminated, 0.0, next_value)
    last = jnp.arange(reward.shape[0]) == reward.shape[0] - 1
    stops = ended | last
    returns = one
    for _ in range(
        steps - 1
    ):  # a return of k + 1 steps is a reward and a return of k steps from the next step on
        following = jnp.concatenate([returns[1:], jnp.zeros_like(returns[:1])])
        returns = jnp.where(stops, one, reward + factor * following)
    return returns


def action_value(values: Float[Array, "... action"], action: Array) -> Float[Array, "..."]:
    """The value of the action that was done, from those of all."""
    return jnp.take_along_axis(values, action[..., None], axis=-1)[..., 0]


def expected_value(
    values: Float[Array, "... action"], probabilities: Float[Array, "... action"]
) -> Float[Array, "..."]:
    """The mean of action values under a policy."""
    return (values * probabilities).sum(axis=-1)


def soft_value(
    values: Float[Array, "... action"], log_probs: Float[Array, "... action"], temperature: Number
) -> Float[Array, "..."]:
    r"""The mean of action values under a policy, with a bonus for its entropy.

    .. math:: V = \sum_a \pi(a)\,(Q(a) - \alpha \log\pi(a))
    """
    chance = jnp.exp(log_probs)
    return (chance * (values - temperature * log_probs)).sum(axis=-1)


def counterfactual_advantage(
    values: Float[Array, "... action"], probabilities: Float[Array, "... action"], action: Array
) -> Float[Array, "..."]:
    r"""COMA's advantage (Foerster et al., 2018, arXiv:1705.08926): the others' actions stay as they were.

    .. math:: A_i = Q(s, u) - \sum_{a} \pi_i(a) Q(s, (u_{-i}, a))

    Its mean under the seat's own policy is 0, so that it changes no gradient's mean.
    """
    return action_value(values, action) - expected_value(values, probabilities)
