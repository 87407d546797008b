"""Episodes of another length."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.game import Environment, PerSeat, TimeStep
from comity.games.horizon import check_horizon
from comity.games.transforms.base import Transform


class TimedState(NamedTuple):
    """The state of the game inside, and how many steps the episode has lasted."""

    inner: PyTree
    time: Int[Array, ""]


class TimeLimit(Transform):
    """Truncates every episode after a number of steps, or earlier by chance.

    Episodes that end by chance fall out of step, so that a short rollout shows all parts of an episode.
    """

    horizon: int | None = 100  # steps in an episode
    end_chance: float = 0.0  # how likely an episode ends with each step before that

    def __check_init__(self) -> None:
        check_horizon(self.horizon)
        require(0.0 <= self.end_chance < 1.0, "end_chance", self.end_chance, "at least 0 and below 1")
        own = self.game.horizon
        shorter = own is None or (self.horizon is not None and self.horizon <= own)
        require(shorter, "horizon", self.horizon, f"at most {own}, which ends the game's own episodes")

    def reset(self, key: Key) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.reset(key)
        return TimedState(inner, jnp.int32(0)), obs

    def reset_where(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.reset_where(key, state.inner, over)
        return TimedState(inner, jnp.int32(0)), obs

    def inner(self, state: PyTree) -> PyTree:
        return state.inner

    def step(self, key: Key, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        inner, step = self.game.step(key, state.inner, actions)
        time = state.time + 1
        over = jnp.bool_(False) if self.horizon is None else time >= self.horizon
        if self.end_chance > 0:
            over |= jax.random.uniform(jax.random.fold_in(key, 1)) < self.end_chance
        return TimedState(inner, time), step._replace(truncated=step.truncated | over)


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
