"""Evolution strategies find what pays, and say what a batch must be."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run


@pytest.mark.long
def test_it_finds_the_target_of_a_continuous_probe(tmp_path: Path) -> None:
    game = make_game("probe-target")
    shape: dict[str, Any] = {"network": "mlp", "network.width": 8}
    agent = make_agent("evolution", game, pairs=8, **{"optimiser.learning_rate": 0.05}, **shape)
    experiment = make_experiment(game, agent, iterations=200, batch=64, unroll=game.horizon or 4, chunk=50)
    done = run(create(experiment, tmp_path / "run"), Options(tensorboard=False))
    played = play(game, done.players, jax.random.key(1), 200, 12)
    np.testing.assert_allclose(np.asarray(played.action[0]).mean(), 2.0, atol=0.15)


def test_a_batch_that_the_copies_cannot_share_is_refused(tmp_path: Path) -> None:
    agent = make_agent("evolution", None, pairs=3, **{"network": "tabular"})
    experiment = make_experiment(make_game("prisoners-dilemma"), agent, iterations=2, batch=8)
    with pytest.raises(ComityError, match="batch = 8 is not possible"):
        run(create(experiment, tmp_path / "run"), Options(tensorboard=False))
