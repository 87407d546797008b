r"""Exact values per step of memory-one policies in iterated matrix games, differentiable in the policies.

What all players do depends only on the last joint action, so that play is a Markov chain over joint actions
with first-step distribution :math:`p` and transitions :math:`T`. At discount :math:`\gamma` the values are

.. math:: v = (1-\gamma) \sum_t \gamma^t p T^t r = (1-\gamma)\, p\,(I - \gamma T)^{-1} r,

the discounted mean reward per step (Foerster et al., 2018, arXiv:1709.04326, appendix A, times
:math:`1-\gamma`).
"""

from collections.abc import Sequence
from string import ascii_lowercase

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from comity.core.tunable import Number


def memory_one_values(
    probabilities: Sequence[Float[Array, "states _"]],
    payoffs: Float[Array, "players *actions"],
    views: Int[Array, "players states"],
    discount: Number,
) -> Float[Array, " players"]:
    """What each player earns per step, (1 - discount) times its discounted return.

    `probabilities[i]` has a row of action probabilities for each observation of player i; `views[i]` is the
    observation of player i in each state, where state 0 is the start and state 1 + j follows joint action j
    in the order of `payoffs`.
    """
    axes = ascii_lowercase[: len(probabilities)]
    product = ",".join("z" + axis for axis in axes) + "->z" + axes
    seen = [own[view] for own, view in zip(probabilities, views, strict=True)]
    joint = jnp.einsum(product, *seen).reshape(views.shape[1], -1)  # P(joint action | state)
    rewards = payoffs.reshape(payoffs.shape[0], -1)
    transitions = joint[1:]
    visits = jnp.linalg.solve(
        jnp.eye(transitions.shape[0], dtype=joint.dtype) - discount * transitions.T, joint[0]
    )
    return (1.0 - discount) * rewards @ visits
