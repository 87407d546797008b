"""Self-play with separate parameters finds the subgame-perfect split of a pie that is offered twice."""

from pathlib import Path

import jax
import numpy as np
import pytest

from comity.games.bargaining import AlternatingOffers
from comity.play.match import play
from comity.play.specs import make_agent
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.2, 0.8])
def test_ppo_finds_the_split(factor: float, tmp_path: Path) -> None:
    """The second can refuse and take all of what is left, so it is offered its factor: far from half."""
    game = AlternatingOffers(rounds=2, shrink=(0.5, factor))
    settings = {"learning_rate": 0.003, "entropy": 0.003, "discount": 1.0}
    agent = make_agent("ppo", **settings, **{"network.kind": "mlp", "network.width": 32})
    experiment = make_experiment(game, agent, iterations=300, batch=256, unroll=8, chunk=75)
    assert experiment.seating == ((0,), (1,))
    players = run(create(experiment, tmp_path / "run"), Options(tensorboard=False)).players
    joint = play(game, players, jax.random.key(1), 256, 16)
    episodes = np.asarray(joint.step.terminated).sum()
    found = [float(np.asarray(reward).sum() / episodes) for reward in joint.step.reward]
    np.testing.assert_allclose(found, game.subgame_perfect_split, atol=0.12)
    # Most offers are accepted at once, so little of the pie is lost.
    assert sum(found) > 0.9
