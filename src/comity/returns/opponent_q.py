r"""LOQA's shaping term (Aghajohari et al., 2024, "LOQA: learning with opponent Q-learning awareness").

The opponent is taken for one that plays a softmax over its action values, with that of the action it took
replaced by an estimate :math:`\hat Q` from what was played, through which I can differentiate:

.. math:: \hat\pi^2(b_t|s_t) = \frac{\exp(\hat Q_t/\tau)}{\exp(\hat Q_t/\tau)
          + \sum_{b\ne b_t}\exp(Q(s_t,b)/\tau)},\qquad
          \nabla\log\hat\pi^2(b_t|s_t) = \frac{1-\hat\pi^2(b_t|s_t)}{\tau}\nabla\hat Q_t

My gradient :math:`\sum_t A^1_t\,(\nabla\log\pi^1(a_t|s_t) + \nabla\log\hat\pi^2(b_t|s_t))` is then a policy
gradient whose advantage has a second term, for which the functions below are the closed forms: one pass over
the trajectory instead of a graph of all pairs of steps. All work on one episode stream, time first; nothing
reaches across the end of an episode.
"""

from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from comity.core.tunable import Number
from comity.returns.advantages import discounted_returns, past_sum

Form = Literal["dice", "n-step", "loaded-dice"]
FORMS: tuple[str, ...] = get_args(Form)


def softmax_share(
    estimate: Float[Array, " time"],
    values: Float[Array, "time actions"],
    action: Int[Array, " time"],
    temperature: Number,
) -> Float[Array, " time"]:
    r"""The probability :math:`\hat\pi^2(b_t|s_t)`: a softmax with the estimate for the action taken."""
    taken = jax.nn.one_hot(action, values.shape[-1], dtype=jnp.bool_)
    logits = jnp.where(taken, estimate[:, None], values) / temperature
    return jnp.where(taken, jax.nn.softmax(logits), 0.0).sum(axis=-1)


def dice_term(
    strength: Float[Array, " time"],
    reward: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
    action_discount: float = 1.0,
) -> Float[Array, " time"]:
    r"""The term if :math:`\hat Q_t` is the return made differentiable by DiCE (LOQA, algorithm 2).

    .. math:: \sum_{t<j} w_t\gamma^{j-t}\sum_{k\ge j}(\gamma\lambda)^{k-j} r^2_k

    with `strength` :math:`w_t = A^1_t(1-\hat\pi^2_t)/\tau` and `action_discount` :math:`\lambda`, which lets
    a reward depend less on what I did long before it. Nothing is added where the clock ran out: with
    `n_step_term` and n as long as the episode, the critic's value of the end is.
    """
    return past_sum(strength, ended, discount) * _rewards_to_go(reward, ended, discount * action_discount)


def loaded_dice_term(
    strength: Float[Array, " time"],
    advantage: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
) -> Float[Array, " time"]:
    r"""The term if :math:`\hat Q_t` is made differentiable by loaded DiCE (LOQA, algorithm 3).

    .. math:: \sum_{t<j} w_t\gamma^{j-t} A^2_j

    An action discount would not show here: it changes only higher derivatives (`returns/dice.py`). With a
    constant partition function, :math:`w_t = A^1_t/\tau`, this is Advantage Alignment's term (its theorem 2).
    """
    return past_sum(strength, ended, discount) * advantage


def n_step_term(
    strength: Float[Array, " time"],
    reward: Float[Array, " time"],
    next_value: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
    steps: int,
    action_discount: float = 1.0,
) -> Float[Array, " time"]:
    r"""The term if :math:`\hat Q_t` is a return of n steps that ends in a value of the critic, by DiCE.

    .. math:: \sum_{j-n<t<j} w_t\gamma^{j-t}\Big(\sum_{k=j}^{m}(\gamma\lambda)^{k-j} r^2_k
              + (\gamma\lambda)^{m-j}\gamma V^2(s_{m+1})\Big),\qquad m = t+n-1

    or the last step of the episode, if that comes first. `next_value` is the value of each step's true
    successor, 0 where the game terminated. The cost is the product of time and n.
    """
    length = reward.shape[0]
    index = jnp.arange(length)
    last = _last_step(ended)
    fade = discount * action_discount
    rest = _rewards_to_go(reward, ended, fade)
    stop = jnp.minimum(index + steps - 1, last)
    beyond = jnp.where(stop < last, rest[jnp.minimum(stop + 1, length - 1)], 0.0)
    # What follows step m is worth V instead of the rewards that were played after it.
    correction = discount * next_value[stop] - fade * beyond
    total = jnp.zeros_like(reward)
    for back in range(1, min(steps, length)):
        # Steps t = j - back whose window reaches step j of the same episode.
        j = index[back:]
        t = j - back
        distance = jnp.maximum(stop[t] - j, 0).astype(jnp.float32)
        inside = (stop[t] >= j) & (last[t] == last[j])
        worth = rest[j] + jnp.power(jnp.float32(fade), distance) * correction[t]
        part = jnp.where(inside, strength[t] * discount**back * worth, 0.0)
        total = total.at[back:].add(part)
    return total


def n_step_returns(
    reward: Float[Array, " time"],
    next_value: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
    steps: int,
) -> Float[Array, " time"]:
    r"""Returns of n steps, :math:`\sum_{k=t}^{m}\gamma^{k-t}r_k + \gamma^{m+1-t}V(s_{m+1})`."""
    length = reward.shape[0]
    index = jnp.arange(length)
    last = _last_step(ended)
    rest = _rewards_to_go(reward, ended, discount)
    stop = jnp.minimum(index + steps - 1, last)
    beyond = jnp.where(stop < last, rest[jnp.minimum(stop + 1, length - 1)], 0.0)
    ahead = jnp.power(jnp.float32(discount), (stop + 1 - index).astype(jnp.float32))
    return rest + ahead * (next_value[stop] - beyond)


def _rewards_to_go(
    reward: Float[Array, " time"], ended: Bool[Array, " time"], discount: Number
) -> Float[Array, " time"]:
    r"""What is earned from each step to the end of its episode, :math:`\sum_{k\ge t}\gamma^{k-t}r_k`."""
    return discounted_returns(reward, jnp.zeros_like(reward), ended, ended, discount)


def _last_step(ended: Bool[Array, " time"]) -> Int[Array, " time"]:
    """The index of the last step of each step's episode, or of the stream."""
    length = ended.shape[0]
    here = jnp.where(ended, jnp.arange(length), length - 1)
    return jax.lax.cummin(here, reverse=True)
