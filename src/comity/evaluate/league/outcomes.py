"""Social outcomes of the pairings of a league.

Of a pairing, player i in one seat and player j in all others: welfare and equality of all seats
(`comity.play.outcomes`), `lead`, what player i earns more than the mean of the others, and `cooperation`, the
share of player i's choices that was cooperative, where the game says what that is.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from comity.core.game import Environment
from comity.evaluate.league.result import Outcome
from comity.play.match import Matches
from comity.play.outcomes import measures

RESAMPLES = 1000

Roles = list[tuple[int, int, int, int]]  # focal player, opponent, the focal player's seat, pairing
Samples = Float[np.ndarray, "seats players players episodes"]


def pairing_outcomes(game: Environment, played: Matches, roles: Roles, seed: int) -> dict[str, Outcome]:
    """All outcomes of a league's matches, by name; none in a game of one seat."""
    seats = len(game.seats)
    if seats < 2:
        return {}
    rewards = played.reward.astype(np.float64)
    counts = _resampled_counts(rewards.shape[-1], seed)
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


def _resampled_counts(episodes: int, seed: int) -> Float[np.ndarray, "resamples episodes"]:
    """How often each episode is in each bootstrap sample."""
    draws = np.random.default_rng(seed).integers(0, episodes, (RESAMPLES, episodes))
    flat = (np.arange(RESAMPLES)[:, None] * episodes + draws).ravel()
    counts = np.bincount(flat, minlength=RESAMPLES * episodes)
    return counts.reshape(RESAMPLES, episodes).astype(np.float64)


def _outcome(
    values: Samples, weights: Samples | None, counts: Float[np.ndarray, "resamples episodes"]
) -> Outcome:
    """The mean over seats and episodes, or the ratio of two sums, with its bootstrap interval."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value, weight = values.sum(axis=0), np.ones(values.shape[1:]) * len(values)
        by_seat = values.mean(axis=-1)
        if weights is not None:
            weight, by_seat = weights.sum(axis=0), values.sum(axis=-1) / weights.sum(axis=-1)
        mean = value.sum(axis=-1) / weight.sum(axis=-1)
        drawn = (value @ counts.T) / (weight @ counts.T)  # [players, players, resamples]
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    known = ~np.isnan(mean)
    if known.any():
        low[known], high[known] = np.nanquantile(drawn[known], [0.025, 0.975], axis=-1)
    return Outcome(mean, low, high, by_seat)
