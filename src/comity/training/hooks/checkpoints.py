"""Writes checkpoints, and the players at the end."""

from dataclasses import dataclass, field

from comity.training.hooks.base import ActiveRun, Ending, Hook, Stop


@dataclass
class Checkpoints(Hook):
    """The whole state of the run, from time to time and at its end; the players at its end."""

    seconds: float = 20.0  # time between two checkpoints
    keep: int = 3  # how many checkpoints are kept
    _saved: int = field(default=0, init=False)  # iteration of the newest checkpoint
    _saved_at: float = field(default=0.0, init=False)

    def before(self, run: ActiveRun) -> Stop | None:
        self._saved, self._saved_at = run.iteration, run.now
        return None

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        if run.now - self._saved_at >= self.seconds:
            self._save(run)
        return None

    def after(self, run: ActiveRun, ending: Ending) -> None:
        if run.folder is None or ending.status not in ("finished", "stopped"):
            return
        if run.iteration != self._saved:
            self._save(run)
        run.folder.save_players(run.experiment, run.state)

    def _save(self, run: ActiveRun) -> None:
        if run.folder is not None:
            run.folder.save(run.experiment, run.state, self.keep)
            self._saved, self._saved_at = run.iteration, run.now
