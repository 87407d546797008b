"""Metrics of social outcomes, from what every player earned at every time step.

With rewards r[t, i], returns R_i = sum_t r[t, i], N players and T steps:

    efficiency      U = sum_i R_i / T                           how much is earned in all
    equality        E = 1 - sum_ij |R_i - R_j| / (2 N sum_i R_i)  1 if all earn the same
    sustainability  S = mean_i mean { t : r[t, i] > 0 }         late rewards: the resource lasted
    peace           P = N - (steps spent frozen by others) / T  N if nobody is ever frozen

Source: Perolat et al., "A multi-agent reinforcement learning model of common-pool resource appropriation",
NeurIPS 2017.
"""

import numpy as np
from jaxtyping import Bool, Float

from comity.theory.cooperative.fairness import gini
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import numbers


def checked_rewards(rewards: object) -> Float[np.ndarray, "time players"]:
    """Rewards as a table [time, players]."""
    table = numbers(rewards, "rewards")
    if table.ndim != 2 or table.size == 0:
        raise TheoryError(f"rewards has shape {table.shape}; (time, players) would work.")
    return table


def efficiency(rewards: Float[np.ndarray, "time players"]) -> float:
    """Reward of all players together, per time step."""
    table = checked_rewards(rewards)
    return float(table.sum()) / len(table)


def equality(returns: Float[np.ndarray, " players"]) -> float:
    """1 minus the Gini coefficient of the players' returns, which must not be negative."""
    return 1.0 - gini(returns)


def sustainability(rewards: Float[np.ndarray, "time players"]) -> float:
    """The average time of a positive reward, averaged over the players who had one; 0 if nobody did."""
    positive = checked_rewards(rewards) > 0
    counts = positive.sum(axis=0)
    times = np.arange(len(positive)) @ positive
    earned = counts > 0
    return float((times[earned] / counts[earned]).mean()) if earned.any() else 0.0


def peace(frozen: Bool[np.ndarray, "time players"]) -> float:
    """The average number of players who are free to act."""
    table = np.asarray(frozen)
    if table.ndim != 2 or table.size == 0:
        raise TheoryError(f"frozen has shape {table.shape}; (time, players) would work.")
    return float((~table.astype(np.bool_)).sum()) / len(table)


def cooperation_rate(
    cooperated: Bool[np.ndarray, " *any"], alive: Bool[np.ndarray, " *any"] | None = None
) -> float:
    """The share of choices that were cooperative, among players who were there to choose."""
    choices = np.asarray(cooperated, dtype=np.bool_)
    present = np.ones_like(choices) if alive is None else np.asarray(alive, dtype=np.bool_)
    if present.shape != choices.shape or not present.any():
        raise TheoryError(
            f"cooperated has shape {choices.shape} and alive {present.shape}; one shape, and somebody alive, "
            "would work."
        )
    return float((choices & present).sum()) / float(present.sum())
