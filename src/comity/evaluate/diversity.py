r"""How diverse policies are, by what they do and by what they earn against each other.

- Distance of behaviour: how differently two policies act along shared observations (`behaviour_distances`).
- Determinant: :math:`\det K` with :math:`K_{ij} = \exp(-d_{ij}^2 / 2\ell^2)`, the volume of behaviours:
  1 where all are far apart, 0 where two are alike (Parker-Holder et al., 2020, "Effective Diversity in
  Population Based Reinforcement Learning", with a kernel on distances of behaviour).
- Response diversity: the expected cardinality :math:`\mathrm{tr}(I - (MM^T + I)^{-1})` of a determinantal
  process whose features are the rows of the payoff table M, what each earns against all (Perez-Nieves et al.,
  2021, "Modelling Behavioural Diversity for Learning in Open-Ended Games").
"""

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Array, Float

from comity.core.agent import Player, stack
from comity.core.batch import Trajectory, team_batch
from comity.core.errors import ComityError, require
from comity.core.game import Environment
from comity.play.behaviour import behaviour_along, check_behaviour, distances
from comity.play.match import play
from comity.play.mixed import mix


def behaviour_distances(
    game: Environment, players: Sequence[Player], seat: int = 0, *, episodes: int = 16, seed: int = 0
) -> Float[np.ndarray, "player player"]:
    """How differently players would act in a seat, along observations that all of them brought about.

    Each plays some episodes with itself in all seats; along what the seat saw in these, everybody says what
    it would do. The distance is the mean total variation of choices, 0 to 1, or for numbers the mean
    Euclidean distance; it is 0 for networks that do the same by other weights.
    """
    require(episodes >= 1, "episodes", episodes, "at least 1")
    if game.horizon is None:
        raise ComityError("This game has no fixed length: give it a horizon.")
    action = game.seats[seat].action
    check_behaviour(action)
    crowd, members = mix(list(players))
    everyone = stack(members)
    key = jax.random.key(seed)
    seats, length = len(game.seats), game.horizon
    games = [
        play(game, (Player(crowd, own),) * seats, jax.random.fold_in(key, i), episodes, length)
        for i, own in enumerate(members)
    ]

    def along(played: Trajectory) -> Array:
        batch = team_batch(played, (seat,))
        obs, resets = jax.tree.map(lambda x: x[:, 0], batch.obs), batch.resets[:, 0]
        return jax.vmap(lambda own: behaviour_along(crowd, own, obs, resets, action, key))(everyone)

    compare = jax.jit(lambda played: distances(along(played), action))
    return np.mean([np.asarray(compare(played), np.float64) for played in games], axis=0)


def determinant_diversity(distance: Float[np.ndarray, "player player"], length_scale: float = 0.5) -> float:
    """The determinant of the kernel of distances: from 0, some are alike, to 1, all are far apart."""
    require(length_scale > 0, "length_scale", length_scale, "above 0")
    kernel = np.exp(-(np.asarray(distance, np.float64) ** 2) / (2.0 * length_scale**2))
    return max(0.0, float(np.linalg.det(kernel)))


def response_diversity(payoffs: Float[np.ndarray, "player opponent"]) -> float:
    """The expected cardinality of a payoff table: how many kinds there are, by what they earn."""
    table = np.asarray(payoffs, np.float64)
    inverse = np.linalg.inv(table @ table.T + np.eye(len(table)))
    return float(np.trace(np.eye(len(table)) - inverse))


def mean_distance_to_others(distance: Float[np.ndarray, "player player"]) -> Float[np.ndarray, " player"]:
    """How far each is from the others on average; 0 if it is alone."""
    count = len(distance)
    return np.asarray(distance).sum(axis=1) / max(1, count - 1)
