"""Tells a function how far a run is."""

from comity.training.hooks.base import ActiveRun, Hook, Report, Stop


class Progress(Hook):
    """Calls `report(iteration, metrics)` after each chunk."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        self._report(iteration, metrics)
        return None
