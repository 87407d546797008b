"""Training in stages: changes add up, each stage begins with the player before, and what is done is kept."""

from pathlib import Path

import jax
import numpy as np
import pytest

import comity
from comity.studies.progress import silent
from comity.studies.stages import Stage, stage_experiments, train_stages
from comity.studies.training import Trained, make_experiment
from comity.training.folder import RunFolder

STAGES = (
    Stage({"agent.optimiser.learning_rate": 0.01}, 1),
    Stage({"agent.gae_lambda": 0.5}, 2),
)
FROZEN = Stage({"agent.optimiser.learning_rate": 1e-12}, 1)  # as good as none: 0 is refused


def _experiment() -> comity.Experiment:
    game = comity.make_game("prisoners-dilemma")
    agent = comity.make_agent("ppo", game, network="mlp")
    return make_experiment(game, (agent,), batch=2, unroll=4, chunk=1)


def _weights(folder: Path) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(Trained(folder).player().params)]


def test_changes_hold_for_the_stages_that_follow() -> None:
    first, second = stage_experiments(_experiment(), STAGES, seed=3)
    assert (first.iterations, second.iterations) == (1, 2)
    assert (first.seed, second.seed) == (3, 103)
    agents = [experiment.to_data()["agents"][0] for experiment in (first, second)]
    assert [agent["optimiser"]["learning_rate"] for agent in agents] == [0.01, 0.01]
    assert [agent["gae_lambda"] for agent in agents] == [0.95, 0.5]


@pytest.mark.long
def test_a_stage_begins_with_the_player_before_and_what_is_done_is_kept(tmp_path: Path) -> None:
    stages = (STAGES[0], FROZEN)
    first, second = train_stages(_experiment(), stages, 0, tmp_path, "test", silent, "two")
    for before, after in zip(_weights(first.folder), _weights(second.folder), strict=True):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-10)
    (other,) = train_stages(_experiment(), (FROZEN,), 0, tmp_path / "other", "test", silent, "one")
    same = [
        np.allclose(x, y, rtol=0, atol=1e-4)
        for x, y in zip(_weights(other.folder), _weights(second.folder), strict=True)
    ]
    assert not all(same)
    logged = RunFolder(first.folder).metrics_path.read_text()
    again = train_stages(_experiment(), (*stages, Stage({}, 1)), 0, tmp_path, "test", silent, "three")
    assert [run.folder.name for run in again] == ["stage-1", "stage-2", "stage-3"]
    assert RunFolder(first.folder).metrics_path.read_text() == logged
