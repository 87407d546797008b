"""Stops a run when the user asks for it."""

from comity.training.hooks.base import ActiveRun, Hook, Stop
from comity.training.stopping import StopRequest


class Interrupt(Hook):
    """Stops after the chunk in which Ctrl-C or SIGTERM came; the run can be resumed."""

    def __init__(self, request: StopRequest) -> None:
        self._request = request

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        asked = self._request.stopped_by(run.now)
        return Stop("the user asked to stop", complete=False) if asked else None
