r"""Policy and value objectives per step, without batch axes; to be maximised unless named a loss."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.shards import total
from comity.core.tunable import Number

Scalars = Float[Array, "..."]


def clipped_surrogate(ratio: Scalars, advantage: Scalars, clip: Number) -> Scalars:
    r"""PPO's pessimistic objective (Schulman et al., 2017, arXiv:1707.06347, equation 7).

    .. math:: \min(\rho A, \mathrm{clip}(\rho, 1-\epsilon, 1+\epsilon) A)
    """
    return jnp.minimum(ratio * advantage, jnp.clip(ratio, 1.0 - clip, 1.0 + clip) * advantage)


def approximate_kl(log_ratio: Scalars) -> Scalars:
    r"""An unbiased, non-negative estimate of KL(old || new) from samples of the old policy.

    :math:`(\rho - 1) - \log\rho` (Schulman, 2020, "Approximating KL divergence").
    """
    return jnp.expm1(log_ratio) - log_ratio


def clipped_value_loss(value: Scalars, old_value: Scalars, target: Scalars, clip: Number) -> Scalars:
    r"""PPO's value loss: the larger of the plain and the clipped squared error, halved."""
    clipped = old_value + jnp.clip(value - old_value, -clip, clip)
    return 0.5 * jnp.maximum(jnp.square(value - target), jnp.square(clipped - target))


def normalise(advantage: Scalars, weight: Scalars) -> Scalars:
    """Advantages with mean 0 and variance 1 over the entries of weight 1."""
    count = jnp.maximum(total(weight.sum()), 1.0)
    mean = total((weight * advantage).sum()) / count
    variance = total((weight * jnp.square(advantage - mean)).sum()) / count
    return (advantage - mean) / jnp.sqrt(variance + 1e-8)


def weighted_mean(x: Scalars, weight: Scalars) -> Scalars:
    """The mean over the entries of weight 1, of all games."""
    summed, count = total(((x * weight).sum(), weight.sum()))
    return summed / jnp.maximum(count, 1.0)
