"""Small games of common interest with known answers: what teams that coordinate badly get wrong.

Everybody is paid the same, so the best joint action is best for each; what is hard is to find it together.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.spaces import Discrete
from comity.core.types import Environment, PerSeat, Seat, TimeStep
from comity.games.matrix import IteratedMatrixGame, check_horizon


class Climbing(IteratedMatrixGame):
    """The climbing game (Claus and Boutilier, 1998): 11 together at the top, beside it -30.

    Answer: the best joint action pays 11 a step; most learners settle on 7 or 5, which are safer.
    """

    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return _common([[11, -30, 0], [-30, 7, 0], [0, 6, 5]])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("a", "b", "c")


class Penalty(IteratedMatrixGame):
    """The penalty game (Claus and Boutilier, 1998): two best joint actions, and a penalty for mixing them.

    Answer: 10 a step in two ways; most learners settle on the safe 2 as the penalty grows.
    """

    penalty: float = -50.0  # what mixing the two best joint actions pays
    horizon: int | None = 16  # steps in an episode

    def __check_init__(self) -> None:
        require(self.penalty <= 0, "penalty", self.penalty, "at most 0")
        check_horizon(self.horizon)

    @property
    def payoffs(self) -> Float[np.ndarray, "players *actions"]:
        return _common([[self.penalty, 0, 10], [0, 2, 0], [10, 0, self.penalty]])

    @property
    def action_labels(self) -> tuple[str, ...]:
        return ("a", "b", "c")


class TwoStepState(NamedTuple):
    """0: the first step; 1 and 2: the two games that may follow."""

    place: Int[Array, ""]


class TwoStep(Environment):
    """The two-step game (Rashid et al., 2018, arXiv:1803.11485): player 1's first action chooses the next.

    In one of them everything pays 7, in the other [[0, 1], [1, 8]]. Answer: 8, by choosing the other and
    playing its second action together; learners that cannot tell what a joint action is worth take 7.
    """

    @property
    def horizon(self) -> int | None:
        return 2

    @property
    def family(self) -> str:
        return "cooperative"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def seats(self) -> PerSeat[Seat]:
        places = Discrete(3, ("first step", "safe game", "risky game"))
        return Seat("player-1", places, Discrete(2)), Seat("player-2", places, Discrete(2))

    def reset(self, key: Key) -> tuple[TwoStepState, PerSeat[PyTree]]:
        state = TwoStepState(jnp.int32(0))
        return state, (state.place, state.place)

    def step(self, key: Key, state: TwoStepState, actions: PerSeat[PyTree]) -> tuple[TwoStepState, TimeStep]:
        first, second = (action.astype(jnp.int32) for action in actions)
        risky = jnp.asarray([[0.0, 1.0], [1.0, 8.0]], jnp.float32)[first, second]
        paid = jnp.select([state.place == 1, state.place == 2], [jnp.float32(7.0), risky], jnp.float32(0.0))
        over = state.place > 0
        after = TwoStepState(jnp.where(over, state.place, 1 + first))
        obs, alive = (after.place, after.place), (jnp.bool_(True), jnp.bool_(True))
        return after, TimeStep(obs, (paid, paid), over, jnp.bool_(False), alive)


def _common(table: list[list[float]]) -> Float[np.ndarray, "players *actions"]:
    return np.asarray([table, table], np.float32)
