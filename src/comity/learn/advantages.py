"""Advantages of whole teams: the functions of `returns`, for every seat in every game."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from comity.core.shards import total
from comity.core.tunable import Number
from comity.returns.advantages import gae, step_discounts
from comity.returns.surrogates import normalise, weighted_mean

Normalise = Literal["none", "scale", "batch", "unbiased", "minibatch"]
Discount = float | Float[Array, "time seat game"]


def over_team(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one stream [time, ...], for every seat in every game [time, seat, game, ...]."""
    return jax.vmap(jax.vmap(function, in_axes=1, out_axes=1), in_axes=1, out_axes=1)


def team_advantages(
    reward: Float[Array, "time seat game"],
    value: Float[Array, "time seat game"],
    next_value: Float[Array, "time seat game"],
    terminated: Bool[Array, "time seat game"],
    ended: Bool[Array, "time seat game"],
    next_acts: Bool[Array, "time seat game"] | None,
    discount: Number,
    gae_lambda: Number,
) -> Float[Array, "time seat game"]:
    """Generalised advantages of each seat in each game.

    In turn-based games `next_acts` says where a seat decides in the step after: while it waits, nothing is
    discounted and no value is mixed in, so that what it earns belongs to its last own move.
    """
    if next_acts is None:
        estimate = over_team(partial(gae, discount=discount, gae_lambda=gae_lambda))
        advantage: Array = estimate(reward, value, next_value, terminated, ended)
        return advantage
    discounts, lambdas = step_discounts(next_acts, discount, gae_lambda)
    waiting: Array = over_team(gae)(reward, value, next_value, terminated, ended, discounts, lambdas)
    return waiting


def normalised(
    advantage: Float[Array, "time seat game"],
    weight: Float[Array, "time seat game"],
    rule: Normalise,
    clip: float = 0.0,
) -> Float[Array, "time seat game"]:
    """Advantages by their spread (scale) or with mean 0 and variance 1, and limited, as asked for.

    The variance of `unbiased` is divided by n - 1, as that of torch, and what keeps it from 0 is outside the
    root.
    """
    if rule in ("batch", "minibatch"):
        advantage = normalise(advantage, weight)
    elif rule == "unbiased":
        count = jnp.maximum(total(weight.sum()), 2.0)
        centred = advantage - weighted_mean(advantage, weight)
        variance = weighted_mean(jnp.square(centred), weight) * count / (count - 1.0)
        advantage = centred / (jnp.sqrt(variance) + 1e-8)
    elif rule == "scale":
        advantage = advantage / jnp.sqrt(weighted_mean(jnp.square(advantage), weight) + 1e-6)
    return jnp.clip(advantage, -clip, clip) if clip > 0 else advantage
