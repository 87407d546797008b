"""The table of executors."""

import jax

from comity.core.errors import ComityError
from comity.core.registry import Registry, Row
from comity.training.executors.base import Executor

_HERE = "comity.training.executors"

EXECUTORS = Registry(
    "executor",
    {
        "in-process": Row(f"{_HERE}.in_process:InProcess", "one run after another, in this process"),
        "processes": Row(f"{_HERE}.processes:Processes", "one process per run, as many as there are cores"),
        "vectorised": Row(f"{_HERE}.vectorised:Vectorised", "all runs in one vectorised program"),
    },
    group="comity.executors",
)


def make_executor(name: str, count: int = 1) -> Executor:
    """The executor of a name; `auto` chooses for a number of runs.

    One run trains in this process; several in processes on a CPU, and in one program on an accelerator.
    """
    if name == "auto":
        several = "processes" if jax.default_backend() == "cpu" else "vectorised"
        name = several if count > 1 else "in-process"
    executor = EXECUTORS.load(name)()
    if not isinstance(executor, Executor):
        raise ComityError(f"The executor {name} does not inherit from {Executor.__module__}.Executor.")
    return executor
