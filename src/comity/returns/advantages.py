r"""Returns and advantages of one episode stream, time first, no batch axis.

All functions share four conventions. `reward[t]`, `value[t]` belong to the step at time t; `next_value[t]`
is the value of the *true* successor of step t, before any reset; `terminated[t]` says that the game ended
there (the successor is worth nothing); `ended[t]` says that the episode ended there for whatever reason,
so nothing flows back across it. A truncated step has `ended` but not `terminated`.

`discount` and `gae_lambda` are numbers, or one number per step where not every step counts the same:
`step_discounts` makes them for games in which a seat waits while others act.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.core.tunable import Number

PerStep = float | Float[Array, ""] | Float[Array, " time"]  # one number for all steps, or one for each


def step_discounts(
    next_acts: Bool[Array, "time *rest"],
    discount: Number,
    gae_lambda: Number,
) -> tuple[Float[Array, "time *rest"], Float[Array, "time *rest"]]:
    r"""Discount and lambda of each step for a seat that does not act in every step.

    .. math:: \gamma_t = \gamma \text{ if the seat acts at } t + 1 \text{ else } 1, \qquad
              \lambda_t = \lambda \text{ if it acts at } t + 1 \text{ else } 1

    A move and the waiting after it are then one transition of a semi-Markov decision process (Sutton,
    Precup and Singh, 1999): what is earned while others act belongs to the seat's last own move, time is
    counted in own moves, and the values of waiting steps cancel out of the advantages of own moves.
    `next_acts[t]` says whether the seat acts in the successor of step t. Where it always acts, these are
    `discount` and `gae_lambda` themselves.
    """
    return (
        jnp.where(next_acts, jnp.float32(discount), 1.0),
        jnp.where(next_acts, jnp.float32(gae_lambda), 1.0),
    )


def td_error(
    reward: Float[Array, " time"],
    value: Float[Array, " time"],
    next_value: Float[Array, " time"],
    terminated: Bool[Array, " time"],
    discount: PerStep,
) -> Float[Array, " time"]:
    r"""One-step temporal differences, :math:`\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t)`."""
    return reward + discount * jnp.where(terminated, 0.0, next_value) - value


def gae(
    reward: Float[Array, " time"],
    value: Float[Array, " time"],
    next_value: Float[Array, " time"],
    terminated: Bool[Array, " time"],
    ended: Bool[Array, " time"],
    discount: PerStep,
    gae_lambda: PerStep,
) -> Float[Array, " time"]:
    r"""Generalised advantage estimation (Schulman et al., 2016, arXiv:1506.02438, equation 16).

    .. math:: A_t = \sum_{l \ge 0} (\gamma\lambda)^l \delta_{t+l}

    where the sum stops at the end of the episode. A `gae_lambda` of 0 gives the one-step difference, 1 the
    Monte-Carlo return minus the value (bootstrapped where the clock ran out). With numbers per step,
    :math:`A_t = \delta_t + \gamma_t\lambda_t A_{t+1}`.
    """
    delta = td_error(reward, value, next_value, terminated, discount)
    return discounted_backward(delta, jnp.where(ended, 0.0, jnp.float32(discount * gae_lambda)))


def lambda_returns(
    reward: Float[Array, " time"],
    value: Float[Array, " time"],
    next_value: Float[Array, " time"],
    terminated: Bool[Array, " time"],
    ended: Bool[Array, " time"],
    discount: PerStep,
    gae_lambda: PerStep,
) -> Float[Array, " time"]:
    r"""The :math:`\lambda`-return, the target of TD(:math:`\lambda`): advantage plus value."""
    return value + gae(reward, value, next_value, terminated, ended, discount, gae_lambda)


def discounted_returns(
    reward: Float[Array, " time"],
    next_value: Float[Array, " time"],
    terminated: Bool[Array, " time"],
    ended: Bool[Array, " time"],
    discount: PerStep,
) -> Float[Array, " time"]:
    r"""Monte-Carlo returns, :math:`G_t = r_t + \gamma G_{t+1}`, bootstrapped where the clock ran out.

    The last step counts as the end of what was seen, whether or not the episode ended there.
    """
    last = jnp.arange(reward.shape[0]) == reward.shape[0] - 1
    cut = ended | last
    tail = jnp.where(cut & ~terminated, discount * next_value, 0.0)
    return discounted_backward(reward + tail, jnp.where(cut, 0.0, jnp.float32(discount)))


def past_sum(
    x: Float[Array, " time"], ended: Bool[Array, " time"], decay: Number, start: Number = 0.0
) -> Float[Array, " time"]:
    r"""The discounted sum of what came before in the same episode, :math:`\sum_{k<t} d^{t-k} x_k`.

    `start` is what it was when the stream began, if that was in the middle of an episode.
    """
    return running_sum(x, ended, decay, start)[1]


def running_sum(
    x: Float[Array, " time"], ended: Bool[Array, " time"], decay: Number, start: Number
) -> tuple[Float[Array, ""], Float[Array, " time"]]:
    """`past_sum` after the last step, where the next stream starts, and before each step."""

    def add(total: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        item, end = step
        return jnp.where(end, 0.0, decay * (total + item)), total

    return jax.lax.scan(add, jnp.zeros_like(x[0]) + start, (x, ended))


def episode_time(ended: Bool[Array, " time"], age: Number = 0.0) -> Float[Array, " time"]:
    """How many steps of the same episode came before each step; `age`: before the start of the stream."""
    return past_sum(jnp.ones(ended.shape, jnp.float32), ended, 1.0, age)


def discounted_backward(x: Float[Array, " time"], decay: Float[Array, " time"]) -> Float[Array, " time"]:
    """y_t = x_t + decay_t y_{t+1}."""

    def add(total: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        item, keep = step
        total = item + keep * total
        return total, total

    _, sums = jax.lax.scan(add, jnp.zeros_like(x[0]), (x, decay), reverse=True)
    return sums
