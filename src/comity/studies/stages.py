"""Training in stages: each begins with the player of the one before, with some settings changed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from comity.studies.progress import Progress
from comity.studies.training import Experiment, Trained
from comity.training.options import Options
from comity.training.overrides import changed_experiment
from comity.training.runner import open_or_create
from comity.training.runner import run as run_folder


class Stage(NamedTuple):
    """A part of a training: settings by their names on the command line (`agent.gae_lambda`), and its length.

    Changes hold for the stages that follow, too.
    """

    changes: Mapping[str, Any]
    iterations: int


def stage_experiments(experiment: Experiment, stages: Sequence[Stage], seed: int) -> list[Experiment]:
    """The experiment of each stage; schedules begin anew in each, and so do random numbers."""
    found = []
    for number, stage in enumerate(stages):
        own = {**stage.changes, "iterations": stage.iterations, "seed": 100 * number + seed}
        experiment = changed_experiment(experiment.game, experiment.agents, experiment, own)
        found.append(experiment)
    return found


def train_stages(
    experiment: Experiment,
    stages: Sequence[Stage],
    seed: int,
    place: Path,
    command: str,
    progress: Progress,
    label: str,
) -> list[Trained]:
    """Trains stage after stage in `place/stage-N`; what is done is kept, what was stopped goes on.

    A stage takes over the policy of the one before. Its critic and its optimisers are new, so
    `schedule.critic_only_fraction` is of use in later stages.
    """
    done: list[Trained] = []
    for number, own in enumerate(stage_experiments(experiment, stages, seed), start=1):
        folder = open_or_create(own, place / f"stage-{number}", command, done[-1].player() if done else None)
        with progress({0: f"{label}, seed {seed}, stage {number}"}, own.iterations) as bars:
            run_folder(
                folder,
                Options(keep=1, tensorboard=False),
                lambda iteration, metrics, bars=bars: bars.update(0, iteration, metrics),  # type: ignore[misc]
            )
        done.append(Trained(folder.path))
    return done
