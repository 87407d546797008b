"""One episode, step by step, as plain data for pictures."""

from typing import Any

import jax
import numpy as np

from comity.core.agent import Player
from comity.core.game import Environment, PerSeat
from comity.play.match import play


def replay(game: Environment, players: PerSeat[Player], seed: int, length: int) -> list[dict[str, Any]]:
    """What was seen, done and earned in each step of one episode.

    Each step has `obs` and `action` (per seat), `reward`, `total` (rewards so far), `history` (the
    actions so far, where they are discrete) and `length`, and `picture` if the game draws itself.
    """
    played = play(game, players, jax.random.key(seed), 1, length)
    actions = [np.asarray(action)[:, 0] for action in played.action]
    rewards = np.stack([np.asarray(reward)[:, 0] for reward in played.step.reward], axis=1)
    totals = np.cumsum(rewards, axis=0)
    draw = getattr(game, "picture", None)
    steps: list[dict[str, Any]] = []
    for t in range(length):
        done = np.stack([action[: t + 1] for action in actions], axis=1) if actions[0].ndim == 1 else None
        steps.append(
            {
                "obs": [jax.tree.map(lambda x, t=t: np.asarray(x)[t, 0], obs) for obs in played.obs],
                "action": [action[t] for action in actions],
                "reward": rewards[t].tolist(),
                "total": totals[t].tolist(),
                "history": done,
                "length": length,
            }
        )
        if draw is not None:
            steps[-1]["picture"] = draw(jax.tree.map(lambda x, t=t: np.asarray(x)[t, 0], played.state))
    return steps
