"""Metrics of a chunk of iterations: which of them were measured, and their means."""

import numpy as np
from jaxtyping import Bool, Float

from comity.play.outcomes import OUTCOME

UPDATES = "updates"  # of a learner: how many updates followed a rollout; 0 while its memory is filling
FINITE = "finite"  # a check and no metric
EPISODES = "episodes"  # how many episodes ended
EPISODE = "episode_"  # begins the names of what those episodes were like

Chunk = dict[str, np.ndarray]  # leaves [iterations]


def was_skipped(chunk: Chunk, name: str) -> Bool[np.ndarray, " iterations"]:
    """Where a metric is not a number because there was nothing to measure.

    Its learner made no update, no episode ended, or nobody had a choice between cooperation and its opposite.
    """
    values = chunk[name]
    if name.startswith((EPISODE, OUTCOME)):
        return np.isnan(values)
    for other, made in chunk.items():
        prefix, _, last = other.rpartition("/")
        if last == UPDATES and name.startswith(f"{prefix}/" if prefix else ""):
            return np.isnan(values) & (made == 0)
    return np.zeros(values.shape, np.bool_)


def mean_metrics(chunk: Chunk) -> dict[str, float]:
    """The mean of every metric over the iterations that measured it; one that none did is left out.

    What episodes were like is the mean over all that ended in the chunk; of these, the number is given.
    """
    means = {}
    for name, values in chunk.items():
        is_measured = ~was_skipped(chunk, name)
        measured: Float[np.ndarray, " measured"] = values[is_measured].astype(np.float64)
        if name == FINITE or not measured.size:
            continue
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found by a hook
            if name == EPISODES:
                means[name] = float(measured.sum())
            elif name.startswith(EPISODE):
                means[name] = float(np.average(measured, weights=chunk[EPISODES][is_measured]))
            else:
                means[name] = float(measured.mean())
    return means
