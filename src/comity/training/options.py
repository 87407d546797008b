"""How a run is carried out: none of it changes the numbers of an iteration."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comity.core.errors import bad_value, require
from comity.core.settings import build
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.hooks.registry import make_hook
from comity.training.hooks.time_limit import TimeLimit
from comity.training.hooks.trackers import check_wandb
from comity.training.named import named_spec
from comity.training.sharding import check_devices


@dataclass(frozen=True)
class Options:
    """How a run is carried out."""

    checkpoint_seconds: float = 20.0  # time between two checkpoints
    keep: int = 3  # how many checkpoints are kept
    tensorboard: bool = True  # whether to write TensorBoard event files
    wandb: str | None = None  # project on Weights & Biases (needs comity[wandb])
    hooks: tuple[str, ...] = ()  # further hooks: NAME or MODULE:CLASS, as in early-stop,target=-1.1
    devices: int = 1  # devices that share the games of a run, and with it the learning
    minutes: float | None = None  # stop after this time, with all saved; by default at the end

    @classmethod
    def of(cls, folder: RunFolder) -> "Options":
        """The options with which a run was carried out last, but for the time that it was given then."""
        known = folder.metadata().get("options", {})
        options = cls.from_data(known, f"{folder.path / 'run.json'}: options")
        return dataclasses.replace(options, minutes=None)

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

    def check(self, experiment: Experiment | None = None) -> None:
        """Refuses what cannot be carried out, before a run folder exists or is touched."""
        require(self.keep >= 1, "keep", self.keep, "at least 1")
        seconds = self.checkpoint_seconds
        require(seconds >= 0, "checkpoint_seconds", seconds, "at least 0")
        require(self.devices >= 1, "devices", self.devices, "at least 1")
        check_wandb(self.wandb)
        if self.minutes is not None:
            TimeLimit(self.minutes)
        hooks = [make_hook(spec) for spec in self.hooks]
        if experiment is not None:
            check_devices(experiment, self.devices)
            for hook in hooks:
                hook.check(experiment, hooks)


def hook_specs(
    evaluate: Mapping[str, Any] | None, target: float | None, target_metric: str = "reward"
) -> tuple[str, ...]:
    """The hooks that stand behind evaluations and a target, as texts."""
    specs = () if evaluate is None else (named_spec("evaluation", dict(evaluate)),)
    if target is None:
        return specs
    require(math.isfinite(target), "target", target, "a finite number")
    return (*specs, named_spec("early-stop", {"metric": target_metric, "target": target}))
