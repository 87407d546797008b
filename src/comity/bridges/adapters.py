"""One environment of someone else's, seen the way Comity wants it: seats in a fixed order. No JAX here."""

import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from comity.bridges.codecs import Codec, codec
from comity.bridges.meltingpot import Substrate
from comity.core.errors import ComityError
from comity.core.trust import find_function

KNOWN = ("pettingzoo", "mpe2", "gymnasium")  # packages that may be named in files


class Source(NamedTuple):
    """Where an environment comes from: its kind, its name or import path, and keyword arguments as JSON."""

    kind: str
    name: str
    arguments: str = "{}"


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
    """An environment with seats."""

    seats: tuple[HostSeat, ...]

    @abstractmethod
    def reset(self, seed: int) -> list[Any]:
        """A new episode; what each seat sees, None for seats that are not in the game yet."""

    @abstractmethod
    def step(self, actions: list[Any]) -> Outcome:
        """One step; the actions of seats that are not in the game are ignored."""

    @abstractmethod
    def close(self) -> None:
        """Frees what the environment holds."""


class Parallel(Adapter):
    """A PettingZoo environment in which all act at once, or in turns (converted)."""

    def __init__(self, environment: Any, name: str) -> None:
        from pettingzoo.utils.conversions import aec_to_parallel
        from pettingzoo.utils.env import AECEnv

        if isinstance(environment, AECEnv):
            environment = aec_to_parallel(environment)
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


def maker(source: Source) -> Callable[[], Adapter]:
    """A function that makes the environment; raises if there is none or its code is not trusted."""
    for package in ("gymnasium", "pettingzoo"):
        if importlib.util.find_spec(package) is None:
            raise ComityError(
                f"Environments of others need {package}: install it with pip install 'comity[pettingzoo]'."
            )
    try:
        arguments = json.loads(source.arguments)
    except ValueError as error:
        raise ComityError(f"The arguments of {source.name} are not JSON: {error}.") from None
    if source.kind == "gymnasium":
        return lambda: Single(_gymnasium(source.name, arguments), source.name)
    if source.kind == "meltingpot":
        return lambda: Parallel(Substrate(source.name, **arguments), source.name)
    make = _find(source)

    def environment() -> Adapter:
        try:
            made = make(**arguments)
        except TypeError as error:
            raise ComityError(f"{source.name} cannot be made: {error}.") from None
        if hasattr(made, "possible_agents"):
            return Parallel(made, source.name)
        if hasattr(made, "observation_space") and hasattr(made, "action_space"):
            return Single(made, source.name)
        raise ComityError(
            f"{source.name} gave a {type(made).__name__}, which is neither a PettingZoo nor a Gymnasium "
            f"environment."
        )

    return environment


def _gymnasium(name: str, arguments: dict[str, Any]) -> Any:
    import gymnasium

    if ":" in name:
        raise ComityError(f"Gymnasium environments are named without a module: {name.rsplit(':', 1)[1]}.")
    try:
        return gymnasium.make(name, **arguments)
    except gymnasium.error.Error as error:
        raise ComityError(f"Gymnasium has no environment {name!r}: {error}") from None


def _find(source: Source) -> Callable[..., Any]:
    """The function behind `module:function`, or a PettingZoo module's `parallel_env` or `env`."""
    known = ":" not in source.name and source.name.split(".")[0] in KNOWN
    make: Callable[..., Any] = find_function(source.name, "environment", ("parallel_env", "env"), known)
    return make
