"""Which members of a population go on: for each place, whose parameters are there in the next generation.

A parent is a place, so that member i keeps its own parameters where `parents[i] == i`. Equal fitness goes to
the earlier place.
"""

import numpy as np
from jaxtyping import Float, Int


def ranking(fitness: Float[np.ndarray, " member"]) -> Int[np.ndarray, " member"]:
    """Places from the fittest on; members whose fitness is not a number are last."""
    known = np.where(np.isnan(fitness), -np.inf, fitness)
    return np.argsort(-known, kind="stable")


def truncation(
    fitness: Float[np.ndarray, " member"], share: float, rng: np.random.Generator
) -> Int[np.ndarray, " member"]:
    """The worst `share` of the members each copy one of the best `share`, drawn evenly.

    Source: Jaderberg et al., "Population Based Training of Neural Networks", 2017.
    """
    order, count = ranking(fitness), int(share * len(fitness))
    parents = np.arange(len(fitness))
    if count:
        parents[order[-count:]] = rng.choice(order[:count], count)
    return parents


def tournament(
    fitness: Float[np.ndarray, " member"], contenders: int, elites: int, rng: np.random.Generator
) -> Int[np.ndarray, " member"]:
    """The `elites` stay; every other place goes to the fittest of some different contenders, drawn evenly.

    The best of n wins a tournament of k with probability k / n.
    """
    order = ranking(fitness)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    parents = np.arange(len(fitness))
    for place in order[elites:]:
        drawn = rng.choice(len(fitness), contenders, replace=False)
        parents[place] = drawn[np.argmin(rank[drawn])]
    return parents
