r"""V-trace: values of one policy from the play of another (Espeholt et al., 2018, arXiv:1802.01561).

.. math:: v_t = V(s_t) + \rho_t\delta_t + \gamma c_t (v_{t+1} - V(s_{t+1})), \qquad
          \rho_t = \min(\bar\rho, \pi/\mu), \quad c_t = \lambda\min(\bar c, \pi/\mu)

with :math:`\delta_t = r_t + \gamma V(s_{t+1}) - V(s_t)`. :math:`\bar\rho` decides what is learned, the value
of the policy :math:`\pi_{\bar\rho}(a|s) \propto \min(\bar\rho\mu(a|s), \pi(a|s))`; :math:`\bar c` decides
how fast. With equal policies targets are :math:`\lambda`-returns and advantages are generalised ones.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.returns.advantages import PerStep, discounted_backward, td_error


class VTrace(NamedTuple):
    """What the critic should say of each step, and what the policy follows."""

    target: Float[Array, " time"]
    advantage: Float[Array, " time"]


def vtrace(
    reward: Float[Array, " time"],
    value: Float[Array, " time"],
    next_value: Float[Array, " time"],
    terminated: Bool[Array, " time"],
    ended: Bool[Array, " time"],
    ratio: Float[Array, " time"],
    discount: PerStep,
    gae_lambda: PerStep = 1.0,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> VTrace:
    r"""Targets and policy-gradient advantages along one stream, in the conventions of `returns.advantages`.

    `ratio` is what the learner's policy makes of the action over what that which played did, from the
    log-probability that was stored with the act. The advantage is
    :math:`\rho_t (r_t + \gamma q_{t+1} - V(s_t))` with
    :math:`q_{t+1} = \lambda v_{t+1} + (1 - \lambda) V(s_{t+1})`, the corrected value; where an episode ended
    and in the last step, the true successor's value. Where a seat waits, `ratio` is 1: nothing was chosen.
    """
    rho = jnp.minimum(ratio, rho_clip)
    decay = jnp.where(ended, 0.0, discount * gae_lambda * jnp.minimum(ratio, c_clip))
    correction = discounted_backward(rho * td_error(reward, value, next_value, terminated, discount), decay)
    # Inside an episode the successor is the next step, and its corrected value is known.
    inside = ~(ended | (jnp.arange(reward.shape[0]) == reward.shape[0] - 1))
    following = jnp.concatenate([correction[1:], jnp.zeros_like(correction[:1])])
    corrected = next_value + jnp.where(inside, gae_lambda * following, 0.0)
    return VTrace(value + correction, rho * td_error(reward, value, corrected, terminated, discount))
