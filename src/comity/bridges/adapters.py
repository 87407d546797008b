"""One third-party environment, seen the way Comity wants it: seats in a fixed order. No JAX here.

Environments that are played turn by turn are in `turn_based.py`.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from comity.bridges.codecs import Codec, codec
from comity.core.errors import ComityError


class HostSeat(NamedTuple):
    """A seat of an environment, and how its values become arrays."""

    name: str
    sees: Codec
    does: Codec


class Outcome(NamedTuple):
    """What an environment answered: values per seat (None where there is none), and how it stands."""

    obs: list[Any]
    reward: list[float]
    terminated: bool
    truncated: bool
    alive: list[bool]


class Adapter(ABC):
    """An environment with seats; `turns` says whether some of them wait while others act."""

    turns: ClassVar[bool] = False
    seats: tuple[HostSeat, ...]

    @abstractmethod
    def reset(self, seed: int) -> list[Any]:
        """A new episode; what each seat sees, None for seats that are not in the game yet."""

    @abstractmethod
    def step(self, actions: list[Any]) -> Outcome:
        """One step; the actions of seats that are not in the game are ignored."""

    def acts(self) -> list[bool]:
        """Which seats act in the next step; by default all."""
        return [True] * len(self.seats)

    @abstractmethod
    def close(self) -> None:
        """Frees what the environment holds."""

    @abstractmethod
    def render(self) -> np.ndarray | None:
        """What the environment draws of itself, [height, width, 3]; None if it does not."""


class Parallel(Adapter):
    """A PettingZoo environment in which all act at once."""

    def __init__(self, environment: Any, name: str) -> None:
        for wanted in ("possible_agents", "observation_space", "action_space", "reset", "step"):
            if not hasattr(environment, wanted):
                raise ComityError(f"{name} is no PettingZoo environment: it lacks {wanted}.")
        self._env, self._name = environment, name
        self._agents = list(environment.possible_agents)
        self.seats = tuple(
            HostSeat(
                agent,
                codec(environment.observation_space(agent), f"{name}: the observation of {agent}"),
                codec(environment.action_space(agent), f"{name}: the action of {agent}", acts=True),
            )
            for agent in self._agents
        )

    def reset(self, seed: int) -> list[Any]:
        found = self._env.reset(seed=seed)
        obs = found[0] if isinstance(found, tuple) else found
        self._known(obs, "observations")
        return [obs.get(agent) for agent in self._agents]

    def step(self, actions: list[Any]) -> Outcome:
        inside = set(self._env.agents)
        chosen = {a: x for a, x in zip(self._agents, actions, strict=True) if a in inside}
        obs, reward, terminated, truncated, _ = self._env.step(chosen)
        for what, found in (("observations", obs), ("rewards", reward), ("terminations", terminated)):
            self._known(found, what)
        after = set(self._env.agents)
        dead = {agent for agent in self._agents if terminated.get(agent, False)}
        over = not after
        cut = over and any(truncated.get(agent, False) for agent in inside - dead)
        rewards = [float(reward.get(agent, 0.0)) for agent in self._agents]
        for agent, paid in zip(self._agents, rewards, strict=True):
            if not np.isfinite(paid):
                raise ComityError(f"{self._name} paid {agent} a reward of {paid}.")
        # Who is there when time runs out stays alive, so that the future counts.
        alive = [agent in (inside if over else after) - dead for agent in self._agents]
        return Outcome([obs.get(a) for a in self._agents], rewards, over and not cut, cut, alive)

    def close(self) -> None:
        self._env.close()

    def render(self) -> np.ndarray | None:
        return rendered(self._env)

    def _known(self, found: Any, what: str) -> None:
        if not isinstance(found, dict):
            raise ComityError(
                f"{self._name} gave {what} as {type(found).__name__}, not as a dictionary by agent."
            )
        for agent in found:
            if agent not in self._agents:
                raise ComityError(f"{self._name} gave {what} for the unknown agent {agent!r}.")


class Single(Adapter):
    """A Gymnasium environment: one seat."""

    def __init__(self, environment: Any, name: str) -> None:
        self._env, self._name = environment, name
        sees = codec(environment.observation_space, f"{name}: the observation")
        self.seats = (
            HostSeat("agent", sees, codec(environment.action_space, f"{name}: the action", acts=True)),
        )

    def reset(self, seed: int) -> list[Any]:
        return [self._env.reset(seed=seed)[0]]

    def step(self, actions: list[Any]) -> Outcome:
        obs, reward, terminated, truncated, _ = self._env.step(actions[0])
        if not np.isfinite(reward):
            raise ComityError(f"{self._name} paid a reward of {reward}.")
        ended = bool(terminated)
        return Outcome([obs], [float(reward)], ended, bool(truncated) and not ended, [True])

    def close(self) -> None:
        self._env.close()

    def render(self) -> np.ndarray | None:
        return rendered(self._env)


def rendered(environment: Any) -> np.ndarray | None:
    """What an environment draws in the mode `rgb_array`, if it has it.

    It is told to draw only when it is asked for the first time: most environments never are.
    """
    inner = getattr(environment, "unwrapped", environment)
    mode = getattr(inner, "render_mode", None)
    if mode is None and "rgb_array" in (getattr(environment, "metadata", None) or {}).get("render_modes", ()):
        inner.render_mode = mode = "rgb_array"
    if mode != "rgb_array":
        return None
    try:
        frame = np.asarray(environment.render())
    except Exception:  # whatever its drawing lacks, such as a package or a screen, the game can go on
        return None
    return frame if frame.ndim == 3 and frame.shape[2] == 3 and frame.dtype == np.uint8 else None
