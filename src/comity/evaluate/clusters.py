"""Clusters of episodes by what was done in them.

Descriptors (`comity.evaluate.episodes.describe_episodes`) are standardised, k-means (Lloyd, 1982, begun by
k-means++, Arthur and Vassilvitskii, 2007; the best of ten starts) finds 2 to 6 clusters, and the number with
the largest mean silhouette (Rousseeuw, 1987) is taken. Below a silhouette of 0.5, which Kaufman and Rousseeuw
(1990) call a reasonable structure, there is one cluster: all episodes are of a kind. Everything follows from
the seed.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from comity.core.agent import Player
from comity.core.game import Environment, PerSeat
from comity.evaluate.episodes import describe_episodes, play_episodes

LEAST_SILHOUETTE = 0.5
MOST_CLUSTERS = 6
STARTS = 10
ROUNDS = 100

Table = Float[np.ndarray, "episodes features"]
Labels = Int[np.ndarray, " episodes"]


class Cluster(NamedTuple):
    """Episodes of a kind: how large a share, the one nearest to the middle, and what sets them apart.

    `representative` is the number of that episode: `replay(game, players, seed, episode=representative)`
    shows it.
    """

    share: float
    representative: int
    reward: tuple[float, ...]  # per step and seat
    features: dict[str, float]  # the mean of each feature
    typical: tuple[
        str, ...
    ]  # the features that differ most from the mean over all episodes, with their values


class Clusters(NamedTuple):
    """All clusters, the largest first, the number of the cluster of each episode, and the mean silhouette."""

    clusters: tuple[Cluster, ...]
    labels: Labels
    silhouette: float  # NaN if there is one cluster
    seed: int


def cluster_episodes(
    game: Environment, players: PerSeat[Player], episodes: int = 128, length: int | None = None, seed: int = 0
) -> Clusters:
    """Plays episodes and says of what kinds they are."""
    played = play_episodes(game, players, episodes, length, seed)
    names, table = describe_episodes(game, played)
    labels, silhouette = find_clusters(table, seed)
    rewards = played.reward.sum(axis=1) / np.maximum(played.weight.sum(axis=1), 1.0)[:, None]
    scaled = standardised(table)
    clusters = []
    for k in range(labels.max() + 1):
        own = np.flatnonzero(labels == k)
        middle = scaled[own].mean(axis=0)
        nearest = int(own[np.argmin(((scaled[own] - middle) ** 2).sum(axis=1))])
        means = table[own].mean(axis=0)
        apart = np.abs(means - table.mean(axis=0)) / np.where(
            table.std(axis=0) > 0, table.std(axis=0), np.inf
        )
        order = np.argsort(-apart, kind="stable")[:3]
        typical = tuple(f"{names[i]} {means[i]:.2f}" for i in order)
        features = dict(zip(names, means.tolist(), strict=True))
        earned = tuple(rewards[own].mean(axis=0).tolist())
        clusters.append(Cluster(own.size / len(labels), nearest, earned, features, typical))
    return Clusters(tuple(clusters), labels, silhouette, seed)


def find_clusters(table: Table, seed: int = 0) -> tuple[Labels, float]:
    """The cluster of each row, the largest first, and the mean silhouette."""
    scaled = standardised(table)
    best, score = np.zeros(len(table), np.int64), LEAST_SILHOUETTE
    distinct = len(np.unique(scaled.round(9), axis=0))
    distance = np.sqrt(((scaled[:, None] - scaled[None]) ** 2).sum(axis=-1))
    for k in range(2, min(MOST_CLUSTERS, distinct) + 1):
        labels = k_means(scaled, k, seed)
        own = silhouette(distance, labels)
        if own > score + 1e-9:
            best, score = labels, own
    found = np.unique(best, return_counts=True)
    order = np.argsort(-found[1], kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[best], score if len(order) > 1 else float("nan")


def standardised(table: Table) -> Float[np.ndarray, "episodes moving"]:
    """Each feature less its mean, divided by its spread; features that never change are left out."""
    spread = table.std(axis=0)
    moves = spread > 1e-9 * np.maximum(np.abs(table).max(axis=0), 1.0)
    return (table[:, moves] - table[:, moves].mean(axis=0)) / spread[moves]


def k_means(points: Table, k: int, seed: int = 0) -> Labels:
    """The clustering into k with the least sum of squared distances to the means, of ten starts."""
    random = np.random.default_rng(seed)
    best, least = np.zeros(len(points), np.int64), np.inf
    for _ in range(STARTS):
        means = _first_means(points, k, random)
        for _ in range(ROUNDS):
            distance = ((points[:, None] - means[None]) ** 2).sum(axis=-1)
            labels = distance.argmin(axis=1)
            moved = np.stack(
                [points[labels == j].mean(axis=0) if (labels == j).any() else means[j] for j in range(k)]
            )
            if np.array_equal(moved, means):
                break
            means = moved
        cost = float(distance.min(axis=1).sum())
        if cost < least - 1e-12:
            best, least = labels, cost
    return np.unique(best, return_inverse=True)[1].astype(np.int64)


def silhouette(distance: Float[np.ndarray, "n n"], labels: Labels) -> float:
    """The mean over points of (b - a) / max(a, b).

    a is the mean distance to the others of its cluster, b to those of the nearest other one; 0 for a point
    alone.
    """
    members = (labels[:, None] == np.arange(labels.max() + 1)[None]).astype(np.float64)
    sizes = members.sum(axis=0)
    if len(sizes) < 2:
        return 0.0
    sums = distance @ members
    own = sizes[labels]
    a = sums[np.arange(len(labels)), labels] / np.maximum(own - 1, 1)
    b = np.where(members > 0, np.inf, sums / sizes).min(axis=1)
    largest = np.maximum(a, b)
    values = np.where((own > 1) & (largest > 0), (b - a) / np.where(largest > 0, largest, 1.0), 0.0)
    return float(values.mean())


def _first_means(points: Table, k: int, random: np.random.Generator) -> Float[np.ndarray, "k features"]:
    """k-means++: each next mean is a point, drawn by its squared distance to the nearest one so far."""
    means = [points[random.integers(len(points))]]
    for _ in range(k - 1):
        distance = np.min([((points - mean) ** 2).sum(axis=1) for mean in means], axis=0)
        total = distance.sum()
        chance = distance / total if total > 0 else np.full(len(points), 1.0 / len(points))
        means.append(points[random.choice(len(points), p=chance)])
    return np.stack(means)
