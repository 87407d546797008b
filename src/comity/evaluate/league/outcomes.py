"""Social outcomes of the pairings of a league.

Of a pairing, player i in one seat and player j in all others: welfare and equality of all seats
(`comity.play.outcomes`), `lead`, what player i earns more than the mean of the others, and `cooperation`, the
share of player i's choices that was cooperative, where the game says what that is.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from comity.core.game import Environment
from comity.evaluate.league.result import Outcome
from comity.evaluate.statistics import resampled_sums
from comity.play.match import Matches
from comity.play.outcomes import measures

LEVELS = (0.025, 0.975)  # an interval of 95%

Roles = list[tuple[int, int, int, int]]  # focal player, opponent, the focal player's seat, pairing
Samples = Float[np.ndarray, "seats players players episodes"]


def pairing_outcomes(
    game: Environment, played: Matches, roles: Roles, counts: Float[np.ndarray, "resamples episodes"]
) -> dict[str, Outcome]:
    """All outcomes of a league's matches, by name; none in a game of one seat.

    `counts` are bootstrap samples of the episodes.
    """
    seats = len(game.seats)
    if seats < 2:
        return {}
    rewards = played.reward.astype(np.float64)
    of_all = measures(jnp.asarray(played.reward).swapaxes(0, 1), game.disagreement)
    found = {}
    for name, value in of_all.items():
        table = np.broadcast_to(np.asarray(value, np.float64)[:, None], rewards.shape)
        found[name] = _outcome(_by_role(table, roles), None, counts)
    others = (rewards.sum(axis=1, keepdims=True) - rewards) / (seats - 1)
    found["lead"] = _outcome(_by_role(rewards - others, roles), None, counts)
    if played.choices.any():
        cooperative, choices = (_by_role(x, roles) for x in (played.cooperative, played.choices))
        found["cooperation"] = _outcome(cooperative, choices, counts)
    return found


def _by_role(table: Float[np.ndarray, "pairings seats episodes"], roles: Roles) -> Samples:
    """The same by the focal player's seat, the player and the opponent."""
    players = 1 + max(focal for focal, *_ in roles)
    samples = np.zeros((table.shape[1], players, players, table.shape[-1]))
    for focal, other, seat, pairing in roles:
        samples[seat, focal, other] = table[pairing, seat]
    return samples


def _outcome(
    values: Samples, weights: Samples | None, counts: Float[np.ndarray, "resamples episodes"]
) -> Outcome:
    """The mean over seats and episodes, or the ratio of two sums, with its bootstrap interval."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value, by_seat = values.sum(axis=0), values.mean(axis=-1)
        total: Any
        drawn_total: Any
        if weights is None:
            total = drawn_total = float(len(values) * values.shape[-1])
        else:
            weight, by_seat = weights.sum(axis=0), values.sum(axis=-1) / weights.sum(axis=-1)
            total, drawn_total = weight.sum(axis=-1), resampled_sums(weight, counts)
        mean = value.sum(axis=-1) / total
        drawn = resampled_sums(value, counts) / drawn_total  # [players, players, resamples]
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    whole = ~np.isnan(drawn).any(axis=-1)  # a sample may have no choices at all, and then no share
    partly = ~whole & ~np.isnan(mean)
    low[whole], high[whole] = np.quantile(drawn[whole], LEVELS, axis=-1)
    if partly.any():
        low[partly], high[partly] = np.nanquantile(drawn[partly], LEVELS, axis=-1)
    return Outcome(mean, low, high, by_seat)
