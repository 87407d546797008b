"""PettingZoo environments that are played turn by turn (AEC). No JAX here.

One step of the game is one move: the selected agent acts, all others wait. The moves that PettingZoo wants of
agents that are out of the game (`step(None)`) are made here and are no steps.
"""

from typing import Any, ClassVar

import numpy as np

from comity.bridges.adapters import Adapter, HostSeat, Outcome, rendered
from comity.bridges.codecs import MASK, SEEN, Choice, WithMask, codec
from comity.core.errors import ComityError

WANTED = ("possible_agents", "observation_space", "action_space", "reset", "step", "observe")


def is_turn_based(environment: Any) -> bool:
    """Whether an environment follows PettingZoo's API for agents that act one after another."""
    from pettingzoo.utils.env import AECEnv

    return isinstance(environment, AECEnv)


class TurnBased(Adapter):
    """An environment in which one agent acts at a time.

    Where actions are choices, every seat sees which are legal: those that the environment names (in the
    observation's or the info's `action_mask`), all if it names none, and only the first, which is ignored,
    while the seat waits. Rewards are those of each move, for whoever they are.
    """

    turns: ClassVar[bool] = True

    def __init__(self, environment: Any, name: str) -> None:
        for wanted in WANTED:
            if not hasattr(environment, wanted):
                raise ComityError(f"{name} is no PettingZoo environment: it lacks {wanted}.")
        self._env, self._name = environment, name
        self._agents = list(environment.possible_agents)
        self._masked: set[str] = set()  # whose observations come with a mask
        self.seats = tuple(self._seat(agent) for agent in self._agents)

    def _seat(self, agent: str) -> HostSeat:
        sees = codec(self._env.observation_space(agent), f"{self._name}: the observation of {agent}")
        does = codec(self._env.action_space(agent), f"{self._name}: the action of {agent}", acts=True)
        if isinstance(sees, WithMask):
            self._masked.add(agent)
        elif isinstance(does, Choice):
            sees = WithMask(sees, does.n)
        return HostSeat(agent, sees, does)

    def reset(self, seed: int) -> list[Any]:
        self._env.reset(seed=seed)
        self._skip_dead({})
        return self._observe_all({})

    def acts(self) -> list[bool]:
        mover = self._env.agent_selection if self._inside() else None
        return [agent == mover for agent in self._agents]

    def step(self, actions: list[Any]) -> Outcome:
        env = self._env
        inside = self._inside()
        env.step(actions[self._agents.index(env.agent_selection)])
        rewards = [self._reward(agent) for agent in self._agents]
        terminated = {agent for agent in inside if env.terminations.get(agent, False)}
        truncated = {agent for agent in inside if env.truncations.get(agent, False)} - terminated
        last_seen: dict[str, Any] = {}
        self._skip_dead(last_seen)
        after = self._inside()
        over = not after
        # Who is there when time runs out stays alive, so that the future counts.
        alive = [agent in (inside - terminated if over else after) for agent in self._agents]
        cut = over and bool(truncated)
        return Outcome(self._observe_all(last_seen), rewards, over and not cut, cut, alive)

    def close(self) -> None:
        self._env.close()

    def render(self) -> np.ndarray | None:
        return rendered(self._env)

    def _inside(self) -> set[str]:
        """The agents that are in the game."""
        env = self._env
        for agent in env.agents:
            if agent not in self._agents:
                raise ComityError(f"{self._name} has the unknown agent {agent!r}.")
        return {a for a in env.agents if not (env.terminations[a] or env.truncations[a])}

    def _skip_dead(self, last_seen: dict[str, Any]) -> None:
        """Makes the empty moves of agents that are out, and keeps what they saw at last."""
        env = self._env
        for agent in env.agents:
            if agent not in self._inside():
                last_seen[agent] = self._observe(agent, acts=False)
        while env.agents and env.agent_selection not in self._inside():
            env.step(None)

    def _observe_all(self, last_seen: dict[str, Any]) -> list[Any]:
        inside, acts = self._inside(), self.acts()
        return [
            self._observe(agent, acts=own) if agent in inside else last_seen.get(agent)
            for agent, own in zip(self._agents, acts, strict=True)
        ]

    def _observe(self, agent: str, acts: bool) -> Any:
        """What an agent sees, with its legal choices if it has choices."""
        value = self._env.observe(agent)
        seat = self.seats[self._agents.index(agent)]
        if not isinstance(seat.sees, WithMask):
            return value
        if agent in self._masked:
            if acts or not isinstance(value, dict):
                return value
            return {**value, MASK: _only_first(seat.sees.choices)}
        if not acts:
            return {SEEN: value, MASK: _only_first(seat.sees.choices)}
        legal = self._env.infos.get(agent, {}).get(MASK)
        return {SEEN: value, MASK: np.ones(seat.sees.choices, np.int8) if legal is None else legal}

    def _reward(self, agent: str) -> float:
        paid = float(self._env.rewards.get(agent, 0.0))
        if not np.isfinite(paid):
            raise ComityError(f"{self._name} paid {agent} a reward of {paid}.")
        return paid


def _only_first(choices: int) -> np.ndarray:
    mask = np.zeros(choices, np.int8)
    mask[0] = 1
    return mask
