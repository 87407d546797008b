"""One experiment with several seeds."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import PRNGKeyArray as Key

from comity.training.executors.registry import make_executor
from comity.training.experiment import Experiment
from comity.training.jobs import JobReport
from comity.training.options import Options
from comity.training.populations.base import Members, Population, train_population
from comity.training.run import Run

SeedReport = Callable[[int, int, dict[str, float]], None]


@dataclass(frozen=True)
class Seeds(Population):
    """The same experiment with each of several seeds: one generation."""

    seeds: tuple[int, ...]

    def members(self, experiment: Experiment) -> Members:
        return {f"seed-{seed}": dataclasses.replace(experiment, seed=seed) for seed in self.seeds}

    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        return {}


def train_seeds(
    experiment: Experiment,
    seeds: tuple[int, ...],
    out: Path,
    options: Options,
    executor: str = "auto",
    command: str | None = None,
    report: SeedReport | None = None,
) -> list[Path]:
    """Trains an experiment with several seeds, each in a run folder `out/seed-N`, and returns the folders.

    Folders that exist already are resumed, if they are of this experiment.
    """
    listener: JobReport | None = None
    if report is not None:
        listener = lambda job, iteration, metrics: report(job.experiment.seed, iteration, metrics)  # noqa: E731
    chosen = make_executor(executor, len(seeds))
    runs = train_population(Seeds(seeds), experiment, chosen, out, options, command, listener)
    return [run.folder for run in runs.values()]
