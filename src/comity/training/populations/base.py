"""The protocol of populations, and the loop that trains one, generation by generation."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import jax
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Player
from comity.training.executors.base import Executor
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.jobs import Job, JobReport
from comity.training.loop import RunState
from comity.training.options import Options
from comity.training.run import Run
from comity.training.runner import open_or_create, versions

DEFAULT_OPTIONS = Options()
Members = Mapping[str, Experiment]  # by name, which is also that of the run folder


class Population(ABC):
    """Runs that belong together, and what follows from their results."""

    @abstractmethod
    def members(self, experiment: Experiment) -> Members:
        """The first generation."""

    def start_state(self, name: str, experiment: Experiment, out: Path) -> RunState | None:
        """The state that a member of a later generation begins with; by default it begins anew."""
        return None

    def outcome(self, results: Mapping[str, Run]) -> Mapping[str, Run]:
        """Of all runs, those that the population was trained for; by default all."""
        return results

    @abstractmethod
    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        """The next generation, given the results of the last; empty when the population is done."""


def train_population(
    population: Population,
    experiment: Experiment,
    executor: Executor,
    out: Path | None = None,
    options: Options = DEFAULT_OPTIONS,
    command: str | None = None,
    report: JobReport | None = None,
    start_from: str | Path | Player | None = None,
) -> dict[str, Run]:
    """Trains a population to its end and returns all its runs.

    Each run has a folder `out/NAME`; one that exists already is resumed, if it is of this experiment.
    Without `out` the runs have no folders. Learners of runs with folders begin as the player `start_from`.
    """
    options.check()
    executor.check()
    members = population.members(experiment)
    key = jax.random.key(experiment.seed)
    results: dict[str, Run] = {}
    generation = 0
    while members:
        folders = _folders(population, members, out, command, start_from)
        jobs = [Job(member, folders.get(name), options, label=name) for name, member in members.items()]
        trained = dict(zip(members, executor.run(jobs, report), strict=True))
        results |= trained
        members = population.evolve(trained, jax.random.fold_in(key, generation))
        generation += 1
    return results


def _folders(
    population: Population,
    members: Members,
    out: Path | None,
    command: str | None,
    start_from: str | Path | Player | None,
) -> dict[str, RunFolder]:
    """The folders of a generation: all that exist are checked before the first is created."""
    if out is None:
        return {}
    for name, experiment in members.items():
        if not RunFolder.is_free(out / name):
            RunFolder.open(out / name).require_same(experiment)
    return {
        name: _going_on(population, name, experiment, out, command)
        or open_or_create(experiment, out / name, command, start_from)
        for name, experiment in members.items()
    }


def _going_on(
    population: Population, name: str, experiment: Experiment, out: Path, command: str | None
) -> RunFolder | None:
    """The folder of a member that begins where others ended; it holds that state as its first checkpoint."""
    if not RunFolder.is_free(out / name):
        return None
    state = population.start_state(name, experiment, out)
    if state is None:
        return None
    # What it will take was checked for the first generation, whose programs are the same.
    folder = RunFolder.create(out / name, experiment, {"versions": versions(), "command": command})
    folder.save(experiment, state, keep=1)
    return folder
