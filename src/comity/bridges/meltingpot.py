"""Melting Pot's substrates as PettingZoo-like environments, for those who have dm-meltingpot. No JAX here."""

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from comity.core.errors import ComityError, unknown_name

INSTALL = "pip install dm-meltingpot (see docs/commons.md)"


class Substrate:
    """A substrate in which all players act at once, with the methods of a PettingZoo parallel environment.

    `roles` are those of the players, by default the substrate's own. `observe` names what is seen of each
    player's observations: one alone, such as RGB, is seen as it is, several as a dictionary. Substrates
    cannot be seeded: the same seed does not give the same episode.
    """

    metadata = {"render_modes": ["rgb_array"]}
    render_mode: str | None = None

    def __init__(
        self, name: str, roles: Sequence[str] | None = None, observe: Sequence[str] = ("RGB",)
    ) -> None:
        if importlib.util.find_spec("meltingpot") is None:
            raise ComityError(f"The substrate {name} needs Melting Pot: {INSTALL}.")
        from meltingpot import substrate

        if name not in substrate.SUBSTRATES:
            raise unknown_name("substrate of Melting Pot", name, sorted(substrate.SUBSTRATES))
        chosen = tuple(substrate.get_config(name).default_player_roles) if roles is None else tuple(roles)
        self._env = substrate.build(name, roles=chosen)
        self.possible_agents = [f"player_{i}" for i in range(len(chosen))]
        self.agents: list[str] = []
        self._observe = tuple(observe)
        specs = dict(zip(self.possible_agents, self._env.observation_spec(), strict=True))
        for what in self._observe:
            for seen in specs.values():
                if what not in seen:
                    raise unknown_name(f"observation in {name}", what, sorted(seen))
        self._sees = {agent: self._space(seen) for agent, seen in specs.items()}
        self._choices = [int(spec.num_values) for spec in self._env.action_spec()]

    def observation_space(self, agent: str) -> Any:
        """What a player sees."""
        return self._sees[agent]

    def action_space(self, agent: str) -> Any:
        """What a player may do."""
        from gymnasium.spaces import Discrete

        return Discrete(self._choices[self.possible_agents.index(agent)])

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new episode; the seed is of no use to the substrate."""
        step = self._step = self._env.reset()
        self.agents = list(self.possible_agents)
        return self._seen(step), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """One step of everybody."""
        step = self._step = self._env.step([int(actions[agent]) for agent in self.possible_agents])
        paid = {agent: float(x) for agent, x in zip(self.possible_agents, step.reward, strict=True)}
        over = bool(step.last())
        ended = over and float(np.mean(step.discount)) == 0.0
        everyone = list(self.possible_agents)
        self.agents = [] if over else everyone
        terminated, truncated = dict.fromkeys(everyone, ended), dict.fromkeys(everyone, over and not ended)
        return self._seen(step), paid, terminated, truncated, {agent: {} for agent in everyone}

    def render(self) -> np.ndarray | None:
        """The whole world as the engine draws it, if it does."""
        world = self._step.observation[0].get("WORLD.RGB")
        return None if world is None else np.asarray(world)

    def close(self) -> None:
        """Ends the engine."""
        self._env.close()

    def _space(self, seen: Any) -> Any:
        from gymnasium import spaces

        boxes = {what: _box(seen[what]) for what in self._observe}
        return boxes[self._observe[0]] if len(boxes) == 1 else spaces.Dict(boxes)

    def _seen(self, step: Any) -> dict[str, Any]:
        found = {}
        for agent, seen in zip(self.possible_agents, step.observation, strict=True):
            values = {what: _value(seen[what]) for what in self._observe}
            found[agent] = values[self._observe[0]] if len(values) == 1 else values
        return found


def _value(seen: Any) -> np.ndarray:
    """An observation as an array of at least one axis; numbers as float32, images as they are."""
    array = np.atleast_1d(np.asarray(seen))
    return array if array.dtype == np.uint8 else array.astype(np.float32)


def _box(spec: Any) -> Any:
    """The Gymnasium space of a dm_env specification."""
    from gymnasium.spaces import Box

    shape = tuple(spec.shape) or (1,)
    if np.dtype(spec.dtype) == np.uint8:
        return Box(0, 255, shape, np.uint8)
    low = np.broadcast_to(np.asarray(getattr(spec, "minimum", -np.inf), np.float32), shape)
    high = np.broadcast_to(np.asarray(getattr(spec, "maximum", np.inf), np.float32), shape)
    return Box(low, high, shape, np.float32)
