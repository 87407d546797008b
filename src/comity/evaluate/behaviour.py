"""What a player does in each state: P(cooperate) after start, CC, CD, DC, DD, and its like."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int, Shaped
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Player
from comity.core.game import Environment
from comity.core.spaces import Discrete
from comity.games.transforms import TremblingHand
from comity.play.match import play

Z = 1.959964  # the normal quantile of a 95% interval


class Behaviour(NamedTuple):
    """How often each observation was met, and how often each action was meant there.

    `probability[s, a]` is NaN where state s was never met; `low` and `high` are its 95% interval.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    visits: Int[np.ndarray, " states"]
    probability: Float[np.ndarray, "states actions"]
    low: Float[np.ndarray, "states actions"]
    high: Float[np.ndarray, "states actions"]


def behaviour(
    game: Environment,
    player: Player,
    opponent: Player,
    key: Key,
    episodes: int = 512,
    seat: int = 0,
    tremble: float = 0.0,
) -> Behaviour | None:
    """What a player means to do in each state, when it meets an opponent in all other seats.

    With `tremble`, actions of all are replaced by random ones at times, so that states are met which the
    players by themselves avoid; what counts is what the player meant to do. None if the observations or
    the actions of the seat are not discrete, or the game has no fixed length.
    """
    place = game.seats[seat]
    observation, action = place.observation, place.action
    if not (isinstance(observation, Discrete) and isinstance(action, Discrete)) or game.horizon is None:
        return None
    seated = tuple(player if i == seat else opponent for i in range(len(game.seats)))
    shaken = TremblingHand(game=game, probability=tremble) if tremble > 0 else game
    played = play(shaken, seated, key, episodes, game.horizon)
    states, meant = np.asarray(played.obs[seat]), np.asarray(played.action[seat])  # [time, episode]
    counts = np.zeros((episodes, observation.n, action.n), np.int64)
    np.add.at(counts, (np.arange(episodes)[None, :], states, meant), 1)
    visits = counts.sum(axis=(0, 2))
    with np.errstate(invalid="ignore"):
        probability = counts.sum(axis=0) / np.where(visits > 0, visits, np.nan)[:, None]
    low, high = proportion_interval(counts, np.broadcast_to(counts.sum(axis=2, keepdims=True), counts.shape))
    return Behaviour(
        tuple(observation.label(i) for i in range(observation.n)),
        tuple(action.label(i) for i in range(action.n)),
        visits,
        probability,
        low,
        high,
    )


def proportion_interval(
    hits: Shaped[np.ndarray, "clusters *cells"], trials: Shaped[np.ndarray, "clusters *cells"]
) -> tuple[Float[np.ndarray, " *cells"], Float[np.ndarray, " *cells"]]:
    """The 95% interval of a share of trials that come in clusters, as visits in episodes do; NaN without any.

    Wilson's interval (1927), which is right for shares of 0 and 1 and for few trials, with the effective
    number of trials of Korn and Graubard (1998): their number divided by how much larger the variance between
    clusters makes that of the share than it would be if all trials were independent, at least 1.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        n = trials.sum(axis=0).astype(np.float64)
        share = hits.sum(axis=0) / n
        spread = ((hits - share * trials) ** 2).sum(axis=0) / n**2
        design = np.where(share * (1 - share) > 0, spread / (share * (1 - share) / n), 1.0)
        n = n / np.maximum(design, 1.0)
        middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def sample_play(game: Environment, players: tuple[Player, ...], seed: int, length: int) -> list[list[int]]:
    """The actions of one episode, seat by seat, for games with discrete actions."""
    played = play(game, players, jax.random.key(seed), 1, length)
    return [np.asarray(action)[:, 0].tolist() for action in played.action]
