"""Gymnasium's classic tasks through the bridge: what PPO and TRPO must solve."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.play.match import play
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run

pytestmark = pytest.mark.slow
NETWORK: dict[str, Any] = {
    f"{part}network{setting}": value
    for part in ("", "critic.")
    for setting, value in (("", "mlp"), (".depth", 2))
}
PPO: dict[str, Any] = {**NETWORK, "epochs": 8, "minibatches": 4}


def solved(
    folder: Path, name: str, agent: Any, iterations: int, unroll: int, steps: int
) -> tuple[float, list[dict[str, Any]]]:
    """The mean return of episodes after training, and the metrics on the way."""
    game = comity.make_game(f"gymnasium:{name}", workers=0)
    experiment = make_experiment(game, agent, iterations=iterations, batch=16, unroll=unroll, chunk=20)
    result = run(create(experiment, folder / "run"), Options(tensorboard=False))
    joint = play(game, result.players, jax.random.key(1), 16, steps)
    # One episode each, from the start to its end.
    done = np.asarray(joint.step.terminated | joint.step.truncated)
    first = np.cumsum(done, axis=0) - done == 0
    return float((np.asarray(joint.step.reward[0]) * first).sum(axis=0).mean()), result.metrics


@pytest.mark.parametrize("name", ["ppo", "trpo"])
def test_cartpole(name: str, tmp_path: Path) -> None:
    agent = comity.make_agent(name, discount=0.99, **(PPO if name == "ppo" else NETWORK))
    found, metrics = solved(tmp_path, "CartPole-v1", agent, 100, 128, 500)
    assert found >= 475
    if name == "trpo":
        assert max(row["kl"] for row in metrics) <= 0.01


@pytest.mark.parametrize("name", ["ppo", "trpo"])
def test_pendulum(name: str, tmp_path: Path) -> None:
    settings = {**PPO, "entropy_coef": 0.0} if name == "ppo" else NETWORK
    agent = comity.make_agent(name, discount=0.95, **settings)
    found, metrics = solved(tmp_path, "Pendulum-v1", agent, 200, 200, 200)
    assert found >= -250
    if name == "trpo":
        assert max(row["kl"] for row in metrics) <= 0.01
