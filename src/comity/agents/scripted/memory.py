"""Strategies for repeated matrix games: tit-for-tat and its kin.

A strategy cooperates with action 0 and defects with action 1. Among more than two players, "the other
cooperated" means that all the others did. The strategies read the labels of the observation space, where
the first letter is one's own last action and the rest are the others'.
"""

from abc import abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Discrete

COOPERATE, DEFECT = 0, 1


class Reading(NamedTuple):
    """What each observation says about the last move; at the start nobody has moved."""

    start: Bool[Array, " states"]
    own: Bool[Array, " states"]  # whether I cooperated
    others: Bool[Array, " states"]  # whether all the others cooperated


def read_labels(seat: Seat) -> Reading:
    """What each observation of the seat says, from its labels."""
    observation, action = seat.observation, seat.action
    if not (isinstance(observation, Discrete) and isinstance(action, Discrete) and observation.labels):
        raise ComityError(
            f"This strategy plays repeated matrix games, where the seat sees the last moves; "
            f"the seat {seat.name!r} sees something else."
        )
    if action.n < 2:
        raise ComityError(f"This strategy needs two actions, and the seat {seat.name!r} has one.")
    good = seat.action.label(COOPERATE) if isinstance(seat.action, Discrete) else ""
    start = np.asarray([label == "start" for label in observation.labels])
    own = np.asarray([label[0] == good for label in observation.labels])
    others = np.asarray([set(label[1:]) <= {good} for label in observation.labels])
    return Reading(jnp.asarray(start), jnp.asarray(own | start), jnp.asarray(others | start))


class MemoryStrategy(Scripted):
    """A strategy that reads the last move."""

    def check_seat(self, seat: Seat) -> None:
        read_labels(seat)

    def read_seat(self, seat: Seat) -> PyTree:
        return read_labels(seat)


class MemoryOneStrategy(Scripted):
    """A strategy that depends on the last move alone: five probabilities of cooperation."""

    @property
    @abstractmethod
    def probabilities(self) -> tuple[float, float, float, float, float]:
        """P(cooperate) at the start and after CC, CD, DC, DD, one's own move first."""

    def check_seat(self, seat: Seat) -> None:
        read_labels(seat)

    def read_seat(self, seat: Seat) -> Float[Array, " states"]:
        reading = read_labels(seat)
        start, both, cheated, cheating, neither = (jnp.float32(p) for p in self.probabilities)
        after = jnp.where(
            reading.own,
            jnp.where(reading.others, both, cheated),
            jnp.where(reading.others, cheating, neither),
        )
        return jnp.where(reading.start, start, after)

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        cooperates = jax.random.uniform(key) < params[obs]
        return jnp.where(cooperates, COOPERATE, DEFECT), carry


class MemoryOne(MemoryOneStrategy):
    """Any memory-one strategy, from its five probabilities of cooperation."""

    first: float = 1.0  # in the first step
    after_cc: float = 1.0  # after both cooperated
    after_cd: float = 0.0  # after I cooperated and the other defected
    after_dc: float = 1.0  # after I defected and the other cooperated
    after_dd: float = 0.0  # after both defected

    def __check_init__(self) -> None:
        names = ("first", "after_cc", "after_cd", "after_dc", "after_dd")
        for name, p in zip(names, self.probabilities, strict=True):
            require(0.0 <= p <= 1.0, name, p, "between 0 and 1")

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (self.first, self.after_cc, self.after_cd, self.after_dc, self.after_dd)


class AlwaysCooperate(MemoryOneStrategy):
    """Cooperates, whatever happens."""

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (1.0, 1.0, 1.0, 1.0, 1.0)


class AlwaysDefect(MemoryOneStrategy):
    """Defects, whatever happens."""

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (0.0, 0.0, 0.0, 0.0, 0.0)


class TitForTat(MemoryOneStrategy):
    """Cooperates first, then does what the other did."""

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (1.0, 1.0, 0.0, 1.0, 0.0)


class GenerousTitForTat(MemoryOneStrategy):
    """Tit-for-tat that forgives a defection now and then."""

    generosity: float = 1 / 3  # P(cooperate) after the other defected

    def __check_init__(self) -> None:
        require(0.0 <= self.generosity <= 1.0, "generosity", self.generosity, "between 0 and 1")

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (1.0, 1.0, self.generosity, 1.0, self.generosity)


