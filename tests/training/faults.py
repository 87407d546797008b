"""A hook that breaks things: what happens where and when is a file in a folder of plans, taken once."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from comity.training.hooks.base import ActiveRun, Hook, Stop


@dataclass
class Fault(Hook):
    """Does what a file `SEED-ITERATION-KIND` in the folder says, once."""

    measures = True
    plans: str = ""

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        for plan in Path(self.plans).glob(f"{run.experiment.seed}-{iteration}-*"):
            plan.rename(plan.with_name(f"done-{plan.name}"))  # of two that take it, one fails
            self._do(plan.name.split("-")[2], metrics)
        return None

    def _do(self, kind: str, metrics: dict[str, float]) -> None:
        if kind == "process":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "worker":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)
        elif kind == "hang":
            time.sleep(1000)
        elif kind == "nan":
            metrics["reward"] = float("nan")
