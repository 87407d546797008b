"""The two-step game: a safe game or a risky one."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Note, Row, Scene, Stack, Table
from comity.core.spaces import Discrete

ACTIONS = ("a", "b")
SAFE = 7.0
RISKY = ((0.0, 1.0), (1.0, 8.0))


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
        action = Discrete(2, ACTIONS)
        return Seat("player-1", places, action), Seat("player-2", places, action)

    def reset(self, key: Key) -> tuple[TwoStepState, PerSeat[PyTree]]:
        state = TwoStepState(jnp.int32(0))
        return state, (state.place, state.place)

    def step(self, key: Key, state: TwoStepState, actions: PerSeat[PyTree]) -> tuple[TwoStepState, TimeStep]:
        first, second = (action.astype(jnp.int32) for action in actions)
        risky = jnp.asarray(RISKY, jnp.float32)[first, second]
        paid = jnp.select([state.place == 1, state.place == 2], [jnp.float32(SAFE), risky], jnp.float32(0.0))
        over = state.place > 0
        after = TwoStepState(jnp.where(over, state.place, 1 + first))
        obs, alive = (after.place, after.place), (jnp.bool_(True), jnp.bool_(True))
        return after, TimeStep(obs, (paid, paid), over, jnp.bool_(False), alive)

    def draw(self, state: TwoStepState) -> Scene:
        """Both games that may follow; the one that is played is marked."""
        place = int(state.place)
        first, second = palette.series(2)
        side, header = tuple(((a, first),) for a in ACTIONS), tuple(((a, second),) for a in ACTIONS)
        games = []
        for number, (name, table) in enumerate(
            (("safe game", ((SAFE, SAFE),) * 2), ("risky game", RISKY)), 1
        ):
            rows = tuple(tuple(f"{paid:g}" for paid in row) for row in table)
            marked = (None, None) if place == number else None
            title = f"{name}: player-1 chose {ACTIONS[number - 1]}" if place == number else name
            games.append(Stack((Note(title, bold=place == number), Table(rows, header, side, chosen=marked))))
        said = "first step: player-1 chooses the game, a the safe one, b the risky one"
        return Stack((Row(tuple(games)), Note(said if place == 0 else "second step: both are paid")))
