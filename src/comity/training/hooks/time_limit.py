"""Ends a run after some time, to be resumed."""

from dataclasses import dataclass, field

from comity.core.errors import require
from comity.training.hooks.base import ActiveRun, Hook, Stop


@dataclass
class TimeLimit(Hook):
    """Stops a run when this part of it has lasted so long, compilation included; it can be resumed."""

    minutes: float = 60.0  # how long
    _began: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        require(0 < self.minutes < float("inf"), "minutes", self.minutes, "above 0 and finite")

    def before(self, run: ActiveRun) -> Stop | None:
        self._began = run.now
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        if run.now - self._began < 60 * self.minutes:
            return None
        return Stop(f"{self.minutes:g} minutes are over", complete=False)
