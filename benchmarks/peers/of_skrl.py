"""Times skrl's MAPPO on MPE2's simple_spread; run by `benchmarks/peers/compare.py` with skrl's interpreter.

    python of_skrl.py '{"steps": 2000, "width": 64}'

All settings of the learner are skrl's own. Prints one JSON line: CPU seconds and joint steps of the run.
"""

import json
import sys
import tempfile
import time
from typing import Any

import torch
from mpe2 import simple_spread_v3
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.multi_agents.torch.base import ExperimentCfg
from skrl.multi_agents.torch.mappo import MAPPO
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed


def layers(inputs: int, width: int, outputs: int) -> torch.nn.Module:
    """A perceptron with two hidden layers."""
    hidden = [torch.nn.Linear(inputs, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*hidden, torch.nn.Linear(width, outputs))


class Policy(CategoricalMixin, Model):
    """Sees its own observation."""

    def __init__(self, observation_space: Any, action_space: Any, width: int) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space)
        CategoricalMixin.__init__(self)
        self.net = layers(self.num_observations, width, self.num_actions)

    def compute(self, inputs: Any, role: str) -> Any:
        return self.net(inputs["observations"]), {}


class Value(DeterministicMixin, Model):
    """Sees the environment's state."""

    def __init__(self, state_space: Any, action_space: Any, width: int) -> None:
        Model.__init__(self, state_space=state_space, action_space=action_space)
        DeterministicMixin.__init__(self)
        self.net = layers(self.num_states, width, 1)

    def compute(self, inputs: Any, role: str) -> Any:
        return self.net(inputs["states"]), {}


def main(settings: dict) -> None:
    """Trains for a number of steps and takes the CPU time."""
    torch.set_num_threads(1)
    set_seed(0)
    env = wrap_env(simple_spread_v3.parallel_env(), wrapper="pettingzoo")
    width = settings["width"]
    models = {
        name: {
            "policy": Policy(env.observation_spaces[name], env.action_spaces[name], width),
            "value": Value(env.state_spaces[name], env.action_spaces[name], width),
        }
        for name in env.possible_agents
    }
    quiet = ExperimentCfg(directory=tempfile.mkdtemp(), write_interval=0, checkpoint_interval=0)
    names = ["learning_rate_scheduler", *(f"{x}_preprocessor" for x in ("observation", "state", "value"))]
    # Empty dictionaries, skrl's own defaults, are refused for several agents: each agent gets one.
    empty: dict[str, Any] = {f"{name}_kwargs": {agent: {} for agent in env.possible_agents} for name in names}
    cfg = {"experiment": quiet, **empty}
    rollouts = 16  # skrl's default length of a rollout
    agent = MAPPO(
        possible_agents=env.possible_agents,
        models=models,
        memories={name: RandomMemory(memory_size=rollouts, num_envs=1) for name in env.possible_agents},
        observation_spaces=env.observation_spaces,
        state_spaces=env.state_spaces,
        action_spaces=env.action_spaces,
        cfg=cfg,
    )
    options = {"timesteps": settings["steps"], "headless": True, "disable_progressbar": True}
    trainer = SequentialTrainer(cfg=options, env=env, agents=agent)
    begun = time.process_time()
    trainer.train()
    print(json.dumps({"seconds": time.process_time() - begun, "steps": settings["steps"]}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
