"""Players that count as one of a kind: several seeds of one experiment."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from comity.evaluate.league.result import League, Matrix, Outcome

RESAMPLES = 1000

Merged = Float[np.ndarray, "kinds kinds"]
Weights = Float[np.ndarray, "*draws kinds players"]  # how often each player counts for each kind


def by_kind(league: League, kinds: Mapping[str, list[int]]) -> League:
    """A league in which some players count as one of a kind: the mean over all pairings of two kinds.

    A kind meets itself as it is trained: each of its players with itself.
    """
    weights = _weights(list(kinds.values()), len(league.players))
    by_seat = league.by_seat
    return replace(
        league,
        players=tuple(kinds),
        mean=_merge(league.mean, weights),
        low=_merge(league.low, weights),
        high=_merge(league.high, weights),
        samples=None,
        by_seat=None if by_seat is None else np.stack([_merge(table, weights) for table in by_seat]),
        outcomes={name: _merge_outcome(found, weights) for name, found in league.outcomes.items()},
    )


def average_seeds(league: League, kinds: Mapping[str, list[int]], seed: int = 0) -> League:
    """`by_kind` with 95% bootstrap intervals over seeds instead of episodes.

    The seeds of both kinds are drawn with replacement. A pairing of two single players keeps its interval
    over episodes.
    """
    groups = list(kinds.values())
    merged = by_kind(league, kinds)
    random = np.random.default_rng(seed)
    drawn = [[random.choice(group, len(group)).tolist() for group in groups] for _ in range(RESAMPLES)]
    weights = np.stack([_weights(own, len(league.players)) for own in drawn])
    single = np.asarray([[len(a) == len(b) == 1 for b in groups] for a in groups])

    def intervals(table: Matrix, low: Merged, high: Merged) -> tuple[Merged, Merged]:
        drawn_means = _merge(table, weights)
        known = ~np.isnan(drawn_means).all(axis=0)
        bounds = np.full((2, *known.shape), np.nan)
        bounds[:, known] = np.nanquantile(drawn_means[:, known], [0.025, 0.975], axis=0)
        return np.where(single, low, bounds[0]), np.where(single, high, bounds[1])

    low, high = intervals(league.mean, merged.low, merged.high)
    outcomes = {}
    for name, found in merged.outcomes.items():
        lower, upper = intervals(league.outcomes[name].mean, found.low, found.high)
        outcomes[name] = found._replace(low=lower, high=upper)
    return replace(merged, low=low, high=high, outcomes=outcomes)


def _weights(groups: list[list[int]], players: int) -> Weights:
    return np.stack([np.bincount(group, minlength=players).astype(np.float64) for group in groups])


def _merge(table: Matrix, weights: Weights) -> Float[np.ndarray, "*draws kinds kinds"]:
    """Weighted means of pairings, without those that are not a number; of a kind and itself, the diagonal."""
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        sums, counts = (
            weights @ part @ weights.swapaxes(-1, -2) for part in (np.where(known, table, 0.0), 1.0 * known)
        )
        own = (weights @ np.diag(np.where(known, table, 0.0))) / (weights @ np.diag(known))
        merged: np.ndarray = sums / counts
    places = np.arange(weights.shape[-2])
    merged[..., places, places] = own
    return merged


def _merge_outcome(outcome: Outcome, weights: Weights) -> Outcome:
    by_seat = np.stack([_merge(table, weights) for table in outcome.by_seat])
    mean, low, high = (_merge(table, weights) for table in outcome[:3])
    return Outcome(mean, low, high, by_seat)
