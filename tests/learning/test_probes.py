"""Probe games: what a learner must get right, part by part, within 0.1 of the known answer."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from comity.core.types import Environment, Player, Trajectory
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.train.experiment import make_experiment
from comity.train.runner import Options, create, run

DISCOUNT = 0.9
LEARNERS = ["a2c", "ppo"]


def learn(
    folder: Path, game: Environment, name: str, kind: str, iterations: int, batch: int = 64, **settings: Any
) -> Trajectory:
    """Trains a learner and lets it play."""
    shape: dict[str, Any] = {"network.kind": kind, "network.width": 16}
    agent = make_agent(name, discount=DISCOUNT, **{"learning_rate": 0.01, **settings}, **shape)
    unroll = game.horizon or 8
    experiment = make_experiment(
        game, agent, iterations=iterations, batch=batch, unroll=unroll, chunk=max(iterations // 4, 1)
    )
    players: tuple[Player, ...] = run(create(experiment, folder / "run"), Options(tensorboard=False)).players
    return play(game, players, jax.random.key(1), 200, 12)


def values(played: Trajectory, states: int) -> list[float]:
    """The critic's value of each observation."""
    seen, value = np.asarray(played.obs[0]), np.asarray(played.extras[0].value)
    return [float(value[seen == state].mean()) for state in range(states)]


def mean_return(played: Trajectory, seat: int = 0) -> float:
    """The mean over episodes that ended of the sum of rewards."""
    ends = int(np.asarray(played.step.terminated | played.step.truncated).sum())
    return float(np.asarray(played.step.reward[seat]).sum() / ends)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_critic_reads_its_input(name: str, tmp_path: Path) -> None:
    played = learn(tmp_path, make_game("probe-observation"), name, "tabular", 200, learning_rate=0.05)
    np.testing.assert_allclose(values(played, 2), [-1.0, 1.0], atol=0.1)


@pytest.mark.parametrize("name", LEARNERS)
def test_discounting_and_termination(name: str, tmp_path: Path) -> None:
    played = learn(tmp_path, make_game("probe-discount"), name, "tabular", 200, learning_rate=0.05)
    np.testing.assert_allclose(values(played, 2), [DISCOUNT, 1.0], atol=0.1)


@pytest.mark.parametrize("name", LEARNERS)
def test_truncation_is_bootstrapped(name: str, tmp_path: Path) -> None:
    played = learn(
        tmp_path, make_game("probe-truncation"), name, "tabular", 400, learning_rate=0.1, max_gradient=100.0
    )
    np.testing.assert_allclose(values(played, 1), [1 / (1 - DISCOUNT)], atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_policy_depends_on_the_observation(name: str, tmp_path: Path) -> None:
    played = learn(tmp_path, make_game("probe-choice"), name, "mlp", 150)
    np.testing.assert_allclose(mean_return(played), 1.0, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_continuous_actions(name: str, tmp_path: Path) -> None:
    played = learn(tmp_path, make_game("probe-target"), name, "mlp", 400, entropy=0.0)
    np.testing.assert_allclose(np.asarray(played.action[0]).mean(), 2.0, atol=0.1)
    np.testing.assert_allclose(mean_return(played), 0.0, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_memory_is_needed_and_used(name: str, tmp_path: Path) -> None:
    game = make_game("probe-memory", delay=3)
    with_memory = learn(tmp_path / "gru", game, name, "gru", 600, batch=256)
    np.testing.assert_allclose(mean_return(with_memory), 1.0, atol=0.1)
    without = learn(tmp_path / "mlp", game, name, "mlp", 300, batch=256)
    assert mean_return(without) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_unlike_seats_each_learn_their_part(name: str, tmp_path: Path) -> None:
    played = learn(tmp_path, make_game("probe-odd-seats"), name, "mlp", 1500, entropy=0.0)
    returns = [mean_return(played, seat) for seat in range(3)]
    np.testing.assert_allclose(returns, [3.0, 1.0, 3.0], atol=0.1)
