"""Ends a run that is no longer finite."""

from pathlib import Path

import numpy as np

from comity.core.errors import ComityError
from comity.training.hooks.base import ActiveRun, Hook, Stop
from comity.training.metrics import FINITE, was_skipped


class FiniteCheck(Hook):
    """Fails when a metric or a parameter became infinite or not a number.

    Such a run cannot recover, so it ends with its last good checkpoint untouched. This hook comes before
    those that write.
    """

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        saved = run.folder.checkpoints() if run.folder is not None else []
        check_finite(run.chunk, iteration, saved[-1] if saved else None)
        return None


def check_finite(chunk: dict[str, np.ndarray], iteration: int, checkpoint: Path | None = None) -> None:
    """Raises if any metric of a chunk that ended at `iteration` is not finite, or parameters are not."""
    for name, values in chunk.items():
        bad = values < 1 if name == FINITE else ~np.isfinite(values) & ~was_skipped(chunk, name)
        if bad.any():
            first = iteration - len(values) + int(np.argmax(bad)) + 1
            what = "the parameters are" if name == FINITE else f"the metric {name!r} is"
            kept = f"The last good checkpoint is {checkpoint}" if checkpoint else "There is no checkpoint yet"
            raise ComityError(
                f"The run stopped: {what} not finite in iteration {first}. {kept}; "
                f"a smaller learning rate or a smaller max_grad_norm usually helps."
            )
