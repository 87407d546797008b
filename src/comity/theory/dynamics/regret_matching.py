"""Regret matching: play each action in proportion to how much one regrets not having played it.

1. Cumulative regret of action a:  R_i(a) = sum_t [ u_i(a, x_-i,t) - u_i(x_t) ].
2. Play  x_i(a) = max(R_i(a), 0) / sum_b max(R_i(b), 0), uniformly if no regret is positive.
3. The players' average joint play approaches the set of coarse correlated equilibria; in two-player
   zero-sum games each one's average approaches an optimal strategy. The rate is 1 / sqrt(rounds).

With `plus`, negative regrets are forgotten at once and averages weigh round t by t, which is faster in
practice. Starts and games are batch axes that broadcast.

Source: Hart and Mas-Colell, "A simple adaptive procedure leading to correlated equilibrium",
Econometrica, 2000; Tammelin, "Solving large imperfect information games using CFR+", 2014.
"""

from functools import partial
from string import ascii_lowercase
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.display import displayed
from comity.theory.dynamics.integration import Payoffs, Starts, game_and_starts, values_of_actions


@displayed
class RegretMatching(NamedTuple):
    """Average play; `joint` approaches the coarse correlated equilibria."""

    strategies: tuple[Float[Array, "*batch _"], ...]  # each player's average play
    joint: Float[Array, "..."]  # average joint play, [*batch, actions of player 0, actions of player 1, ...]


def matched(regrets: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """The strategy of step 2."""
    positive = jnp.maximum(regrets, 0.0)
    total = jnp.sum(positive, axis=-1, keepdims=True)
    return jnp.where(total > 0.0, positive / jnp.where(total > 0.0, total, 1.0), 1.0 / regrets.shape[-1])


@partial(jax.jit, static_argnames=("steps", "plus"))
def run_regret_matching(
    payoffs: Payoffs,
    start: Starts,
    steps: int = 1000,
    plus: bool = False,
) -> RegretMatching:
    """Average play after `steps` rounds.

    `payoffs` has one tensor per player, [*games, actions of player 0, actions of player 1, ...]; `start` are
    the players' first regrets, small positive numbers.
    """
    tables, first = game_and_starts(payoffs, start)
    axes = ascii_lowercase[: len(first)]
    product = ",".join("..." + axis for axis in axes) + "->..." + axes

    def step(t: Array, state: tuple[tuple[Array, ...], Array]) -> tuple[tuple[Array, ...], Array]:
        regrets, played = state
        mixes = tuple(map(matched, regrets))
        values = values_of_actions(tables, mixes)
        regrets = tuple(
            regret + value - jnp.sum(mix * value, axis=-1, keepdims=True)
            for regret, mix, value in zip(regrets, mixes, values, strict=True)
        )
        weight = jnp.ones((), played.dtype)
        if plus:
            regrets = tuple(jnp.maximum(regret, 0.0) for regret in regrets)
            weight = (t + 1).astype(played.dtype)
        return regrets, played + weight * jnp.einsum(product, *mixes)

    played = jnp.zeros((*first[0].shape[:-1], *(x.shape[-1] for x in first)), first[0].dtype)
    _, played = jax.lax.fori_loop(0, steps, step, (first, played))
    actions = tuple(range(-len(first), 0))
    joint = played / jnp.sum(played, axis=actions, keepdims=True)
    strategies = tuple(
        jnp.sum(joint, axis=tuple(axis for axis in actions if axis != player)) for player in actions
    )
    return RegretMatching(strategies, joint)
