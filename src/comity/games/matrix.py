"""Iterated matrix games for any number of players, from any payoff tensor.

Each seat observes the last joint action, its own first, then the others in seat order after it; before
the first move it observes "start". For two players with actions C and D the observations are start, CC,
CD, DC, DD, where CD means: I cooperated, the other defected.
"""

import itertools
import math
from abc import abstractmethod
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.spaces import Discrete
from comity.core.types import Environment, PerSeat, Seat, TimeStep
from comity.returns.markov import memory_one_values


class MatrixState(NamedTuple):
    """The last joint action, counted from 1 in the order of the payoff tensor (0: none yet), and the time."""

    last: Int[Array, ""]
    time: Int[Array, ""]


class IteratedMatrixGame(Environment):
    """A one-shot game, played again and again."""

    @property
    @abstractmethod
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        """What each player gets for each joint action."""

    @property
    @abstractmethod
    def action_labels(self) -> tuple[str, ...]:
        """One letter for each action of the seat with most actions; the first is the cooperative one."""

    @property
    def family(self) -> str:
        return "matrix"

    @property
    def seats(self) -> PerSeat[Seat]:
        return _seats(self.payoffs.shape[1:], self.action_labels)

    @property
    def symmetric(self) -> bool:
        """Whether renaming the players along a cycle leaves the game as it is."""
        payoffs = self.payoffs
        players = payoffs.shape[0]
        if len(set(payoffs.shape[1:])) > 1:
            return False
        turned = np.moveaxis(payoffs, -1, 1) if players > 1 else payoffs
        return bool(np.array_equal(np.roll(turned, 1, axis=0), payoffs)) if players > 1 else True

    def reset(self, key: Key) -> tuple[MatrixState, PerSeat[PyTree]]:
        state = MatrixState(jnp.int32(0), jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Key, state: MatrixState, actions: PerSeat[PyTree]) -> tuple[MatrixState, TimeStep]:
        table = self.payoffs
        joint = jnp.int32(0)
        for size, action in zip(table.shape[1:], actions, strict=True):
            joint = joint * size + action.astype(jnp.int32)
        flat = jnp.asarray(table.reshape(table.shape[0], -1), jnp.float32)
        rewards = flat[:, joint]
        state = MatrixState(joint + 1, state.time + 1)
        players = table.shape[0]
        step = TimeStep(
            obs=self._observe(state),
            reward=tuple(rewards[i] for i in range(players)),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False) if self.horizon is None else state.time >= self.horizon,
            alive=(jnp.bool_(True),) * players,
        )
        return state, step

    def exact_values(
        self, probabilities: PerSeat[Float[Array, "observations _"]], discount: float
    ) -> Float[Array, " seats"]:
        payoffs = jnp.asarray(self.payoffs, probabilities[0].dtype)
        views = jnp.asarray(_views(self.payoffs.shape[1:]), jnp.int32)
        return memory_one_values(probabilities, payoffs, views, discount) / (1.0 - discount)

    def _observe(self, state: MatrixState) -> PerSeat[PyTree]:
        views = jnp.asarray(_views(self.payoffs.shape[1:]), jnp.int32)
        return tuple(views[i, state.last] for i in range(views.shape[0]))


