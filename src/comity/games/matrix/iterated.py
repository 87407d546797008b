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

from comity.core import palette
from comity.core.game import Cooperation, Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Note, Scene, Stack, Table, joined
from comity.core.spaces import Discrete
from comity.core.tunable import Number
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

    def cooperation(
        self, state: MatrixState, actions: PerSeat[PyTree], next_state: MatrixState
    ) -> PerSeat[Cooperation] | None:
        """Whether each seat did what is cooperative (see `cooperative_action`), as it was carried out."""
        chosen = cooperative_action(self.payoffs)
        if chosen is None:
            return None
        done = jnp.unravel_index(next_state.last - 1, self.payoffs.shape[1:])
        one = jnp.float32(1.0)
        return tuple(Cooperation((own == chosen).astype(jnp.float32), one) for own in done)

    @property
    def disagreement(self) -> PerSeat[float]:
        """What each can secure by itself with one action: the pure maximin."""
        payoffs = self.payoffs
        return tuple(
            float(np.moveaxis(own, i, 0).reshape(own.shape[i], -1).min(axis=1).max())
            for i, own in enumerate(payoffs)
        )

    def exact_returns(
        self, probabilities: PerSeat[Float[Array, "observations _"]], discount: Number
    ) -> Float[Array, " seats"]:
        payoffs = jnp.asarray(self.payoffs, probabilities[0].dtype)
        views = jnp.asarray(_views(self.payoffs.shape[1:]), jnp.int32)
        return memory_one_values(probabilities, payoffs, views, discount) / (1.0 - discount)

    def draw(self, state: MatrixState) -> Scene:
        """The table of payoffs with the last joint action; all seats but the first choose the column."""
        payoffs, last = self.payoffs, int(state.last)
        colours, letters = palette.series(payoffs.shape[0]), self.action_labels
        flat = payoffs.reshape(payoffs.shape[0], payoffs.shape[1], -1)
        rows = tuple(
            tuple(joined([f"{own + 0.0:g}" for own in cell], colours) for cell in row)
            for row in flat.transpose(1, 2, 0)
        )
        others = itertools.product(*(letters[:size] for size in payoffs.shape[2:]))
        header = tuple(joined(joint, colours[1:], "") for joint in others)
        side = tuple(joined(letter, colours[:1]) for letter in letters[: payoffs.shape[1]])
        chosen = None if last == 0 else divmod(last - 1, flat.shape[2])
        chooses = [f"{seat.name}: {'column' if i else 'row'}" for i, seat in enumerate(self.seats)]
        return Stack((Table(rows, header, side, chosen=chosen), Note(joined(chooses, colours, "   "))))

    def _observe(self, state: MatrixState) -> PerSeat[PyTree]:
        views = jnp.asarray(_views(self.payoffs.shape[1:]), jnp.int32)
        return tuple(views[i, state.last] for i in range(views.shape[0]))


def symmetric_payoffs(first: tuple[tuple[float, float], tuple[float, float]]) -> Float[np.ndarray, "2 2 2"]:
    """The payoff tensor of a symmetric game of two players from what player 1 gets."""
    with np.errstate(over="ignore"):  # numbers beyond float32 are refused by name when settings are read
        table = np.asarray(first, np.float32)
    return np.stack([table, table.T])


def cooperative_action(payoffs: Float[np.ndarray, "players *actions"]) -> int | None:
    """The cooperative one of two actions in a social dilemma (Macy and Flache, 2002); None in other games.

    With R what each gets when all cooperate, P when nobody does, S for cooperating alone and T for being the
    only one who does not, a game is a dilemma if for every player R > P, R > S, and T > R (greed) or P > S
    (fear).
    """
    players, sizes = payoffs.shape[0], payoffs.shape[1:]
    if players < 2 or set(sizes) != {2}:
        return None
    for chosen in (0, 1):
        every, nobody = (chosen,) * players, (1 - chosen,) * players
        found = []
        for i, own in enumerate(payoffs):
            alone = tuple(chosen if j == i else 1 - chosen for j in range(players))
            tempted = tuple(1 - chosen if j == i else chosen for j in range(players))
            r, p, s, t = (float(own[joint]) for joint in (every, nobody, alone, tempted))
            found.append(r > p and r > s and (t > r or p > s))
        if all(found):
            return chosen
    return None


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
