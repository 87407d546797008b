"""What was played, as JSON data: every step with its actions and rewards."""

from typing import Any

import jax
import numpy as np

from comity.core.spaces import say
from comity.evaluate.replay import Replay

KIND = "comity-play"


def transcript(replay: Replay, game: dict[str, Any], seat: int, seed: int, episode: int) -> dict[str, Any]:
    """An episode in which a person had a seat; `game` is the game as data."""
    steps = [
        {
            "actions": [jax.tree.map(lambda x: np.asarray(x).tolist(), own) for own in moment.actions],
            "names": [
                None if own is None else say(place.action, own)
                for place, own in zip(replay.seats, moment.actions, strict=True)
            ],
            "reward": list(moment.reward),
        }
        for moment in replay.moments[1:]
    ]
    return {
        "kind": KIND,
        "game": game,
        "seats": [place.name for place in replay.seats],
        "players": list(replay.players),
        "seat": seat,
        "seed": seed,
        "episode": episode,
        "steps": steps,
        "total": list(replay.moments[-1].total),
        "over": replay.moments[-1].over,
    }
