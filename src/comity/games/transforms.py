"""Games made from games: rewards shared or shaped, a time limit, hands that tremble."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError, require
from comity.core.trust import find_function
from comity.core.types import Environment, PerSeat, Seat, TimeStep
from comity.games.matrix import check_horizon


class Transform(Environment):
    """A game that passes everything on to another one; subclasses change what they are about."""

    game: Environment

    @property
    def family(self) -> str:
        return self.game.family

    @property
    def seats(self) -> PerSeat[Seat]:
        return self.game.seats

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        return self.game.reset(key)

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        return self.game.step(key, state, actions)

    def renew(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        return self.game.renew(key, state, over)

    def present(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        return self.game.present(state)

    @property
    def resumable(self) -> bool:
        return self.game.resumable

    def view(self, state: PyTree) -> PyTree:
        return self.game.view(state)


class SharedReward(Transform):
    """Every seat is paid for what the others get too: own reward + `others` times the sum of theirs.

    0 leaves every seat its own reward, 1 gives each the sum. With `weights`, seat i is paid the sum over
    j of weights[i][j] times the reward of seat j.
    """

    others: float = 1.0  # what another seat's reward counts
    weights: tuple[tuple[float, ...], ...] = ()  # one row per seat; overrides `others`

    def __check_init__(self) -> None:
        seats = len(self.game.seats)
        fits = not self.weights or (len(self.weights) == seats and {len(w) for w in self.weights} == {seats})
        require(fits, "weights", self.weights, f"{seats} rows of {seats} numbers")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    @property
    def symmetric(self) -> bool:
        return self.game.symmetric and not self.weights

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        state, step = self.game.step(key, state, actions)
        shared = jnp.asarray(self._matrix(), jnp.float32) @ jnp.stack(step.reward)
        return state, step._replace(reward=tuple(shared))

    def exact_values(
        self, probabilities: PerSeat[Float[Array, "observations _"]], discount: float
    ) -> Float[Array, " seats"]:
        return jnp.asarray(self._matrix(), jnp.float32) @ self.game.exact_values(probabilities, discount)

    def _matrix(self) -> np.ndarray:
        if self.weights:
            return np.asarray(self.weights)
        seats = len(self.game.seats)
        return np.eye(seats) + self.others * (1 - np.eye(seats))


class ShapedState(NamedTuple):
    inner: PyTree
    obs: PerSeat[PyTree]


class ShapedReward(Transform):
    """Pays what a function of the user's own says.

    The function is given what each seat saw, what each did and the game's answer, and returns one reward per
    seat. It runs inside compiled programs, so it is written with jax.numpy.
    """

    function: str = ""  # MODULE:FUNCTION, called as function(obs, actions, step)

    def __check_init__(self) -> None:
        require(":" in self.function, "function", self.function, "MODULE:FUNCTION")
        find_function(self.function, "reward function")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.reset(key)
        return ShapedState(inner, obs), obs

    def renew(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.renew(key, state.inner, over)
        return ShapedState(inner, obs), obs

    def present(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        return self.game.present(state.inner)

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        inner, step = self.game.step(key, state.inner, actions)
        paid = find_function(self.function, "reward function")(state.obs, actions, step)
        shapes = [jnp.shape(reward) for reward in paid] if isinstance(paid, tuple | list) else None
        if shapes != [()] * len(self.seats):
            raise ComityError(
                f"The reward function {self.function} must return one number for each of the "
                f"{len(self.seats)} seats."
            )
        reward = tuple(jnp.asarray(own, jnp.float32) for own in paid)
        return ShapedState(inner, step.obs), step._replace(reward=reward)

    def view(self, state: PyTree) -> PyTree:
        return self.game.view(state.inner)


class TimedState(NamedTuple):
    inner: PyTree
    time: Int[Array, ""]


class TimeLimit(Transform):
    """Truncates every episode after a number of steps."""

    horizon: int | None = 100  # steps in an episode

    def __check_init__(self) -> None:
        check_horizon(self.horizon)

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.reset(key)
        return TimedState(inner, jnp.int32(0)), obs

    def renew(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.renew(key, state.inner, over)
        return TimedState(inner, jnp.int32(0)), obs

    def present(self, state: PyTree) -> PerSeat[Bool[Array, ""]]:
        return self.game.present(state.inner)

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        inner, step = self.game.step(key, state.inner, actions)
        time = state.time + 1
        over = jnp.bool_(False) if self.horizon is None else time >= self.horizon
        return TimedState(inner, time), step._replace(truncated=step.truncated | over)

    def view(self, state: PyTree) -> PyTree:
        return self.game.view(state.inner)


class TremblingHand(Transform):
    """Replaces each action, with some probability, by one drawn evenly: mistakes that all can see."""

    probability: float = 0.1  # chance that an action is replaced

    def __check_init__(self) -> None:
        require(0.0 <= self.probability <= 1.0, "probability", self.probability, "between 0 and 1")

    @property
    def horizon(self) -> int | None:
        return self.game.horizon

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        key, tremble_key, replace_key = jax.random.split(key, 3)
        trembles = jax.random.bernoulli(tremble_key, self.probability, (len(actions),))
        played = []
        for i, (seat, action) in enumerate(zip(self.seats, actions, strict=True)):
            drawn = spaces.sample(seat.action, jax.random.fold_in(replace_key, i))
            played.append(_choose(trembles[i], drawn, action))
        return self.game.step(key, state, tuple(played))


def _choose(condition: Bool[Array, ""], first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a.astype(b.dtype), b), first, second)


def with_horizon(game: Environment, horizon: int | None) -> Environment:
    """The same game with episodes of another length; None leaves it as it is."""
    if horizon is None or horizon == game.horizon:
        return game
    check_horizon(horizon)
    if isinstance(game, Transform) and not isinstance(game, TimeLimit):
        return dataclasses.replace(game, game=with_horizon(game.game, horizon))
    if any(field.name == "horizon" for field in dataclasses.fields(game)):
        changed: Environment = dataclasses.replace(game, **{"horizon": horizon})
        return changed
    return TimeLimit(game=game, horizon=horizon)
