"""All that studies ask of training: several seeds, and a run that is measured until it is good enough."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.core.agent import Player
from comity.core.game import Environment, PerSeat
from comity.play.loading import player_for, zoo_player
from comity.play.zoo import FOLDER, PREFIX, zoo_recipe
from comity.studies.progress import Progress
from comity.training import loop
from comity.training.experiment import Experiment as Experiment
from comity.training.experiment import make_experiment as make_experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import ActiveRun, Hook, Stop
from comity.training.options import Options
from comity.training.populations.seeds import train_seeds
from comity.training.runner import create
from comity.training.runner import run as run_folder
from comity.training.runner import versions as versions

Row = dict[str, float]


@dataclass(frozen=True)
class Trained:
    """A trained seed: where its run is."""

    folder: Path

    def player(self, seat: int = 0) -> Player:
        """Who plays a seat."""
        return player_for(RunFolder.open(self.folder).player_files(), seat, self.folder)

    def players(self, game: Environment) -> PerSeat[Player]:
        """Who plays each seat of a game."""
        return tuple(self.player(seat) for seat in range(len(game.seats)))

    def metrics(self) -> list[dict[str, Any]]:
        """What was logged."""
        return RunFolder(self.folder).metrics()

    def metadata(self) -> dict[str, Any]:
        """What the run cost, and what else run.json says."""
        return RunFolder(self.folder).metadata()


def recipe(game: str, agent: str, /, **changes: Any) -> Experiment:
    """The experiment that the zoo's players of an agent in a game come from; `changes` are JSON data."""
    return dataclasses.replace(Experiment.from_data({**zoo_recipe(game, agent), **changes}), seed=0)


def train(
    experiment: Experiment,
    seeds: Sequence[int],
    place: Path,
    command: str,
    progress: Progress,
    label: str = "",
    executor: str = "auto",
) -> list[Trained]:
    """Trains seeds in `place/seed-N`; runs that were stopped go on where they were."""
    names = {seed: f"{label}, seed {seed}" if label else f"seed {seed}" for seed in seeds}
    with progress(names, experiment.iterations) as bars:
        start = dataclasses.replace(experiment, seed=0)
        folders = train_seeds(start, tuple(seeds), place, Options(), executor, command, bars.update)
    return [Trained(folder) for folder in folders]


class MeasureUntil(Hook):
    """Measures the players after every chunk; stops when a measurement is enough, or the time is over.

    The measurements are in the run's metadata, and go on from there when the run is resumed.
    """

    def __init__(
        self,
        measure: Callable[[PerSeat[Player]], Row],
        enough: Callable[[Row], bool],
        seconds: float,
    ) -> None:
        self.history: list[Row] = []
        self._measure, self._enough, self._seconds = measure, enough, seconds
        self._spent = 0.0  # CPU-seconds of training, measuring aside

    def before(self, run: ActiveRun) -> Stop | None:
        noted = run.folder.metadata().get("history", []) if run.folder is not None else []
        self.history = [row for row in noted if row["iteration"] <= run.iteration]
        self._spent = self.history[-1]["seconds"] if self.history else 0.0
        return self._stop()

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        self._spent += run.cpu_seconds
        steps = iteration * run.experiment.batch * run.experiment.unroll
        found = self._measure(loop.players(run.experiment, run.state))
        self.history.append(
            {"iteration": iteration, "steps": steps, "seconds": round(self._spent, 2), **found}
        )
        if run.folder is not None:
            run.folder.add_metadata(history=self.history)
        return self._stop()

    def _stop(self) -> Stop | None:
        if self.history and self._enough(self.history[-1]):
            return Stop("what was measured is enough", complete=True)
        if self._spent >= self._seconds:
            return Stop(f"{self._seconds:g} CPU-seconds are over", complete=True)
        return None


def train_until(
    experiment: Experiment,
    place: Path,
    command: str,
    measure: Callable[[PerSeat[Player]], Row],
    enough: Callable[[Row], bool],
    every: int,
    seconds: float,
    progress: Progress,
    label: str,
) -> list[Row]:
    """Trains one run, measuring the players after each `every` iterations, until a measurement is enough.

    It also ends after `seconds` of processor time, measuring aside, or with the experiment's iterations,
    and goes on where it was stopped. Gives all measurements with `iteration`, `steps` and `seconds`.
    """
    chunked = dataclasses.replace(experiment, chunk=every)
    folder = create(chunked, place, command) if RunFolder.is_free(place) else RunFolder.open(place)
    until = MeasureUntil(measure, enough, seconds)
    with progress({0: label}, experiment.iterations) as bars:
        run_folder(
            folder,
            Options(checkpoint_seconds=0.0, keep=1, tensorboard=False),
            lambda iteration, metrics: bars.update(0, iteration, {"reward": metrics["reward"]}),
            [until],
        )
    return until.history


def player_of(source: str, out: Path) -> Player:
    """A player by what results call it: a name of the zoo, or a run folder within the study's."""
    return zoo_player(source) if source.startswith(PREFIX) else Trained(out / source).player()


def zoo_curves(game: str, agent: str) -> list[Any]:
    """What was logged when the zoo's players of an agent were trained, one list for each seed."""
    path = FOLDER / game / agent / "curves.json"
    curves: list[Any] = json.loads(path.read_text(encoding="utf-8"))
    return curves


def curves_of(sources: Sequence[str], out: Path) -> list[Any]:
    """The learning curves of players by what results call them, empty ones left out."""
    if sources[0].startswith(PREFIX):
        game, agent, _ = sources[0].removeprefix(PREFIX).split("/")
        curves = zoo_curves(game, agent)
    else:
        curves = [Trained(out / source).metrics() for source in sources]
    return [curve for curve in curves if curve]
