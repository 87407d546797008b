"""One run: created in a folder of its own, trained in this process."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import jax

from comity.training import loop
from comity.training.executors.in_process import InProcess
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.hooks.base import Hook, Report
from comity.training.jobs import Job
from comity.training.machine import commit, machine
from comity.training.options import Options
from comity.training.run import Run


def create(experiment: Experiment, out: Path, command: str | None = None) -> RunFolder:
    """A new run folder with its experiment.

    One iteration is traced first, so that whatever an agent refuses is refused before anything exists.
    """
    jax.eval_shape(lambda: loop.iterate(experiment, loop.start(experiment)))
    return RunFolder.create(out, experiment, {"versions": versions(), "command": command})


def open_or_create(experiment: Experiment, out: Path, command: str | None = None) -> RunFolder:
    """The run folder of this very experiment, to go on with it; a new one if there is none."""
    if RunFolder.is_free(out):
        return create(experiment, out, command)
    folder = RunFolder.open(out)
    folder.require_same(experiment)
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
