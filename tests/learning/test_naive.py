"""The field's opening claim: naive learners defect, and those who share rewards are exploited."""

from typing import Any

import jax
import numpy as np
import pytest

from comity.api import scripted_player
from comity.core.agent import Player
from comity.core.game import Environment
from comity.evaluate.behaviour import behaviour
from comity.evaluate.league import play_league
from comity.games.transforms import SharedReward
from comity.play.specs import make_agent, make_game
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run

pytestmark = pytest.mark.slow

SEEDS = range(5)
GAME = make_game("prisoners-dilemma")
TABULAR_NETWORK: dict[str, Any] = {"network": "tabular", "critic.network": "tabular"}
# Much entropy at first, so that all states are met often while there is still something to learn there.
NAIVE = make_agent(
    "a2c",
    **TABULAR_NETWORK,
    discount=0.9,
    entropy_coef=0.5,
    **{"optimiser.learning_rate": 0.05, "schedule.final_entropy": 0.1},
)


def train(game: Environment, seed: int, factory: pytest.TempPathFactory) -> Player:
    experiment = make_experiment(game, NAIVE, iterations=2000, batch=128, chunk=50, seed=seed)
    result = run(create(experiment, factory.mktemp("naive") / "run"), Options(tensorboard=False))
    return result.players[0]


@pytest.fixture(scope="module", params=SEEDS)
def own(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Player:
    return train(GAME, request.param, tmp_path_factory)


@pytest.fixture(scope="module", params=SEEDS)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Player:
    return train(SharedReward(game=GAME), request.param, tmp_path_factory)


def test_own_reward_ends_in_defection(own: Player) -> None:
    found = behaviour(GAME, own, own, jax.random.key(0), episodes=2000)
    assert found is not None
    visited = found.visits >= 10  # of 32 000 steps; fewer say nothing about a probability
    assert visited[[0, 4]].all()  # the start, and after mutual defection
    assert (found.probability[visited, 0] < 0.05).all(), found
    np.testing.assert_allclose(play_league(GAME, {"naive": own}, 500).mean[0, 0], -2.0, atol=0.05)


def test_summed_reward_ends_in_cooperation_that_is_exploited(shared: Player) -> None:
    players = {"shared": shared, "always-defect": scripted_player("always-defect", GAME)}
    found = play_league(GAME, players, 500).mean
    np.testing.assert_allclose(found[0, 0], -1.0, atol=0.05)
    assert -2.0 - found[0, 1] > 0.9  # loses against what mutual defection would have given it,
    assert found[1, 0] - found[0, 1] > 0.9  # and against what the other gets
