"""A Comity player as a policy of Melting Pot: for its scenarios, and for populations of bots."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray as Key
from jaxtyping import PyTree

from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.spaces import Box, Space


class PolicyState(NamedTuple):
    """What a policy remembers between steps: the player's memory, and where its random numbers are."""

    memory: PyTree
    key: Key


class ComityPolicy:
    """A player with the methods of `meltingpot.utils.policies.policy.Policy`.

    `observation` is the space that the player sees in its own game, and `observe` the names of Melting Pot's
    observations that it is made of, in the order of the space's parts. Images are turned colours first.
    """

    def __init__(
        self, player: Player, observation: Space, observe: tuple[str, ...] = ("RGB",), seed: int = 0
    ) -> None:
        parts = observation if isinstance(observation, tuple) else (observation,)
        if len(parts) != len(observe):
            raise ComityError(
                f"The player sees {len(parts)} things, but {len(observe)} observations are named: {observe}."
            )
        for part in parts:
            if not isinstance(part, Box):
                raise ComityError("Melting Pot shows images and numbers: use a player that sees pixels.")
        self._player, self._parts, self._observe, self._seed = player, parts, observe, seed
        self._single = not isinstance(observation, tuple)
        self._act = jax.jit(player.agent.act)

    def initial_state(self) -> PolicyState:
        """The state before the first step."""
        return PolicyState(self._player.agent.initial_carry(self._player.params), jax.random.key(self._seed))

    def step(self, timestep: Any, prev_state: PolicyState) -> tuple[int, PolicyState]:
        """The action for what is seen now, and the state after it; memories begin anew with an episode."""
        memory = prev_state.memory
        if timestep.first():
            memory = self._player.agent.initial_carry(self._player.params)
        key, act_key = jax.random.split(prev_state.key)
        seen = tuple(
            self._value(timestep.observation, name, part)
            for name, part in zip(self._observe, self._parts, strict=True)
        )
        obs = seen[0] if self._single else seen
        action, memory, _ = self._act(self._player.params, memory, obs, act_key)
        return int(action), PolicyState(memory, key)

    def close(self) -> None:
        """There is nothing to free."""

    def __enter__(self) -> "ComityPolicy":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _value(self, observation: Any, name: str, part: Any) -> Any:
        if name not in observation:
            raise ComityError(f"Melting Pot shows {', '.join(sorted(observation))}, and no {name}.")
        array = np.atleast_1d(np.asarray(observation[name]))
        if array.ndim == 3 and array.shape != part.shape:
            array = np.moveaxis(array, -1, 0)
        if array.shape != part.shape:
            raise ComityError(f"{name} has the shape {array.shape}, but the player sees {part.shape}.")
        return jnp.asarray(array if array.dtype == np.uint8 else array.astype(np.float32))
