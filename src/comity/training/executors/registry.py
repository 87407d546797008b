"""The table of executors."""

import jax

from comity.core.errors import ComityError
from comity.core.registry import Registry, Row
from comity.training.executors.base import Executor
from comity.training.named import make_named, name_in

_HERE = "comity.training.executors"

EXECUTORS = Registry(
    "executor",
    {
        "in-process": Row(f"{_HERE}.in_process:InProcess", "one run after another, in this process"),
        "processes": Row(f"{_HERE}.processes:Processes", "one process per run, as many as there are cores"),
        "ray": Row(f"{_HERE}.ray:Ray", "on a Ray cluster, or one of its own here, one process per run"),
        "vectorised": Row(f"{_HERE}.vectorised:Vectorised", "all runs in one vectorised program"),
    },
    group="comity.executors",
)


def make_executor(spec: str, count: int = 1) -> Executor:
    """The executor of a name, with settings as in `ray,cores=2`; `auto` chooses for a number of runs.

    One run trains in this process; several in processes on a CPU, and in one program on an accelerator.
    """
    if spec == "auto":
        several = "processes" if jax.default_backend() == "cpu" else "vectorised"
        spec = several if count > 1 else "in-process"
    executor: Executor = make_named(spec, EXECUTORS, Executor)
    return executor


def with_address(spec: str, address: str | None) -> str:
    """An executor's name with the address of a cluster, if one was given."""
    if address is None:
        return spec
    if name_in(spec) != "ray":
        raise ComityError(f"address = {address!r} is that of a Ray cluster: give it with --executor ray.")
    return f"{spec},address={address}"
