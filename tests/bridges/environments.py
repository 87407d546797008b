"""Small environments for the tests of the bridges; no part of Comity knows them."""

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


class Corridor(ParallelEnv):
    """Agents count steps: `a` leaves after 2, `c` joins after 3, all stop at `length`.

    `a` has a mask that forbids its first action, `b` plays two choices at once, `c` plays numbers between
    unlike bounds.
    """

    metadata = {"name": "corridor_v0"}

    def __init__(self, length: int = 6, wrong: str = "") -> None:
        self.possible_agents = ["a", "b", "c"]
        self.agents: list[str] = []
        self.length, self.wrong = length, wrong
        self._sees = {
            "a": spaces.Dict({"observation": spaces.Box(-1, 1, (2,)), "action_mask": spaces.MultiBinary(3)}),
            "b": spaces.Dict({"time": spaces.Discrete(20, start=1), "seed": spaces.Box(0, 1, (1,))}),
            "c": spaces.Box(0, 255, (4, 5, 3), np.uint8),
        }
        self._does = {
            "a": spaces.Discrete(3),
            "b": spaces.MultiDiscrete([2, 4]),
            "c": spaces.Box(np.array([0.0, -10.0], np.float32), np.array([1.0, 10.0], np.float32)),
        }

    def observation_space(self, agent: str) -> Any:
        return self._sees[agent]

    def action_space(self, agent: str) -> Any:
        return self._does[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self._draw = np.random.default_rng(seed)
        self.time = 0
        self.agents = ["a", "b"]
        return self._look(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        assert set(actions) == set(self.agents), "only those who are there act"
        if "a" in actions:
            assert actions["a"] != 0, "the mask forbids it"
        if "b" in actions:
            assert np.shape(actions["b"]) == (2,)
        if "c" in actions:
            assert -10 <= actions["c"][1] <= 10
            assert 0 <= actions["c"][0] <= 1
        self.time += 1
        inside = list(self.agents)
        if self.time == 3:
            inside.append("c")
        terminated = {agent: agent == "a" and self.time == 2 for agent in inside}
        truncated = dict.fromkeys(inside, self.time >= self.length)
        rewards = {agent: float(self.time) for agent in self.agents}
        obs = self._look(inside)
        self.agents = [a for a in inside if not terminated[a] and not truncated[a]]
        if self.wrong == "shape":
            obs["b"]["seed"] = np.zeros(2, np.float32)
        if self.wrong == "reward":
            rewards["b"] = float("nan")
        if self.wrong == "agent":
            obs["ghost"] = 0
        if self.wrong == "crash":
            raise ValueError("a bug of the environment")
        if self.wrong == "death":
            os._exit(3)
        return obs, rewards, terminated, truncated, {agent: {} for agent in inside}

    def _look(self, agents: list[str]) -> dict[str, Any]:
        number = self._draw.random()
        everything = {
            "a": {
                "observation": np.array([self.time / 10, number], np.float32),
                "action_mask": np.array([0, 1, 1], np.int8),
            },
            "b": {"time": self.time + 1, "seed": np.array([number], np.float32)},
            "c": np.full((4, 5, 3), self.time, np.uint8),
        }
        return {agent: everything[agent] for agent in agents}


def make_corridor(**arguments: Any) -> Corridor:
    """Found by its import path."""
    return Corridor(**arguments)


def make_odd_space() -> Any:
    """An environment whose space nobody supports."""

    class Odd(gymnasium.Env):
        observation_space = spaces.Text(5)
        action_space = spaces.Discrete(2)

    return Odd()


def make_nothing() -> int:
    """No environment at all."""
    return 3


class Relay(AECEnv):
    """Agents move in turn and see how many moves there were; `x` leaves with its second move.

    A move pays its mover 1 and the agent after it its choice, in tenths. After `length` moves time runs out.
    Choices have no masks, but for `y`, whose info forbids its first one.
    """

    metadata = {"name": "relay_v0"}

    def __init__(self, length: int = 9, wrong: str = "") -> None:
        super().__init__()
        self.possible_agents = ["x", "y", "z"]
        self.agents: list[str] = []
        self.length, self.wrong = length, wrong

    def observation_space(self, agent: str) -> Any:
        return spaces.Discrete(50)

    def action_space(self, agent: str) -> Any:
        return spaces.Box(0, 1, (1,)) if agent == "z" else spaces.Discrete(3)

    def observe(self, agent: str) -> Any:
        return self.time

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents, self.time = list(self.possible_agents), 0
        self.moves: list[Any] = []
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, Any] = {agent: {} for agent in self.agents}
        self.infos["y"] = {"action_mask": np.array([0, 1, 1], np.int8)}
        self.agent_selection = "x"

    def step(self, action: Any) -> None:
        mover = self.agent_selection
        if self.terminations[mover] or self.truncations[mover]:
            self._was_dead_step(action)
            return
        assert action is not None
        assert (mover, action) != ("y", 0), "the mask forbids it"
        self.time += 1
        self.moves.append(mover)
        after = self._next(mover)
        self._cumulative_rewards[mover] = 0.0
        self._clear_rewards()
        self.rewards[mover] = float("nan") if self.wrong == "reward" else 1.0
        self.rewards[after] += 0.1 * float(np.asarray(action).reshape(-1)[0])
        self._accumulate_rewards()
        self.terminations["x"] = self.moves.count("x") == 2
        if self.time == self.length:
            self.truncations = dict.fromkeys(self.agents, True)
        self.agent_selection = after
        self._deads_step_first()

    def _next(self, agent: str) -> str:
        return self.agents[(self.agents.index(agent) + 1) % len(self.agents)]


def make_relay(**arguments: Any) -> Relay:
    """Found by its import path."""
    return Relay(**arguments)


class Painter(gymnasium.Env):
    """Draws the time as a shade of grey."""

    metadata = {"render_modes": ["rgb_array"]}
    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)
    render_mode: str | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.time = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.time += 1
        return 0, 1.0, False, False, {}

    def render(self) -> Any:
        return np.full((4, 5, 3), 10 * self.time, np.uint8) if self.render_mode == "rgb_array" else None


def make_painter() -> Painter:
    """An environment that draws itself."""
    return Painter()
