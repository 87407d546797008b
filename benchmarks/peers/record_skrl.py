"""Records whole updates of skrl's MAPPO, for `tests/golden/test_skrl_mappo.py`; run with skrl's interpreter.

    python record_skrl.py tests/data/skrl/mappo.npz

For each case: what one agent of two saw, did and got, its parameters before and after one update, and what
the update logged. Minibatches are taken in the order of the steps, so that nothing in it is random.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, GaussianMixin, Model
from skrl.multi_agents.torch.base import ExperimentCfg
from skrl.multi_agents.torch.mappo import MAPPO
from skrl.resources.schedulers.torch import KLAdaptiveLR

TIME, GAMES, SEEN, ACTIONS, WIDTH = 12, 6, 3, 4, 8
AGENT = "agent"
# skrl's settings that are not its defaults, whether actions are numbers, and the adaptive schedule's target.
CASES: dict[str, tuple[dict[str, Any], bool, float | None]] = {
    "defaults": ({}, False, None),
    "adapts": (
        {"learning_epochs": 4, "learning_rate": 3e-3, "grad_norm_clip": 0.0, "value_clip": 0.0,
         "value_loss_scale": 1.0, "entropy_loss_scale": 0.01},
        True,
        0.002,
    ),
    "stops": (
        {"learning_rate": 3e-3, "mini_batches": 6, "kl_threshold": 0.0005, "value_clip": 0.02,
         "grad_norm_clip": 10.0, "entropy_loss_scale": 0.02},
        False,
        None,
    ),
}  # fmt: skip


class InOrder(RandomMemory):
    """Samples all steps in the order in which they were played."""

    def sample(self, names: Any, *, batch_size: int, mini_batches: int = 1, sequence_length: int = 1) -> Any:
        return self.sample_all(names=names, mini_batches=mini_batches)


class Choice(CategoricalMixin, Model):
    """Logits from what the agent sees."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        CategoricalMixin.__init__(self)
        self.net = _perceptron(SEEN, ACTIONS)

    def compute(self, inputs: Any, role: str) -> Any:
        return self.net(inputs["observations"]), {}


class Numbers(GaussianMixin, Model):
    """Means from what the agent sees, and a standard deviation of its own."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        GaussianMixin.__init__(self)
        self.net = _perceptron(SEEN, ACTIONS)
        self.log_std = torch.nn.Parameter(torch.full((ACTIONS,), -0.3))

    def compute(self, inputs: Any, role: str) -> Any:
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    """A value from the state: what both agents see."""

    def __init__(self, state_space: Any, action_space: Any) -> None:
        Model.__init__(self, state_space=state_space, action_space=action_space, device="cpu")
        DeterministicMixin.__init__(self)
        self.net = _perceptron(2 * SEEN, 1)

    def compute(self, inputs: Any, role: str) -> Any:
        return self.net(inputs["states"]), {}


def _perceptron(inputs: int, outputs: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, outputs)
    )


def _parameters(policy: Any, value: Any, when: str) -> dict[str, Any]:
    found = {}
    for name, model in (("policy", policy), ("value", value)):
        for part, parameter in model.named_parameters():
            found[f"{when}/{name}/{part}"] = parameter.detach().numpy().copy()
    return found


def record(name: str) -> dict[str, Any]:
    """One update: what went in, and what came out."""
    changes, numbers, target = CASES[name]
    torch.manual_seed(0)
    draw = np.random.default_rng(0)
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (SEEN,))
    state = gymnasium.spaces.Box(-np.inf, np.inf, (2 * SEEN,))
    action: gymnasium.Space = (
        gymnasium.spaces.Box(-np.inf, np.inf, (ACTIONS,)) if numbers else gymnasium.spaces.Discrete(ACTIONS)
    )
    policy, value = (Numbers if numbers else Choice)(seen, action), Value(state, action)
    quiet = ExperimentCfg(directory=tempfile.mkdtemp(), write_interval=0, checkpoint_interval=0)
    schedule = {} if target is None else {"kl_threshold": target}
    kwargs: dict[str, Any] = {
        f"{part}_preprocessor_kwargs": {AGENT: {}} for part in ("observation", "state", "value")
    }
    agent = MAPPO(
        possible_agents=[AGENT], models={AGENT: {"policy": policy, "value": value}},
        memories={AGENT: InOrder(memory_size=TIME, num_envs=GAMES, device="cpu")},
        observation_spaces={AGENT: seen}, state_spaces={AGENT: state}, action_spaces={AGENT: action},
        device="cpu",
        cfg={
            "experiment": quiet,
            "rollouts": TIME, "time_limit_bootstrap": True, **kwargs,
            "learning_rate_scheduler": None if target is None else KLAdaptiveLR,
            "learning_rate_scheduler_kwargs": {AGENT: schedule}, **changes,
        },
    )  # fmt: skip
    agent.init()
    agent.enable_training_mode(True)
    obs = draw.normal(size=(TIME + 1, 2, GAMES, SEEN)).astype(np.float32)
    next_obs = obs[1:].copy()
    terminated, truncated = draw.random((2, TIME, GAMES)) < 0.1
    truncated &= ~terminated
    ended = terminated | truncated
    fresh = draw.normal(size=next_obs.shape).astype(np.float32)
    next_obs = np.where(ended[:, None, :, None], fresh, next_obs)  # true successors, not the next episode
    reward = draw.normal(size=(TIME, GAMES)).astype(np.float32)
    data = _parameters(policy, value, "before")
    taken, log_prob = [], []
    for t in range(TIME):

        def views(both: np.ndarray) -> tuple[Any, Any]:
            own = torch.tensor(both[0])
            return {AGENT: own}, {AGENT: torch.cat([own, torch.tensor(both[1])], dim=-1)}

        (now, at), (then, following) = views(obs[t]), views(next_obs[t])
        with torch.no_grad():
            actions, outputs = agent.act(now, at, timestep=t, timesteps=TIME)
        taken.append(actions[AGENT].numpy())
        log_prob.append(outputs[AGENT]["log_prob"].numpy())
        rewards, ends, cuts = ({AGENT: torch.tensor(x[t])[:, None]} for x in (reward, terminated, truncated))
        agent.record_transition(
            observations=now, states=at, actions=actions, rewards=rewards,
            next_observations=then, next_states=following,
            terminated=ends, truncated=cuts, infos={}, timestep=t, timesteps=TIME,
        )  # fmt: skip
    agent.enable_models_training_mode(True)
    agent.update(timestep=TIME, timesteps=TIME, uid=AGENT)
    tracked = {key: np.float32(values[-1]) for key, values in agent.tracking_data.items() if values}
    data |= _parameters(policy, value, "after")
    data |= {
        "obs": obs[:-1], "next_obs": next_obs, "action": np.stack(taken), "log_prob": np.stack(log_prob),
        "reward": reward, "terminated": terminated, "truncated": truncated,
        "policy_loss": tracked[f"Loss / Policy loss ({AGENT})"],
        "value_loss": tracked[f"Loss / Value loss ({AGENT})"],
        "learning_rate": np.float32(agent.optimizers[AGENT].param_groups[0]["lr"]),
    }  # fmt: skip
    return data


def main(path: Path) -> None:
    """Records all cases into one file."""
    found = {f"{name}/{key}": x for name in CASES for key, x in record(name).items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **found)
    print(f"{path}: {len(found)} arrays")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
