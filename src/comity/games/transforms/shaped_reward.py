"""Rewards by a function of the user's own."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError, require
from comity.core.game import PerSeat, TimeStep
from comity.core.trust import find_function
from comity.games.transforms.base import Transform


class ShapedState(NamedTuple):
    """The state of the game inside, and what each seat saw last."""

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

    def reset_where(self, key: Key, state: PyTree, over: Bool[Array, ""]) -> tuple[PyTree, PerSeat[PyTree]]:
        inner, obs = self.game.reset_where(key, state.inner, over)
        return ShapedState(inner, obs), obs

    def inner(self, state: PyTree) -> PyTree:
        return state.inner

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
        return ShapedState(inner, step.obs), step.shaped(reward)
