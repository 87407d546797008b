"""Where metrics go: a JSON-lines file, TensorBoard, and Weights & Biases where it is asked for."""

import importlib.util
import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from comity.core.errors import ComityError


class Tracker(ABC):
    """Takes the metrics of an iteration."""

    @abstractmethod
    def log(self, iteration: int, metrics: dict[str, float]) -> None:
        """Keeps the metrics."""

    @abstractmethod
    def close(self) -> None:
        """Writes whatever is left to write."""


class JsonLines(Tracker):
    """One JSON object per line, flushed at once."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close()

    def log(self, iteration: int, metrics: dict[str, float]) -> None:
        self._file.write(json.dumps({"iteration": iteration, **metrics}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class TensorBoard(Tracker):
    """Event files for TensorBoard."""

    def __init__(self, path: Path, iteration: int) -> None:
        from tensorboardX import SummaryWriter  # slow to import, so only here

        self._writer: Any = SummaryWriter(str(path), purge_step=iteration + 1 if iteration else None)

    def log(self, iteration: int, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, iteration)

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases(Tracker):
    """A run on Weights & Biases; the run's name is the folder's."""

    def __init__(self, path: Path, project: str, config: dict[str, Any]) -> None:
        check_wandb(project)
        import wandb

        self._run: Any = wandb.init(
            project=project, name=path.name, dir=str(path), config=config, resume="allow"
        )

    def log(self, iteration: int, metrics: dict[str, float]) -> None:
        self._run.log(metrics, step=iteration)

    def close(self) -> None:
        self._run.finish()


def check_wandb(project: str | None) -> None:
    """Raises if a project on Weights & Biases is asked for and the package is not there."""
    if project is not None and importlib.util.find_spec("wandb") is None:
        raise ComityError("Weights & Biases is not installed: pip install 'comity[wandb]'.")


def open_trackers(
    path: Path, iteration: int, tensorboard: bool, wandb_project: str | None, config: dict[str, Any]
) -> list[Tracker]:
    """All trackers of a run."""
    trackers: list[Tracker] = [JsonLines(path / "metrics.jsonl")]
    if tensorboard:
        trackers.append(TensorBoard(path / "tensorboard", iteration))
    if wandb_project is not None:
        trackers.append(WeightsAndBiases(path, wandb_project, config))
    return trackers
