"""Comparing what runs reached: final scores, groups of runs, and how surely one is better than another."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.evaluate.curves import Metrics, points
from comity.evaluate.statistics import (
    Interval,
    bootstrap,
    bootstrap_mean,
    interquartile_mean,
    probability_of_improvement,
)

FEWEST = 3  # runs of a kind of which an interval says something
LAST = 0.1  # the share of a run's iterations at its end over which its final score is the mean


class Score(NamedTuple):
    """What the runs of one kind reached."""

    name: str
    runs: tuple[float, ...]  # the final score of each run
    mean: Interval
    iqm: Interval  # the interquartile mean


def final_score(rows: Metrics, metric: str) -> float | None:
    """The mean of a metric over the last tenth of the iterations; None if it was never logged."""
    x, y = points(rows, metric)
    if x.size == 0:
        return None
    return float(y[x > (1.0 - LAST) * x[-1]].mean())


def default_metric(runs: Sequence[Metrics]) -> str:
    """What runs are compared by, if nobody says: an evaluation if all have one, else what they earn.

    That is the reward per step, or the return of an episode where episodes differ in length.
    """
    logged = [{name for row in run for name in row} for run in runs if run]
    shared = set.intersection(*logged) if logged else set()
    evaluated = sorted(name for name in shared if name.startswith("evaluation/"))
    if evaluated:
        return "evaluation/reward" if "evaluation/reward" in evaluated else evaluated[0]
    lengths = {round(row["episode_length"], 3) for run in runs for row in run if "episode_length" in row}
    return "episode_return" if len(lengths) > 1 and "episode_return" in shared else "reward"


def scores(groups: Mapping[str, Sequence[float]]) -> list[Score]:
    """Each group's mean and interquartile mean with bootstrap intervals over its runs."""
    found = []
    for name, runs in groups.items():
        values = np.asarray(runs, np.float64)
        iqm = bootstrap(interquartile_mean, values)
        found.append(Score(name, tuple(float(x) for x in values), bootstrap_mean(values), iqm))
    return found


def ranked(found: Sequence[Score], minimise: bool = False) -> list[Score]:
    """The best first."""
    return sorted(found, key=lambda score: score.mean.mean if minimise else -score.mean.mean)


def improvement(first: Score, second: Score, minimise: bool = False) -> Interval:
    """How likely a run of the first kind is to be better than one of the second, with its interval."""
    sign = -1.0 if minimise else 1.0
    ours, theirs = sign * np.asarray(first.runs), sign * np.asarray(second.runs)
    return bootstrap(probability_of_improvement, ours, theirs)


def improvements(found: Sequence[Score], minimise: bool = False) -> Float[np.ndarray, "groups groups"]:
    """The probability that a run of the row is better than one of the column; not a number with itself."""
    sign = -1.0 if minimise else 1.0
    runs = [sign * np.asarray(score.runs) for score in found]
    table = np.asarray([[probability_of_improvement(a, b) for b in runs] for a in runs])
    np.fill_diagonal(table, np.nan)
    return table


def settled(first: Score, second: Score) -> bool:
    """Whether the intervals of two means lie apart; of fewer than three runs each nothing is settled."""
    if min(len(first.runs), len(second.runs)) < FEWEST:
        return False
    return first.mean.low > second.mean.high or first.mean.high < second.mean.low


def thresholds(found: Sequence[Score], count: int = 101) -> Float[np.ndarray, " count"]:
    """Where performance profiles are drawn: from below the worst run to above the best."""
    runs = [x for score in found for x in score.runs]
    low, high = min(runs), max(runs)
    margin = 0.05 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, count)


def trend(rows: Sequence[Metrics], metric: str) -> tuple[float, float, float] | None:
    """The mean over runs of a metric in the first tenth, the tenth before the last, and the last."""
    parts = []
    for run in rows:
        x, y = points(run, metric)
        if x.size < 3:
            return None
        edges = x[-1] * np.asarray([0.0, 0.1, 0.8, 0.9, 1.0])
        within = [y[(low < x) & (x <= high)] for low, high in pairwise(edges)]
        first = within[0] if within[0].size else y[:1]
        if not within[2].size or not within[3].size:
            return None
        parts.append((first.mean(), within[2].mean(), within[3].mean()))
    if not parts:
        return None
    first, before, last = np.mean(parts, axis=0)
    return float(first), float(before), float(last)
