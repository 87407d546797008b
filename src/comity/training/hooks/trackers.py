"""Where metrics go: a JSON-lines file, TensorBoard, and Weights & Biases where it is asked for."""

import importlib.util
import json
from dataclasses import dataclass, field
from typing import IO, Any

from comity.core.errors import ComityError
from comity.training.hooks.base import ActiveRun, Ending, Hook, Stop


@dataclass
class JsonLines(Hook):
    """One JSON object per chunk in metrics.jsonl, and one in timing.jsonl, flushed at once.

    What was logged after the iteration from which a run goes on is dropped. Metrics are the same however
    often a run was interrupted; what it took is not, so it has a file of its own.
    """

    _files: list[IO[str]] = field(default_factory=list, init=False, repr=False)

    def before(self, run: ActiveRun) -> Stop | None:
        if run.folder is not None:
            for path in (run.folder.metrics_path, run.folder.timing_path):
                run.folder.rewind(path, run.iteration)
                self._files.append(open(path, "a", encoding="utf-8"))  # noqa: SIM115 - see `after`
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        for file, row in zip(self._files, (metrics, run.timing), strict=False):
            file.write(json.dumps({"iteration": iteration, **row}) + "\n")
            file.flush()
        return None

    def after(self, run: ActiveRun, ending: Ending) -> None:
        for file in self._files:
            file.close()


@dataclass
class TensorBoard(Hook):
    """Event files for TensorBoard."""

    _writer: Any = field(default=None, init=False, repr=False)

    def before(self, run: ActiveRun) -> Stop | None:
        from tensorboardX import SummaryWriter  # slow to import, so only here

        if run.folder is not None:
            purge = run.iteration + 1 if run.iteration else None
            self._writer = SummaryWriter(str(run.folder.path / "tensorboard"), purge_step=purge)
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        if self._writer is not None:
            for name, value in {**metrics, **_timing(run)}.items():
                self._writer.add_scalar(name, value, iteration)
        return None

    def after(self, run: ActiveRun, ending: Ending) -> None:
        if self._writer is not None:
            self._writer.close()


@dataclass
class WeightsAndBiases(Hook):
    """A run on Weights & Biases; the run's name is the folder's."""

    project: str = "comity"  # project on Weights & Biases
    _run: Any = field(default=None, init=False, repr=False)

    def before(self, run: ActiveRun) -> Stop | None:
        check_wandb(self.project)
        import wandb

        if run.folder is not None:
            path, config = run.folder.path, run.experiment.to_data()
            self._run = wandb.init(
                project=self.project,
                name=path.name,
                dir=str(path),
                config=config,
                resume="allow",
                reinit="create_new",  # runs that train in one program have one each
            )
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        if self._run is not None:
            self._run.log({**metrics, **_timing(run)}, step=iteration)
        return None

    def after(self, run: ActiveRun, ending: Ending) -> None:
        if self._run is not None:
            self._run.finish()


def check_wandb(project: str | None) -> None:
    """Raises if a project on Weights & Biases is asked for and the package is not there."""
    if project is not None and importlib.util.find_spec("wandb") is None:
        raise ComityError("Weights & Biases is not installed: pip install 'comity[wandb]'.")


def _timing(run: ActiveRun) -> dict[str, float]:
    return {f"timing/{name}": value for name, value in run.timing.items()}
