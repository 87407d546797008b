"""One run: created in a folder of its own, trained in this process."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import jax

from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.training.executors.in_process import InProcess
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import Hook, Report
from comity.training.jobs import Job
from comity.training.machine import commit, machine
from comity.training.memory_estimate import estimate_memory
from comity.training.options import Options
from comity.training.run import Run
from comity.training.warm_start import start_name, start_policies


def create(
    experiment: Experiment,
    out: Path,
    command: str | None = None,
    start_from: str | Path | Player | None = None,
) -> RunFolder:
    """A new run folder with its experiment, whose learners begin as the player `start_from`, if it is given.

    Training is traced first, so that whatever an agent refuses, and what does not fit in the memory, is
    refused before anything exists.
    """
    memory = estimate_memory(experiment)  # traces training
    memory.check(experiment)
    about = {"versions": versions(), "command": command, "memory": memory.to_data()}
    if start_from is None:
        return RunFolder.create(out, experiment, about)
    policies = start_policies(experiment, start_from)
    return RunFolder.create(out, experiment, {**about, "from": start_name(start_from)}, policies)


def open_or_create(
    experiment: Experiment,
    out: Path,
    command: str | None = None,
    start_from: str | Path | Player | None = None,
) -> RunFolder:
    """The run folder of this very experiment, to go on with it; a new one if there is none."""
    if RunFolder.is_free(out):
        return create(experiment, out, command, start_from)
    folder = RunFolder.open(out)
    folder.require_same(experiment)
    before = folder.metadata().get("from")
    if start_from is not None and start_name(start_from) != before:
        raise ComityError(
            f"{out} cannot be resumed from another start: it began from {before or 'nothing'}. Leave --from "
            f"out, or choose another --out."
        )
    return folder


def run(folder: RunFolder, options: Options, report: Report | None = None, hooks: Sequence[Hook] = ()) -> Run:
    """Trains from the newest sound checkpoint, or from the start, to the end.

    Raises `Stopped` if the user interrupts it, when all is saved.
    """
    job = Job(folder.experiment(), folder, options, tuple(hooks))
    listener = None if report is None else lambda job, iteration, metrics: report(iteration, metrics)
    (done,) = InProcess().run([job], listener)
    return done


def versions() -> dict[str, str]:
    """The versions that a run depends on, the commit of a checkout, and the machine."""
    packages = ("comity", "jax", "jaxlib", "equinox", "optax", "numpy")
    device = jax.devices()[0]
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "device": f"{device.platform} ({device.device_kind})",
        "commit": commit() or "not a checkout",
        "machine": machine(),
    }