class SuspiciousTitForTat(MemoryOneStrategy):
    """Tit-for-tat that defects first."""

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (0.0, 1.0, 0.0, 1.0, 0.0)


class WinStayLoseShift(MemoryOneStrategy):
    """Repeats its move after the other cooperated, changes it after the other defected (Pavlov)."""

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        return (1.0, 1.0, 0.0, 0.0, 1.0)


class Extortioner(MemoryOneStrategy):
    r"""A zero-determinant strategy that takes `factor` times the other's surplus over mutual defection.

    .. math:: s_{me} - P = \chi (s_{other} - P)

    in the long run, whatever the other does (Press and Dyson, 2012, PNAS 109:10409). With
    :math:`a = (R-P)/(P-S)` and :math:`b = (T-P)/(P-S)` the probabilities after CC, CD, DC, DD are
    :math:`1-\phi(\chi-1)a,\ 1-\phi(1+\chi b),\ \phi(\chi+b),\ 0`, for :math:`0 < \phi \le 1/(1+\chi b)`.
    """

    factor: float = 2.0  # how many times the other's surplus it takes, at least 1
    strength: float = 0.5  # share of the largest possible phi, above 0 and up to 1
    reward: float = -1.0  # the game's payoff when both cooperate
    sucker: float = -3.0  # the game's payoff when one cooperates alone
    temptation: float = 0.0  # the game's payoff when one defects alone
    punishment: float = -2.0  # the game's payoff when both defect

    def __check_init__(self) -> None:
        require(self.factor >= 1.0, "factor", self.factor, "at least 1")
        require(0.0 < self.strength <= 1.0, "strength", self.strength, "above 0 and at most 1")
        ordered = self.temptation > self.reward > self.punishment > self.sucker
        payoffs = (self.temptation, self.reward, self.punishment, self.sucker)
        require(ordered, "payoffs", payoffs, "temptation > reward > punishment > sucker")

    @property
    def probabilities(self) -> tuple[float, float, float, float, float]:
        loss = self.punishment - self.sucker
        a = (self.reward - self.punishment) / loss
        b = (self.temptation - self.punishment) / loss
        phi = self.strength / (self.factor * b + 1.0)
        after_cc = 1.0 - phi * (self.factor - 1.0) * a
        return (0.0, after_cc, 1.0 - phi * (1.0 + self.factor * b), phi * (self.factor + b), 0.0)


class TitForTwoTats(MemoryStrategy):
    """Defects only after the other defected twice in a row."""

    def initial_carry(self, params: PyTree) -> Int[Array, ""]:
        return jnp.int32(0)

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        insults = jnp.where(params.others[obs], 0, jnp.minimum(carry + 1, 2))
        return jnp.where(insults >= 2, DEFECT, COOPERATE), insults


class Standing(NamedTuple):
    """Whether I and the others are in good standing."""

    own: Bool[Array, ""]
    others: Bool[Array, ""]


class ContriteTitForTat(MemoryStrategy):
    """Punishes defection unless it was deserved, and takes its own punishment (Sugden, 1986; Boyd, 1989).

    Who cooperates is in good standing; who defects loses it, unless it is in good standing itself and met
    somebody who was not. An accident is thus repaired by one round of punishment, where tit-for-tat echoes it
    for ever.
    """

    def initial_carry(self, params: PyTree) -> Standing:
        return Standing(jnp.bool_(True), jnp.bool_(True))

    def rule(self, params: PyTree, carry: Standing, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        now = Standing(
            params.own[obs] | (carry.own & ~carry.others),
            params.others[obs] | (carry.others & ~carry.own),
        )
        standing = jax.tree.map(lambda new: new | params.start[obs], now)
        return jnp.where(standing.own & ~standing.others, DEFECT, COOPERATE), standing


class GrimTrigger(MemoryStrategy):
    """Cooperates until the other defects once, then never again."""

    def initial_carry(self, params: PyTree) -> Bool[Array, ""]:
        return jnp.bool_(False)

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        triggered = carry | ~params.others[obs]
        return jnp.where(triggered, DEFECT, COOPERATE), triggered
