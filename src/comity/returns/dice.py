r"""Objectives whose derivatives, of any order, are estimates of the derivatives of an expected return.

Foerster et al. (2018), "DiCE: the infinitely differentiable Monte-Carlo estimator", arXiv:1802.05098, and
Farquhar et al. (2019), "Loaded DiCE: trading off bias and variance in any-order score function estimators",
arXiv:1909.10549. All functions work on one episode stream, time first; nothing reaches across the end of an
episode. `log_prob[t]` is the log-probability of all that was chosen at time t and depends on the parameters:
one player's action, or the sum over the players whose parameters are differentiated.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.core.tunable import Number
from comity.returns.advantages import past_sum
from comity.returns.alignment import time_discount


def magic_box(log_prob: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The operator :math:`\square(x) = \exp(x - \bot(x))` of DiCE; :math:`\bot` stops gradients.

    It is worth 1, and :math:`\nabla\square(x) = \square(x)\nabla x`, so that a product with it remembers at
    every order of derivative how the probability of a sample depends on the parameters.
    """
    return jnp.exp(log_prob - jax.lax.stop_gradient(log_prob))


def dice_objective(
    log_prob: Float[Array, " time"],
    reward: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
) -> Float[Array, ""]:
    r"""The discounted return of each episode of the stream, summed (DiCE, section 4).

    .. math:: \sum_t \gamma^t \square\Big(\sum_{k\le t}\log\pi(a_k|s_k)\Big) r_t

    with t counted from the start of the episode.
    """
    so_far = past_sum(log_prob, ended, 1.0) + log_prob
    return (time_discount(ended, discount) * magic_box(so_far) * reward).sum()


def loaded_dice_objective(
    log_prob: Float[Array, " time"],
    advantage: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
    dice_lambda: float = 1.0,
) -> Float[Array, ""]:
    r"""Loaded DiCE: worth 0, with the derivatives of the expected return (Farquhar et al., algorithm 1).

    .. math:: \sum_t \gamma^t \Big(\square\big(\textstyle\sum_{k\le t}\lambda^{t-k}\log\pi(a_k|s_k)\big)
              - \square\big(\sum_{k<t}\lambda^{t-k}\log\pi(a_k|s_k)\big)\Big) A_t

    Advantages are constants here. The first derivative is the policy gradient
    :math:`\sum_t\gamma^t A_t\nabla\log\pi(a_t|s_t)` whatever `dice_lambda` is; below 1 it
    shortens the memory of the higher derivatives, which have less variance and some bias then.
    """
    before = past_sum(log_prob, ended, dice_lambda)
    dependence = magic_box(before + log_prob) - magic_box(before)
    return (time_discount(ended, discount) * dependence * jax.lax.stop_gradient(advantage)).sum()


def loaded_dice_values(
    log_prob: Float[Array, " time"],
    advantage: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
) -> Float[Array, " time"]:
    r"""How the value that follows each step depends on what is chosen after it, by loaded DiCE.

    .. math:: Q_k = \sum_{t>k} \gamma^{t-k} \Big(\square\big(\textstyle\sum_{k<j\le t}\log\pi(a_j|s_j)\big)
              - \square\big(\sum_{k<j<t}\log\pi(a_j|s_j)\big)\Big) A_t

    Worth 0; the derivative is that of an action value :math:`Q(s_k, b_k) = r_k + \gamma V(s_{k+1})`,
    estimated from the same trajectory: with the opponent's advantages and one's own log-probabilities, how
    I change what the opponent's action is worth to it (LOQA; Advantage Alignment, equation 7). Add a
    constant estimate of Q where the value itself matters. The cost is quadratic in time.
    """
    index = jnp.arange(log_prob.shape[0])
    number = ended.astype(jnp.int32)
    episode = jnp.cumsum(number) - number
    advantage = jax.lax.stop_gradient(advantage)

    def after(step: Array) -> Array:
        later = (index > step) & (episode == episode[step])
        chosen = jnp.where(later, log_prob, 0.0)
        upto = jnp.cumsum(chosen)
        dependence = magic_box(upto) - magic_box(upto - chosen)
        distance = jnp.maximum(index - step, 0).astype(jnp.float32)
        weight = jnp.where(later, jnp.power(jnp.float32(discount), distance), 0.0)
        return (weight * dependence * advantage).sum()

    return jax.vmap(after)(index)
