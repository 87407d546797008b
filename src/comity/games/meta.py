"""The meta-game of model-free opponent shaping (Lu et al., 2022, arXiv:2205.01447).

One step is an episode of another game together with what the co-players learn from it: a shaper chooses a
whole policy, is paid what that policy earns against the co-players' present ones, and then the co-players,
naive learners, follow the gradient of their own value. A learner that plays the meta-game well, with whatever
algorithm, shapes how others learn, without knowing any of their derivatives.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import palette
from comity.core.errors import ComityError, require
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.scene import Bar, Bars, Note, Row, Scene, Stack
from comity.core.spaces import Box, Discrete
from comity.games.horizon import check_horizon
from comity.games.matrix import PrisonersDilemma


class MetaState(NamedTuple):
    """Every player's logits in the inner game, and the time. The last action's logit is always 0."""

    tables: PerSeat[Float[Array, "observations _"]]
    time: Int[Array, ""]


class MetaGame(Environment):
    """Shape naive learners in an iterated matrix game, whose policies' values are known exactly.

    The first `shapers` players of the inner game are seats of the meta-game; the others learn. A shaper sees
    the probabilities by which everybody would now act, its own first, and answers with the logits of its own
    policy.
    """

    game: Environment = eqx.field(default_factory=PrisonersDilemma)  # the inner game
    shapers: int = 1  # how many of its players are shapers; the others are naive learners
    discount: float = 0.96  # of the inner game
    step_size: float = 1.0  # how far a naive learner follows the gradient of its value
    learning_steps: int = 1  # how many such steps it takes after each episode
    initial: float = 1.0  # standard deviation of everybody's first logits
    largest: float = 6.0  # the largest logit that a shaper may choose
    horizon: int | None = 100  # inner episodes in one meta-episode

    def __check_init__(self) -> None:
        for seat in self.game.seats:
            if not isinstance(seat.observation, Discrete) or not isinstance(seat.action, Discrete):
                raise ComityError(
                    "The inner game of a meta-game must have discrete observations and actions, such as "
                    "prisoners-dilemma."
                )
        players = len(self.game.seats)
        require(1 <= self.shapers <= players, "shapers", self.shapers, f"1 to {players}")
        require(0.0 <= self.discount < 1.0, "discount", self.discount, "at least 0 and below 1")
        require(self.step_size > 0, "step_size", self.step_size, "above 0")
        require(self.learning_steps >= 1, "learning_steps", self.learning_steps, "at least 1")
        require(self.initial >= 0, "initial", self.initial, "at least 0")
        require(self.largest > 0, "largest", self.largest, "above 0")
        check_horizon(self.horizon)

    @property
    def family(self) -> str:
        return "meta"

    @property
    def seats(self) -> PerSeat[Seat]:
        sizes = [math.prod(shape) for shape in self._shapes]
        sees = Box((sum(sizes),), 0.0, 1.0)
        return tuple(
            Seat(seat.name, sees, Box((sizes[i],), -self.largest, self.largest))
            for i, seat in enumerate(self.game.seats[: self.shapers])
        )

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric and self.shapers == len(self.game.seats)

    def reset(self, key: Key) -> tuple[MetaState, PerSeat[PyTree]]:
        tables = tuple(
            self.initial * jax.random.normal(jax.random.fold_in(key, i), shape, jnp.float32)
            for i, shape in enumerate(self._shapes)
        )
        state = MetaState(tables, jnp.int32(0))
        return state, self._observe(state)

    def step(self, key: Key, state: MetaState, actions: PerSeat[PyTree]) -> tuple[MetaState, TimeStep]:
        tables = list(state.tables)
        for i, action in enumerate(actions):
            tables[i] = action.reshape(self._shapes[i])
        earned = self._values(tuple(tables))
        for _ in range(self.learning_steps):
            ways = [jax.grad(self._return_of, argnums=0)(tables[i], i, tuple(tables)) for i in self._learners]
            for i, way in zip(self._learners, ways, strict=True):
                tables[i] = tables[i] + self.step_size * way
        state = MetaState(tuple(tables), state.time + 1)
        over = jnp.bool_(False) if self.horizon is None else state.time >= self.horizon
        alive = (jnp.bool_(True),) * self.shapers
        reward = tuple(earned[i] for i in range(self.shapers))
        return state, TimeStep(self._observe(state), reward, jnp.bool_(False), over, alive)

    def draw(self, state: MetaState) -> Scene:
        """Everybody's policy in the inner game: how likely its first action is after each observation."""
        policies: list[Scene] = []
        for i, (seat, table) in enumerate(zip(self.game.seats, state.tables, strict=True)):
            assert isinstance(seat.observation, Discrete)
            assert isinstance(seat.action, Discrete)
            colour = palette.series(i + 1)[i]
            chances = np.asarray(jax.nn.softmax(_whole(jnp.asarray(table))))[:, 0].tolist()
            bars = tuple(
                Bar(seat.observation.label(o), ((chance, colour),), f"{chance:.2f}")
                for o, chance in enumerate(chances)
            )
            part = "shaper" if i < self.shapers else "naive learner"
            title = Note(((f"{seat.name}, {part}", colour),), bold=True)
            policies.append(
                Stack((title, Note(f"P({seat.action.label(0)}) after"), Bars(bars)), align="left")
            )
        return Stack((Row(tuple(policies)), Note(f"inner episodes played: {int(state.time)}")))

    @property
    def _learners(self) -> range:
        return range(self.shapers, len(self.game.seats))

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        shapes = []
        for seat in self.game.seats:
            assert isinstance(seat.observation, Discrete)
            assert isinstance(seat.action, Discrete)
            shapes.append((seat.observation.n, seat.action.n - 1))
        return shapes

    def _values(self, tables: PerSeat[Float[Array, "observations _"]]) -> Float[Array, " players"]:
        """What everybody earns per step of the inner game."""
        probabilities = tuple(jax.nn.softmax(_whole(table)) for table in tables)
        return (1.0 - self.discount) * self.game.exact_returns(probabilities, self.discount)

    def _return_of(
        self, table: Float[Array, "observations _"], player: int, tables: PerSeat[Float[Array, "_ _"]]
    ) -> Float[Array, ""]:
        """A player's discounted return (a sum, not per step), as a function of its own logits."""
        others = (*tables[:player], table, *tables[player + 1 :])
        return self._values(others)[player] / (1.0 - self.discount)

    def _observe(self, state: MetaState) -> PerSeat[PyTree]:
        seen = [jax.nn.softmax(_whole(table))[:, :-1].reshape(-1) for table in state.tables]
        return tuple(jnp.concatenate(seen[i:] + seen[:i]) for i in range(self.shapers))


def _whole(table: Float[Array, "observations _"]) -> Float[Array, "observations _"]:
    """All logits: those of a table, and 0 for the last action."""
    return jnp.concatenate([table, jnp.zeros_like(table[:, :1])], axis=1)
