"""What a player does in each state: P(cooperate) after start, CC, CD, DC, DD, and its like."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Player
from comity.core.game import Environment
from comity.core.spaces import Discrete
from comity.games.transforms import TremblingHand
from comity.play.match import play


class Behaviour(NamedTuple):
    """How often each observation was met, and how often each action was meant there.

    `probability[s, a]` is NaN where state s was never met.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    visits: Int[np.ndarray, " states"]
    probability: Float[np.ndarray, "states actions"]


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
    states = np.asarray(played.obs[seat]).ravel()
    meant = np.asarray(played.action[seat]).ravel()
    counts = np.zeros((observation.n, action.n), np.int64)
    np.add.at(counts, (states, meant), 1)
    visits = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        probability = counts / np.where(visits > 0, visits, np.nan)[:, None]
    return Behaviour(
        tuple(observation.label(i) for i in range(observation.n)),
        tuple(action.label(i) for i in range(action.n)),
        visits,
        probability,
    )


def sample_play(game: Environment, players: tuple[Player, ...], seed: int, length: int) -> list[list[int]]:
    """The actions of one episode, seat by seat, for games with discrete actions."""
    played = play(game, players, jax.random.key(seed), 1, length)
    return [np.asarray(action)[:, 0].tolist() for action in played.action]
