"""How a run is carried out: none of it changes the numbers of an iteration."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from comity.core.errors import bad_value, require
from comity.core.settings import build
from comity.training.folder import RunFolder
from comity.training.hooks.registry import make_hook
from comity.training.hooks.trackers import check_wandb


@dataclass(frozen=True)
class Options:
    """How a run is carried out."""

    checkpoint_seconds: float = 20.0  # time between two checkpoints
    keep: int = 3  # how many checkpoints are kept
    tensorboard: bool = True  # whether to write TensorBoard event files
    wandb: str | None = None  # project on Weights & Biases (needs comity[wandb])
    hooks: tuple[str, ...] = ()  # further hooks: NAME or MODULE:CLASS, as in early-stop,target=-1.1

    @classmethod
    def of(cls, folder: RunFolder) -> "Options":
        """The options with which a run was carried out last."""
        return cls.from_data(folder.metadata().get("options", {}), f"{folder.path / 'run.json'}: options")

    @classmethod
    def from_data(cls, data: Any, where: str) -> "Options":
        """The options that JSON data stand for."""
        if not isinstance(data, dict):
            raise bad_value(where, data, "an object")
        options: Options = build(cls, data, where, lambda kind, inner, path, default: inner)
        return options

    def to_data(self) -> dict[str, Any]:
        """The options as JSON data."""
        return dataclasses.asdict(self)

    def check(self) -> None:
        """Refuses what cannot be carried out, before a run folder exists or is touched."""
        require(self.keep >= 1, "keep", self.keep, "at least 1")
        seconds = self.checkpoint_seconds
        require(seconds >= 0, "checkpoint_seconds", seconds, "at least 0")
        check_wandb(self.wandb)
        for spec in self.hooks:
            make_hook(spec)
