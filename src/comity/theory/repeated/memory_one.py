"""Memory-one strategies in a repeated 2 x 2 game: exact values per step and best responses.

A memory-one strategy plays action 0 ("cooperate") with a probability that depends on the last round, seen
with one's own action first: after (0, 0), (0, 1), (1, 0), (1, 1). Two of them make a Markov chain over the
four outcomes, with first-round distribution m and transition matrix T, so that at discount d the
values per step (normalised: not the discounted sum, which is 1 / (1 - d) times as large) are

    v = (1 - d) sum_t d^t m T^t u = (1 - d) m (I - d T)^-1 u.

Best response to a memory-one strategy: the last outcome is all that the opponent reacts to, so it is a
Markov decision process with four states and the first round. Policy iteration:

1. Start from always playing action 0. 2. Solve the linear equations for its value.
3. Switch every state where the other action is action_values more. 4. Stop when no state switches.

Source: Nowak, "Evolutionary Dynamics", 2006, chapter 5; Puterman, "Markov Decision Processes", 1994,
section 6.4.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from comity.core.display import displayed
from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame

SWAPPED = [0, 2, 1, 3]  # the outcomes (0,0), (0,1), (1,0), (1,1) as the other player sees them


@displayed
class MemoryOne(NamedTuple):
    """A strategy that remembers one round."""

    first: float  # probability of action 0 in the first round
    after: Float[np.ndarray, "4"]  # and after (own, other) = (0, 0), (0, 1), (1, 0), (1, 1)


@displayed
class BestReply(NamedTuple):
    """The best that any strategy earns against a memory-one strategy, per step."""

    strategy: MemoryOne  # deterministic
    value: float  # per step: (1 - d) sum_t d^t u_t
    gain: float  # per step, over playing as `current` did, when that was given


def always(probability: float) -> MemoryOne:
    """Action 0 with the same probability in every round."""
    return MemoryOne(probability, np.full(4, probability))


def tit_for_tat() -> MemoryOne:
    """Cooperates first, then does what the other did."""
    return MemoryOne(1.0, np.array([1.0, 0.0, 1.0, 0.0]))


def win_stay_lose_shift() -> MemoryOne:
    """Pavlov: cooperates first and after rounds in which both did the same."""
    return MemoryOne(1.0, np.array([1.0, 0.0, 0.0, 1.0]))


def grim_trigger() -> MemoryOne:
    """Cooperates until anyone has defected, then never again."""
    return MemoryOne(1.0, np.array([1.0, 0.0, 0.0, 0.0]))


def checked(game: NormalFormGame, discount: float, *strategies: MemoryOne) -> None:
    """Refuses games, discounts and strategies that the formulas are not for."""
    if game.num_actions != (2, 2):
        raise TheoryError(
            f"The game has actions {game.num_actions}; memory-one strategies are for 2 players with 2 "
            "actions each."
        )
    if not 0.0 <= discount < 1.0:
        raise TheoryError(
            f"discount is {discount}; a number from 0 up to but not including 1 would work (0.999 for "
            "patient players)."
        )
    for strategy in strategies:
        values = np.append(np.asarray(strategy.after, dtype=np.float64), strategy.first)
        if values.shape != (5,) or not ((values >= 0.0) & (values <= 1.0)).all():
            raise TheoryError(
                f"A memory-one strategy has the probabilities {values.tolist()}; four (and one for the "
                "first round) between 0 and 1 would work."
            )


def joint_distribution(row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Probabilities of the four outcomes when both choose action 0 with the given probabilities."""
    return np.stack([row * column, row * (1 - column), (1 - row) * column, (1 - row) * (1 - column)], -1)


def outcome_distribution(row: MemoryOne, column: MemoryOne, discount: float) -> Float[np.ndarray, "4"]:
    """(1 - d) m (I - d T)^-1: how often, discounted, each outcome occurs."""
    first = joint_distribution(np.array(row.first), np.array(column.first))
    transition = joint_distribution(np.asarray(row.after), np.asarray(column.after)[SWAPPED])
    return (1.0 - discount) * np.linalg.solve((np.eye(4) - discount * transition).T, first)


def repeated_values(
    game: NormalFormGame, row: MemoryOne, column: MemoryOne, discount: float
) -> Float[np.ndarray, "2"]:
    """What each player earns per step, exactly: (1 - discount) times the discounted sum of payoffs."""
    checked(game, discount, row, column)
    return game.payoffs.reshape(2, 4) @ outcome_distribution(row, column, discount)


def best_reply(
    game: NormalFormGame,
    opponent: MemoryOne,
    discount: float,
    player: int = 0,
    current: MemoryOne | None = None,
) -> BestReply:
    """The best strategy of `player` (0 or 1), of any memory, against `opponent`; its value is per step."""
    checked(game, discount, opponent, *([current] if current else []))
    payoffs = game.payoffs[player] if player == 0 else game.payoffs[player].T  # [own, other]
    # State 4 is the first round. The opponent plays action 0 with this probability in each state:
    meets = np.append(np.asarray(opponent.after)[SWAPPED], opponent.first)
    rewards = meets[:, None] * payoffs[:, 0] + (1 - meets)[:, None] * payoffs[:, 1]  # [state, own action]
    moves = np.zeros((5, 2, 5))  # [state, own action, next state]
    for own in range(2):
        moves[:, own, 2 * own] = meets
        moves[:, own, 2 * own + 1] = 1 - meets
    states = np.arange(5)
    policy = np.zeros(5, dtype=np.int64)
    slack = 1e-12 * max(1.0, float(np.abs(payoffs).max()))
    while True:
        value = np.linalg.solve(
            np.eye(5) - discount * moves[states, policy], (1 - discount) * rewards[states, policy]
        )
        action_values = (1 - discount) * rewards + discount * moves @ value
        better = action_values.max(axis=1) > action_values[states, policy] + slack
        if not better.any():
            break
        policy = np.where(better, action_values.argmax(axis=1), policy)
    strategy = MemoryOne(float(policy[4] == 0), (policy[:4] == 0).astype(np.float64))
    gain = 0.0
    if current is not None:
        pair = (current, opponent) if player == 0 else (opponent, current)
        gain = max(0.0, float(value[4] - repeated_values(game, *pair, discount)[player]))
    return BestReply(strategy, float(value[4]), gain)
