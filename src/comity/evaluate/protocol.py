"""The protocol of two players of the signalling game: how well it works, and what its messages mean."""

import math
from itertools import product
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Int, PyTree

from comity.core.agent import Player
from comity.core.display import displayed
from comity.core.errors import require
from comity.core.game import PerSeat
from comity.core.spaces import Discrete
from comity.evaluate import language
from comity.games.signalling import Signalling
from comity.play.match import play

MOST_MESSAGES = 256  # that a listener is asked about


@displayed
class Protocol(NamedTuple):
    """What was measured in some games; information in bits."""

    accuracy: float  # share of the meanings that were guessed whole
    reward: float
    information: float  # of messages, as they were said, about meanings
    chance: float  # the same where messages are shuffled: what the size of the sample makes of nothing
    positional: float
    bag_of_symbols: float
    topographic: float
    influence: float | None  # of messages on the listener's guess; None if it is not one choice
    reward_per_bit: float  # above what guessing earns, by the bits of a message
    dictionary: dict[tuple[int, ...], dict[tuple[int, ...], float]]


def measure_protocol(
    game: Signalling, players: PerSeat[Player], episodes: int = 2000, seed: int = 0
) -> Protocol:
    """Plays some games and measures what was said in them."""
    require(episodes >= 3, "episodes", episodes, "at least 3")
    played = play(game, players, jax.random.key(seed), episodes, 2)
    meanings = np.asarray(played.state.meaning[0])
    messages, guesses = _table(played.action[0], 0), _table(played.action[1], 1)
    reward = float(np.asarray(played.step.game_reward[0]).sum(axis=0).mean())
    guessing = 1.0 / game.values if game.partial else 1.0 / game.values**game.attributes
    bits = game.length * math.log2(game.vocabulary)
    return Protocol(
        float((meanings == guesses).all(axis=1).mean()),
        reward,
        language.mutual_information(meanings, messages),
        language.shuffled(language.mutual_information, meanings, messages, seed=seed),
        language.positional_disentanglement(meanings, messages),
        language.bag_of_symbols_disentanglement(meanings, messages, game.vocabulary),
        _topographic(meanings, messages),
        _influence(game, players[1]),
        language.reward_per_bit(reward, guessing, bits) if bits > 0 else 0.0,
        language.dictionary(meanings, messages),
    )


def _table(action: PyTree, time: int) -> Int[np.ndarray, "_ _"]:
    """What a seat chose in a step, [game, part]."""
    parts = action if isinstance(action, tuple) else (action,)
    return np.stack([np.asarray(part[time]) for part in parts], axis=1)


def _topographic(meanings: Int[np.ndarray, "_ _"], messages: Int[np.ndarray, "_ _"]) -> float:
    """Of each meaning once, with its first message; 0 of fewer than three meanings."""
    _, first = np.unique(meanings, axis=0, return_index=True)
    chosen = first[:1000]
    return language.topographic_similarity(meanings[chosen], messages[chosen]) if len(chosen) >= 3 else 0.0


def _influence(game: Signalling, listener: Player) -> float | None:
    """What each message would have made the listener do, after the step in which it heard nothing."""
    if not isinstance(listener.place.action, Discrete) or game.vocabulary**game.length > MOST_MESSAGES:
        return None
    every = np.array(list(product(range(1, game.vocabulary + 1), repeat=game.length)), np.int32)
    listener = listener.copy()
    listener.act(_observed(np.zeros_like(every)))
    return language.causal_influence(listener.probabilities(_observed(every))[None])


def _observed(messages: Int[np.ndarray, "_ _"]) -> PyTree:
    parts = tuple(messages.T)
    return parts[0] if len(parts) == 1 else parts
