"""Any Comity game as a PettingZoo parallel environment."""

import functools
from typing import Any

import jax
import numpy as np
from gymnasium import spaces as gym
from pettingzoo import ParallelEnv

from comity.bridges.codecs import MASK, SEEN
from comity.core.errors import ComityError, bad_value
from comity.core.game import Environment
from comity.core.scene import as_scene
from comity.core.spaces import Bits, Box, Discrete, Masked, Space, encode
from comity.drawing.pixels import paint
from comity.drawing.text import write

MODES = ("rgb_array", "ansi")


def to_pettingzoo(game: Environment, render_mode: str | None = None) -> "GameEnvironment":
    """The game as a PettingZoo parallel environment; its agents are the seats' names.

    An observation with legal choices is a dictionary with `observation` and `action_mask`, as usual there.
    `render_mode` may be `rgb_array` or `ansi`, for games that draw themselves.
    """
    return GameEnvironment(game, render_mode)


class GameEnvironment(ParallelEnv):
    """A game that plays by PettingZoo's rules: one game at a time, seeded by `reset`."""

    def __init__(self, game: Environment, render_mode: str | None = None) -> None:
        if render_mode not in (None, *MODES):
            raise bad_value("render_mode", render_mode, f"None, {' or '.join(MODES)}")
        names = [seat.name for seat in game.seats]
        if len(set(names)) != len(names):
            raise ComityError(f"PettingZoo needs seats with different names, not {names}.")
        self.metadata = {"name": f"comity_{type(game).__name__}_v0", "render_modes": list(MODES)}
        self.render_mode = render_mode
        self.possible_agents = names
        self.agents: list[str] = []
        self._game, self._seats = game, dict(zip(names, game.seats, strict=True))
        self._reset, self._step = jax.jit(game.reset), jax.jit(game.step)
        self._key = jax.random.key(0)
        self._state: Any = None

    @functools.cache  # noqa: B019 - PettingZoo wants the same object each time
    def observation_space(self, agent: str) -> gym.Space[Any]:
        return to_gymnasium(self._seats[agent].observation)

    @functools.cache  # noqa: B019
    def action_space(self, agent: str) -> gym.Space[Any]:
        return to_gymnasium(self._seats[agent].action)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new episode; without a seed, the next one of those that the last seed began."""
        if seed is not None:
            self._key = jax.random.key(seed)
        self._key, key = jax.random.split(self._key)
        self._state, obs = self._reset(key)
        self.agents = list(self.possible_agents)
        return self._by_agent(obs, self.agents), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """One step; agents that left are not asked, and get no answer."""
        if self._state is None:
            raise ComityError("reset must be called before step.")
        inside = self.agents
        missing = [agent for agent in inside if agent not in actions]
        if missing:
            raise ComityError(f"There is no action for {', '.join(missing)}.")
        given = tuple(
            _to_comity(seat.action, actions.get(agent), agent) for agent, seat in self._seats.items()
        )
        self._key, key = jax.random.split(self._key)
        self._state, step = self._step(key, self._state, given)
        alive = dict(zip(self.possible_agents, (bool(a) for a in step.alive), strict=True))
        over, cut = bool(step.terminated), bool(step.truncated)
        terminated = {agent: over or not alive[agent] for agent in inside}
        truncated = {agent: cut and not terminated[agent] for agent in inside}
        rewards = dict(zip(self.possible_agents, (float(r) for r in step.reward), strict=True))
        self.agents = [] if over or cut else [agent for agent in self.possible_agents if alive[agent]]
        obs = self._by_agent(step.obs, inside)
        return (
            obs,
            {agent: rewards[agent] for agent in inside},
            terminated,
            truncated,
            {a: {} for a in inside},
        )

    def render(self) -> Any:
        """The game as it draws itself: pixels or text, as the render mode says; None if it does not."""
        drawing = None if self.render_mode is None else self._game.draw(self._state)
        if drawing is None:
            return None
        return paint(as_scene(drawing)) if self.render_mode == MODES[0] else write(as_scene(drawing)).plain

    def close(self) -> None:
        """There is nothing to free."""

    def _by_agent(self, obs: tuple[Any, ...], agents: list[str]) -> dict[str, Any]:
        values = dict(zip(self._seats, obs, strict=True))
        return {agent: _from_comity(self._seats[agent].observation, values[agent]) for agent in agents}


def to_gymnasium(space: Space) -> gym.Space[Any]:
    """The Gymnasium space for one of Comity's."""
    match space:
        case Discrete(n=n):
            return gym.Discrete(n)
        case Box(shape=shape, low=low, high=high):
            return gym.Box(low, high, shape, np.float32)
        case Bits(shape=shape):
            return gym.MultiBinary(shape)
        case Masked(observation=inner, choices=choices):
            return gym.Dict({SEEN: to_gymnasium(inner), MASK: gym.MultiBinary(choices)})
        case _:
            return gym.Tuple(tuple(to_gymnasium(part) for part in space))


def _from_comity(space: Space, value: Any) -> Any:
    match space:
        case Discrete():
            return np.int64(value)
        case Box():
            return np.asarray(value, np.float32)
        case Bits():
            return np.asarray(encode(space, value), np.int8).reshape(space.shape)
        case Masked(observation=inner):
            return {SEEN: _from_comity(inner, value[0]), MASK: np.asarray(value[1], np.int8)}
        case _:
            return tuple(_from_comity(part, item) for part, item in zip(space, value, strict=True))


def _to_comity(space: Space, value: Any, agent: str) -> Any:
    """An action as Comity wants it, checked; any action for an agent that left."""
    match space:
        case Discrete(n=n):
            index = 0 if value is None else int(value)
            if not 0 <= index < n:
                raise ComityError(f"The action {value!r} of {agent} is not one of {n} choices.")
            return np.int32(index)
        case Box(shape=shape):
            array = np.zeros(shape, np.float32) if value is None else np.asarray(value, np.float32)
            if array.shape != shape:
                raise ComityError(f"The action of {agent} has the shape {array.shape}, not {shape}.")
            return array
        case Masked() | Bits():
            raise ComityError("Actions are choices or numbers.")
        case _:
            items = [None] * len(space) if value is None else value
            return tuple(_to_comity(part, item, agent) for part, item in zip(space, items, strict=True))
