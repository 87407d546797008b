"""`comity train --resume RUN_FOLDER`: what changes when a run goes on."""

import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from comity.cli.parser import parse_arguments
from comity.cli.train_settings import trust_named
from comity.core.errors import require
from comity.training.executors.registry import make_executor, with_address
from comity.training.folder import RunFolder
from comity.training.options import Options
from comity.training.sharding import make_devices


@dataclass(kw_only=True)
class Where:
    """Where a run goes on."""

    executor: str = "auto"  # where runs train, as for comity train
    address: str | None = None  # of a Ray cluster, with --executor ray


@dataclass
class Resume(Where):
    """Goes on with a run."""

    folder: tyro.conf.Positional[Path]  # the run folder, or a folder of such, as --seeds makes one
    iterations: int | None = None  # train up to this many iterations instead
    schedule_iterations: int | None = None  # plan schedules anew, for this many; by default as planned
    checkpoint_seconds: float | None = None  # time between two checkpoints; by default as before
    keep: int | None = None  # how many checkpoints are kept; by default as before
    tensorboard: bool | None = None  # whether to write TensorBoard event files; by default as before
    wandb: str | None = None  # project on Weights & Biases; by default as before
    hooks: tuple[str, ...] | None = None  # further hooks: NAME or MODULE:CLASS; by default as before
    devices: int | None = None  # devices that share the games of a run; by default as before
    minutes: float | None = None  # stop after this time, with all saved; by default at the end
    json: bool = False  # print one JSON object at the end, and no progress bar


def resume(arguments: list[str]) -> tuple[list[tuple[RunFolder, Options]], Resume]:
    """The run folders, locked and planned anew if asked for, with their options, and what was asked for."""
    settings = parse_arguments(Resume, arguments, "comity train --resume")
    folders = _run_folders(settings.folder)
    names = ("checkpoint_seconds", "keep", "tensorboard", "wandb", "hooks", "devices", "minutes")
    changes: dict[str, Any] = {name: getattr(settings, name) for name in names}
    trust_named((*(settings.hooks or ()), settings.executor))
    given = {name: value for name, value in changes.items() if value is not None}
    options = [dataclasses.replace(Options.of(folder), **given) for folder in folders]
    make_devices(max(own.devices for own in options))  # before JAX begins, which executors look at
    make_executor(with_address(settings.executor, settings.address)).check()
    for folder, own in zip(folders, options, strict=True):
        own.check()
        folder.acquire()
    for folder in folders:
        if settings.iterations is not None or settings.schedule_iterations is not None:
            _plan_anew(folder, settings.iterations, settings.schedule_iterations)
    return list(zip(folders, options, strict=True)), settings


def _run_folders(path: Path) -> list[RunFolder]:
    """The run folder, or all run folders in a folder of runs."""
    if path.is_dir() and not (path / "config.json").is_file():
        inner = sorted(found for found in path.iterdir() if (found / "config.json").is_file())
        if inner:
            return [RunFolder.open(found) for found in inner]
    return [RunFolder.open(path)]


def _plan_anew(folder: RunFolder, iterations: int | None, schedule_iterations: int | None) -> None:
    before = folder.experiment()
    done = max((int(path.stem) for path in folder.checkpoints()), default=0)
    iterations = before.iterations if iterations is None else iterations
    require(iterations >= done, "iterations", iterations, f"at least the {done} already done")
    after = before.with_iterations(iterations, schedule_iterations)
    folder.replan(after)
    if after.schedule_length != before.schedule_length and done:
        warning = (
            f"Schedules were planned for {before.schedule_length} iterations and from iteration {done} on "
            f"follow a plan for {after.schedule_length}."
        )
        print(f"warning: {warning}", file=sys.stderr)
        folder.add_metadata(warnings=[*folder.metadata().get("warnings", []), warning])
    elif after.schedule_length < after.iterations:
        print(
            f"Schedules end at iteration {after.schedule_length}, as planned, and stay where they end; "
            f"--schedule-iterations {after.iterations} would stretch them.",
            file=sys.stderr,
        )
