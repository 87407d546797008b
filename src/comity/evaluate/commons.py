"""How a group did in a commons, episode by episode, and what is left of it."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from comity.core.agent import Player
from comity.core.game import PerSeat
from comity.games.commons_harvest import CommonsHarvest
from comity.play.match import play
from comity.theory.empirical.social import equality, peace, sustainability


class Commons(NamedTuple):
    """What came of some episodes; the measures are those of `comity.theory.empirical.social`.

    - `per_seat`, `collective`: what each seat got, and all together.
    - `equality`, `sustainability` (in steps), `peace` (players who were not out).
    - `apples`: how many there were after each step; `bushes`: how many bushes have one at the end.
    """

    per_seat: Float[np.ndarray, "seats episodes"]
    collective: Float[np.ndarray, " episodes"]
    equality: Float[np.ndarray, " episodes"]
    sustainability: Float[np.ndarray, " episodes"]
    peace: Float[np.ndarray, " episodes"]
    apples: Int[np.ndarray, "time episodes"]
    bushes: Int[np.ndarray, " episodes"]


def play_commons(
    game: CommonsHarvest, players: PerSeat[Player], episodes: int, length: int, seed: int = 0
) -> Commons:
    """Plays episodes of Commons Harvest, all of one length, and measures them."""
    played = play(game, players, jax.random.key(seed), episodes, length)
    rewards = np.stack([np.asarray(reward) for reward in played.step.reward], axis=-1)
    after = played.next_state
    return measure_commons(rewards, np.asarray(after.apples), np.asarray(after.away) > 0, game.layout.bushes)


def measure_commons(
    rewards: Float[np.ndarray, "time episodes seats"],
    apples: Bool[np.ndarray, "time episodes apples"],
    out: Bool[np.ndarray, "time episodes seats"],
    bushes: Int[np.ndarray, " apples"],
) -> Commons:
    """The measures of recorded rewards, apples and who was out; `bushes`: to which bush an apple belongs."""
    per_seat = rewards.sum(axis=0).T
    episodes = range(rewards.shape[1])
    alive = np.stack([apples[-1][:, bushes == bush].any(axis=1) for bush in np.unique(bushes)])
    return Commons(
        per_seat=per_seat,
        collective=per_seat.sum(axis=0),
        equality=np.asarray([equality(row) if row.sum() > 0 else 1.0 for row in per_seat.T]),
        sustainability=np.asarray([sustainability(rewards[:, e]) for e in episodes]),
        peace=np.asarray([peace(out[:, e]) for e in episodes]),
        apples=apples.sum(axis=-1),
        bushes=alive.sum(axis=0),
    )
