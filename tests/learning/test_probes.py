"""Probe games: what a learner must get right, part by part, within 0.1 of the known answer."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.base import LearnerState
from comity.core.agent import Player
from comity.core.batch import Trajectory
from comity.core.game import Environment
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run

DISCOUNT = 0.9
LEARNERS = ["a2c", "ppo"]


class Learned(NamedTuple):
    """What a learner plays after training, and its state then."""

    played: Trajectory
    state: LearnerState


def learn(
    folder: Path,
    game: Environment,
    name: str,
    kind: str,
    iterations: int,
    batch: int = 64,
    learning_rate: float = 0.01,
    **settings: Any,
) -> Learned:
    """Trains a learner and lets it play."""
    shape: dict[str, Any] = {
        "network": kind,
        "critic.network": kind,
        "optimiser.learning_rate": learning_rate,
    }
    if kind != "tabular":
        shape |= {"network.width": 16, "critic.network.width": 16}
    agent = make_agent(name, discount=DISCOUNT, **settings, **shape)
    unroll = game.horizon or 8
    experiment = make_experiment(
        game, agent, iterations=iterations, batch=batch, unroll=unroll, chunk=max(iterations // 4, 1)
    )
    files = create(experiment, folder / "run")
    players: tuple[Player, ...] = run(files, Options(tensorboard=False)).players
    state, _ = files.restore(experiment)
    assert state is not None
    return Learned(play(game, players, jax.random.key(1), 200, 12), state.learners[0])


def values(learned: Learned, states: int) -> list[float]:
    """The value that a critic of tables has of each of the first observations."""
    critic = learned.state.critic
    features = jnp.eye(states, critic.head.weight.shape[0])
    found: list[float] = np.asarray(critic.read(features)[:, 0, 0]).tolist()
    return found


def mean_return(learned: Learned, seat: int = 0) -> float:
    """The mean over episodes that ended of the sum of rewards."""
    played = learned.played
    ends = int(np.asarray(played.step.terminated | played.step.truncated).sum())
    return float(np.asarray(played.step.reward[seat]).sum() / ends)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_critic_reads_its_input(name: str, tmp_path: Path) -> None:
    learned = learn(tmp_path, make_game("probe-observation"), name, "tabular", 200, learning_rate=0.05)
    np.testing.assert_allclose(values(learned, 2), [-1.0, 1.0], atol=0.1)


@pytest.mark.parametrize("name", LEARNERS)
def test_discounting_and_termination(name: str, tmp_path: Path) -> None:
    learned = learn(tmp_path, make_game("probe-discount"), name, "tabular", 200, learning_rate=0.05)
    np.testing.assert_allclose(values(learned, 2), [DISCOUNT, 1.0], atol=0.1)


@pytest.mark.parametrize("name", LEARNERS)
def test_truncation_is_bootstrapped(name: str, tmp_path: Path) -> None:
    steep: dict[str, Any] = {"learning_rate": 0.1, "optimiser.max_grad_norm": 100.0}
    learned = learn(tmp_path, make_game("probe-truncation"), name, "tabular", 400, **steep)
    np.testing.assert_allclose(values(learned, 1), [1 / (1 - DISCOUNT)], atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_policy_depends_on_the_observation(name: str, tmp_path: Path) -> None:
    learned = learn(tmp_path, make_game("probe-choice"), name, "mlp", 150)
    np.testing.assert_allclose(mean_return(learned), 1.0, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_continuous_actions(name: str, tmp_path: Path) -> None:
    learned = learn(tmp_path, make_game("probe-target"), name, "mlp", 400, entropy_coef=0.0)
    np.testing.assert_allclose(np.asarray(learned.played.action[0]).mean(), 2.0, atol=0.1)
    np.testing.assert_allclose(mean_return(learned), 0.0, atol=0.1)


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
    learned = learn(tmp_path, make_game("probe-odd-seats"), name, "mlp", 1500, entropy_coef=0.0)
    returns = [mean_return(learned, seat) for seat in range(3)]
    np.testing.assert_allclose(returns, [3.0, 1.0, 3.0], atol=0.1)
