"""Metrics of a chunk of iterations: which of them were measured, and their means."""

import numpy as np
from jaxtyping import Bool, Float

UPDATES = "updates"  # of a learner: how many updates followed a rollout; 0 while its memory is filling
FINITE = "finite"  # a check and no metric

Chunk = dict[str, np.ndarray]  # leaves [iterations]


def was_skipped(chunk: Chunk, name: str) -> Bool[np.ndarray, " iterations"]:
    """Where a metric is not a number because its learner made no update: there was nothing to measure."""
    values = chunk[name]
    for other, made in chunk.items():
        prefix, _, last = other.rpartition("/")
        if last == UPDATES and name.startswith(f"{prefix}/" if prefix else ""):
            return np.isnan(values) & (made == 0)
    return np.zeros(values.shape, np.bool_)


def mean_metrics(chunk: Chunk) -> dict[str, float]:
    """The mean of every metric over the iterations that measured it; one that none did is left out."""
    means = {}
    for name, values in chunk.items():
        measured: Float[np.ndarray, " measured"] = values[~was_skipped(chunk, name)]
        if name != FINITE and measured.size:
            with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found by a hook
                means[name] = float(measured.mean(dtype=np.float64))
    return means
