"""Scripted players of alternating offers; they see what any player sees."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.errors import ComityError, require
from comity.core.game import Seat
from comity.core.spaces import Box, Discrete

PROPOSE = 1  # the number of the phase in which one makes an offer


class Rounds(eqx.Module):
    """How many rounds there are, read off the seat."""

    count: int = eqx.field(static=True)


class View(NamedTuple):
    """The parts of an observation: rounds left with this one, whether to propose, and the two factors."""

    rounds_left: Int[Array, ""]
    proposes: Bool[Array, ""]
    own_factor: Float[Array, ""]
    other_factor: Float[Array, ""]


class Bargainer(Scripted):
    """Offers a share, or names the least share that it accepts."""

    @abstractmethod
    def offer(self, rounds: int, view: View) -> Float[Array, ""]:
        """The share that it offers to the other."""

    @abstractmethod
    def least(self, rounds: int, view: View) -> Float[Array, ""]:
        """The least share that it accepts."""

    def check_seat(self, seat: Seat) -> None:
        _rounds(seat)

    def read_seat(self, seat: Seat) -> Rounds:
        return Rounds(_rounds(seat))

    def rule(self, params: Rounds, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        round_, phase, numbers = obs
        view = View(params.count - round_, phase == PROPOSE, numbers[1], numbers[2])
        number = jnp.where(view.proposes, self.offer(params.count, view), self.least(params.count, view))
        return number[None], carry


class Fair(Bargainer):
    """Offers a share, by default half of the pie, and accepts no less than what it would keep of it."""

    share: float = 0.5  # what it offers; it wants the rest itself

    def __check_init__(self) -> None:
        require(0.0 <= self.share <= 1.0, "share", self.share, "between 0 and 1")

    def offer(self, rounds: int, view: View) -> Float[Array, ""]:
        return jnp.float32(self.share)

    def least(self, rounds: int, view: View) -> Float[Array, ""]:
        return jnp.float32(1.0 - self.share)


class Greedy(Bargainer):
    """Offers nothing, and accepts only the whole pie."""

    def offer(self, rounds: int, view: View) -> Float[Array, ""]:
        return jnp.float32(0.0)

    def least(self, rounds: int, view: View) -> Float[Array, ""]:
        return jnp.float32(1.0)


class SubgamePerfect(Bargainer):
    r"""Backward induction: offers what the other can get by refusing, and accepts what itself can.

    With j rounds left a proposer keeps :math:`s_j = 1 - \delta_{\text{responder}} s_{j-1}`, where
    :math:`s_0 = 0` and proposer and responder change places from round to round.
    """

    def offer(self, rounds: int, view: View) -> Float[Array, ""]:
        _, others = self._keeps(rounds, view)
        return view.other_factor * others[view.rounds_left - 1]

    def least(self, rounds: int, view: View) -> Float[Array, ""]:
        mine, _ = self._keeps(rounds, view)
        return view.own_factor * mine[view.rounds_left - 1]

    def _keeps(self, rounds: int, view: View) -> tuple[Float[Array, " rounds"], Float[Array, " rounds"]]:
        """What a proposer keeps with 0, 1, ... rounds left: if that is me, and if it is the other."""
        mine, others = [jnp.float32(0.0)], [jnp.float32(0.0)]
        for _ in range(rounds - 1):
            mine_next = 1.0 - view.other_factor * others[-1]
            others_next = 1.0 - view.own_factor * mine[-1]
            mine.append(mine_next)
            others.append(others_next)
        return jnp.stack(mine), jnp.stack(others)


def _rounds(seat: Seat) -> int:
    match seat.observation, seat.action:
        case (Discrete(n=rounds), Discrete(n=3), Box(shape=(3,))), Box(shape=(1,)):
            return rounds
    raise ComityError(f"This player makes alternating offers, and the seat {seat.name!r} is in another game.")
