r"""How a player of a repeated game of two actions treats others, computed exactly and not sampled.

A player that sees the last k rounds (a network without memory that sees a stack of observations, or a table)
is a Markov chain: P(cooperate) after each history of up to k joint actions. From that table follow, without
any sampling,

- `largest_lead`: the most that any opponent whatsoever, however clever and informed, can earn per round more
  than the player, by dynamic programming over histories:
  :math:`V_t(h) = \max_b E_a[u_{other}(a, b) - u_{own}(a, b) + V_{t+1}(h \cdot ab)]`;
- `slipping_self_play`: what two copies earn if each accidentally defects now and then;
- `repair`: how likely two copies cooperate after one accidental defection, round by round;
- `against`: what it and a player of one-step memory earn.

Histories are tuples of joint actions as the player sees them, 1 CC, 2 CD, 3 DC, 4 DD, its own action first;
they begin with 0 as long as the start of the game is among the last k.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from comity.core.agent import Player
from comity.core.errors import ComityError, require
from comity.core.spaces import Discrete

MIRROR = (0, 1, 3, 2, 4)  # an observation as the other player sees it
LONGEST_WINDOW = 5
PAYOFFS = (3.0, 0.0, 5.0, 1.0)  # what one earns after CC, CD, DC, DD


class HistoryTable(NamedTuple):
    """P(cooperate) in each state (a history), the state after each joint action, and the state's mirror."""

    cooperates: Float[np.ndarray, " state"]
    after: Int[np.ndarray, "state outcome"]
    mirror: Int[np.ndarray, " state"]
    states: tuple[tuple[int, ...], ...]


def history_table(player: Player, window: int) -> HistoryTable:
    """The table of a player that looks back `window` observations, and no further (which is checked)."""
    require(1 <= window <= LONGEST_WINDOW, "window", window, f"between 1 and {LONGEST_WINDOW}")
    place = player.place
    labels = ("start", "CC", "CD", "DC", "DD")
    if not isinstance(place.observation, Discrete) or place.observation.labels != labels:
        raise ComityError("Reciprocity is measured in repeated games of two players with actions C and D.")
    states = _states(window)
    found = np.concatenate([_probabilities(player, group) for group in _by_length(states)])
    full = [state for state in states if 0 not in state]
    earlier = [(0, *np.random.default_rng(i).integers(1, 5, 3).tolist(), *full[i]) for i in range(len(full))]
    if not np.allclose(_probabilities(player, earlier), found[-len(full) :], atol=1e-4):
        raise ComityError(f"{player.name} looks back further than {window} rounds.")
    return table_of(found, window)


def table_of(cooperates: Float[np.ndarray, " state"] | Sequence[float], window: int) -> HistoryTable:
    """A table from probabilities in the order of `histories(window)`."""
    states = _states(window)
    place = {state: number for number, state in enumerate(states)}

    def following(state: tuple[int, ...], outcome: int) -> int:
        longer = (*state, outcome)
        return place[longer[-window:]] if len(longer) > window else place[longer]

    after = np.array([[following(state, outcome) for outcome in (1, 2, 3, 4)] for state in states])
    mirror = np.array([place[tuple(MIRROR[seen] for seen in state)] for state in states])
    return HistoryTable(np.asarray(cooperates, np.float64), after, mirror, tuple(states))


def histories(window: int) -> tuple[tuple[int, ...], ...]:
    """All states of a table."""
    return tuple(_states(window))


def largest_lead(table: HistoryTable, rounds: int = 200, payoffs: Sequence[float] = PAYOFFS) -> float:
    """The most that an opponent can earn per round more than the player, in so many rounds."""
    _, sucker, temptation, _ = payoffs
    lead = temptation - sucker
    value = np.zeros(len(table.states))
    p = table.cooperates
    for _ in range(rounds):
        then = value[table.after]
        cooperating = p * then[:, 0] + (1.0 - p) * (then[:, 2] - lead)
        defecting = p * (then[:, 1] + lead) + (1.0 - p) * then[:, 3]
        value = np.maximum(cooperating, defecting)
    return float(value[0]) / rounds


def slipping_self_play(
    table: HistoryTable, slip: float = 0.05, rounds: int = 200, payoffs: Sequence[float] = PAYOFFS
) -> float:
    """What each of two copies earns per round if whoever would cooperate defects with chance `slip`."""
    own = table.cooperates * (1.0 - slip)
    joint = _chain(table, own, own[table.mirror], rounds)
    return float((joint @ np.asarray(payoffs)).mean())


def repair(table: HistoryTable, when: int, rounds: int = 8) -> Float[np.ndarray, " rounds"]:
    """P(both cooperate) in the rounds after one of two copies accidentally defected in round `when`."""
    own = table.cooperates
    joint = _chain(table, own, own[table.mirror], when + 1 + rounds, accident=when)
    return joint[when + 1 :, 0]


def against(
    table: HistoryTable,
    strategy: Sequence[float],
    rounds: int = 200,
    payoffs: Sequence[float] = PAYOFFS,
) -> tuple[float, float]:
    """What the player and one of one-step memory (P(C) at the start, after CC, CD, DC, DD) earn per round."""
    last = np.array([MIRROR[state[-1]] for state in table.states])
    joint = _chain(table, table.cooperates, np.asarray(strategy, np.float64)[last], rounds).mean(axis=0)
    both, sucker, temptation, neither = payoffs
    return float(joint @ np.asarray(payoffs)), float(joint @ np.array([both, temptation, sucker, neither]))


def _chain(
    table: HistoryTable,
    own: Float[np.ndarray, " state"],
    other: Float[np.ndarray, " state"],
    rounds: int,
    accident: int | None = None,
) -> Float[np.ndarray, "round outcome"]:
    """How likely each outcome is in each round; both players' P(C) are functions of the first one's state."""
    weight: np.ndarray = np.zeros(len(table.states))
    weight[0] = 1.0
    played = []
    for time in range(rounds):
        p = np.zeros_like(own) if time == accident else own
        joint = np.stack([p * other, p * (1 - other), (1 - p) * other, (1 - p) * (1 - other)], axis=1)
        joint *= weight[:, None]
        played.append(joint.sum(axis=0))
        weight = np.bincount(table.after.ravel(), joint.ravel(), minlength=len(weight))
    return np.array(played)


def _states(window: int) -> list[tuple[int, ...]]:
    begun = [(0, *rest) for length in range(window) for rest in itertools.product(range(1, 5), repeat=length)]
    return [*begun, *itertools.product(range(1, 5), repeat=window)]


def _by_length(states: Sequence[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """States of equal length, apart those that begin with the start and those that do not."""
    return [list(group) for _, group in itertools.groupby(states, lambda state: (len(state), state[0] == 0))]


def _probabilities(player: Player, sequences: Sequence[tuple[int, ...]]) -> Float[np.ndarray, " sequence"]:
    """P(C) after each sequence of observations, of one length."""
    agent, params = player.agent, player.params

    @jax.jit
    def cooperates(seen: Int[Array, "sequence time"]) -> Float[Array, " sequence"]:
        def follow(sequence: Int[Array, " time"]) -> Float[Array, ""]:
            carry = agent.initial_carry(params)
            for time in range(sequence.shape[0] - 1):
                carry = agent.act(params, carry, sequence[time], jax.random.key(0)).carry
            return agent.action_probabilities(params, carry, sequence[-1], 2)[0]

        return jax.vmap(follow)(seen)

    return np.asarray(cooperates(jnp.asarray(sequences, jnp.int32)), np.float64)