class MatrixGame(IteratedMatrixGame):
    """Any payoff tensor, written out player by player."""

    actions: tuple[int, ...] = (2, 2)  # how many actions each player has
    payoff: tuple[float, ...] = (
        -1,
        -3,
        0,
        -2,
        -1,
        0,
        -3,
        -2,
    )  # all of player 1's payoffs, then player 2's, ...
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        require(
            len(self.actions) >= 1 and min(self.actions) >= 1, "actions", self.actions, "positive numbers"
        )
        size = len(self.actions) * math.prod(self.actions)
        require(
            len(self.payoff) == size,
            "payoff",
            f"{len(self.payoff)} numbers",
            f"{size} numbers for {len(self.actions)} players with {self.actions} actions",
        )
        require(all(math.isfinite(x) for x in self.payoff), "payoff", self.payoff, "finite numbers")
        check_horizon(self.horizon)

    @classmethod
    def from_tensor(cls, payoffs: Float[np.ndarray, "players *actions"], horizon: int = 16) -> "MatrixGame":
        """The game of a payoff tensor, `payoffs[i, a, b, ...]` being what player i gets."""
        table = np.asarray(payoffs, np.float64)
        require(
            table.ndim == table.shape[0] + 1, "payoffs", table.shape, "one axis per player after the first"
        )
        return cls(actions=tuple(table.shape[1:]), payoff=tuple(table.ravel().tolist()), horizon=horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return np.asarray(self.payoff, np.float32).reshape(len(self.actions), *self.actions)

    @property
    def action_labels(self) -> tuple[str, ...]:
        most = max(self.actions)
        return ("C", "D") if most == 2 else tuple("abcdefghijklmnopqrstuvwxyz"[:most])


class PrisonersDilemma(IteratedMatrixGame):
    """Defection pays for each, whatever the other does; mutual cooperation would be better for both."""

    reward: float = -1.0  # each gets when both cooperate
    sucker: float = -3.0  # one gets who cooperates alone
    temptation: float = 0.0  # one gets who defects alone
    punishment: float = -2.0  # each gets when both defect
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return symmetric_payoffs(((self.reward, self.sucker), (self.temptation, self.punishment)))

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("C", "D")


class StagHunt(IteratedMatrixGame):
    """Hunting the stag together is best, but only the hare is safe."""

    stag: float = 4.0  # each gets when both hunt the stag
    alone: float = 0.0  # one gets who hunts the stag alone
    hare: float = 3.0  # one gets who takes the hare while the other hunts the stag
    hares: float = 2.0  # each gets when both take a hare
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return symmetric_payoffs(((self.stag, self.alone), (self.hare, self.hares)))

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("S", "H")


class Chicken(IteratedMatrixGame):
    """Daring pays if the other swerves, and is worst for both if it does not."""

    swerve: float = 3.0  # each gets when both swerve
    yielding: float = 1.0  # one gets who swerves alone
    dare: float = 4.0  # one gets who dares alone
    crash: float = 0.0  # each gets when both dare
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return symmetric_payoffs(((self.swerve, self.yielding), (self.dare, self.crash)))

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("S", "D")


class BattleOfTheSexes(IteratedMatrixGame):
    """Both want to meet; player 1 would rather meet at A, player 2 at B."""

    favourite: float = 3.0  # one gets when both meet at its favourite place
    other: float = 2.0  # one gets when both meet at the other's favourite place
    apart: float = 0.0  # each gets when they do not meet
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        first = [[self.favourite, self.apart], [self.apart, self.other]]
        second = [[self.other, self.apart], [self.apart, self.favourite]]
        return np.asarray([first, second], np.float32)

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("A", "B")


class MatchingPennies(IteratedMatrixGame):
    """Player 1 wins when the coins match, player 2 when they differ."""

    stake: float = 1.0  # what the loser pays the winner
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        first = self.stake * np.asarray([[1.0, -1.0], [-1.0, 1.0]], np.float32)
        return np.stack([first, -first])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("H", "T")


class RockPaperScissors(IteratedMatrixGame):
    """Rock beats scissors, scissors beat paper, paper beats rock."""

    stake: float = 1.0  # what the loser pays the winner
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        first = self.stake * np.asarray([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]], np.float32)
        return np.stack([first, -first])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("R", "P", "S")


def check_horizon(horizon: int | None) -> None:
    """Raises unless the horizon is a positive number of steps or none."""
    require(horizon is None or horizon >= 1, "horizon", horizon, "at least 1")


def symmetric_payoffs(first: tuple[tuple[float, float], tuple[float, float]]) -> Float[np.ndarray, "2 2 2"]:
    """The payoff tensor of a symmetric game of two players from what player 1 gets."""
    with np.errstate(over="ignore"):  # numbers beyond float32 are refused by name when settings are read
        table = np.asarray(first, np.float32)
    return np.stack([table, table.T])


def _seats(sizes: tuple[int, ...], letters: tuple[str, ...]) -> PerSeat[Seat]:
    seats = []
    for i in range(len(sizes)):
        turned = sizes[i:] + sizes[:i]
        joint = itertools.product(*(letters[:size] for size in turned))
        labels = ("start", *("".join(actions) for actions in joint))
        action = Discrete(sizes[i], letters[: sizes[i]])
        seats.append(Seat(f"player {i + 1}", Discrete(len(labels), labels), action))
    return tuple(seats)


def _views(sizes: tuple[int, ...]) -> Int[np.ndarray, "players joint"]:
    """For each seat, the observation that stands for each last joint action (0: none yet)."""
    joint = np.arange(math.prod(sizes)).reshape(sizes)
    views = np.zeros((len(sizes), joint.size + 1), np.int32)
    for i in range(len(sizes)):
        axes = (*range(i, len(sizes)), *range(i))
        # The position of each joint action in the tensor whose axes start with seat i.
        views[i, 1 + np.transpose(joint, axes).ravel()] = 1 + np.arange(joint.size)
    return views
