r"""The alignment term of Advantage Alignment (Duque et al., 2024, "Advantage Alignment Algorithms").

The policy gradient of player 1 gets a second term, which raises the probability of actions that align
the opponent's advantage with the sum of one's own past advantages:

.. math:: \beta\gamma\Big(\sum_{k<t}\gamma^{t-k}A^1_k\Big)A^2_t\,\nabla\log\pi^1(a_t|s_t)

Own past advantages (the sum) are positive when the interaction was good for me so far. All functions work
on one episode stream, time first; sums never reach across the end of an episode.
"""

from typing import Literal, get_args

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.core.tunable import Number
from comity.returns.advantages import episode_time, past_sum

Past = Literal["discounted", "averaged", "separate"]
Case = Literal["cooperative", "empathetic", "vengeful", "spiteful"]
PASTS: tuple[str, ...] = get_args(Past)
CASES: tuple[str, ...] = get_args(Case)


def past_advantages(
    own: Float[Array, " time"],
    ended: Bool[Array, " time"],
    discount: Number,
    form: Past = "discounted",
    past_discount: Number = 0.9,
    start: Number = 0.0,
    age: Number = 0.0,
) -> Float[Array, " time"]:
    r"""What the interaction was worth to me so far, in one of three forms.

    - `discounted`: :math:`\gamma\sum_{k<t}\gamma^{t-k}A_k` (equations 8 and 10 of the paper).
    - `averaged`: :math:`\frac{1}{1+t}\sum_{k<t}A_k` (equation 59), t counted from the start of the episode.
    - `separate`: :math:`\gamma\sum_{k<t}(\gamma d)^{t-k}A_k` with `past_discount` d, as in the published
      runs of the Coin Game.

    Where a stream begins in the middle of an episode, `start` is the sum so far, as `past_decay` fades it,
    and `age` the number of steps so far.
    """
    sums = past_sum(own, ended, past_decay(discount, form, past_discount), start)
    if form == "averaged":
        return sums / (1.0 + episode_time(ended, age))
    return discount * sums


def past_decay(discount: Number, form: Past, past_discount: Number = 0.9) -> Number:
    """What is left of past advantages from one step to the next."""
    if form == "averaged":
        return 1.0
    return discount * past_discount if form == "separate" else discount


def alignment(
    past: Float[Array, " time"],
    opponent: Float[Array, " time"],
    without: tuple[Case, ...] = (),
) -> Float[Array, " time"]:
    r"""The product of own past and the opponent's present advantage, with some cases masked out.

    ============  ==========  ==============  ===============================================
    case          own past    opponent's now  effect of the term
    ============  ==========  ==============  ===============================================
    cooperative   positive    positive        do more of what is good for the other
    empathetic    positive    negative        do less of what is bad for the other
    vengeful      negative    positive        do less of what is good for the other
    spiteful      negative    negative        do more of what is bad for the other
    ============  ==========  ==============  ===============================================
    """
    good, helps = past > 0, opponent > 0
    cases = {
        "cooperative": good & helps,
        "empathetic": good & ~helps,
        "vengeful": ~good & helps,
        "spiteful": ~good & ~helps,
    }
    term = past * opponent
    for name in without:
        term = jnp.where(cases[name], 0.0, term)
    return term


def time_discount(ended: Bool[Array, " time"], discount: Number) -> Float[Array, " time"]:
    r"""The factor :math:`\gamma^t` of equations 3 and 8, t counted from the start of the episode."""
    return jnp.power(jnp.float32(discount), episode_time(ended))
