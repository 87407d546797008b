"""Ends a run early by a rule over its logged metrics."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from comity.core.errors import ComityError, require, unknown_name
from comity.training.experiment import Experiment
from comity.training.hooks.base import ActiveRun, Hook, Stop


@dataclass
class EarlyStop(Hook):
    """Stops when a metric has reached a target, or has not improved for some time.

    Rows in which the metric was not measured do not count. The rule reads logged values only: what
    metrics.jsonl has is read again when a run is resumed, so that it ends at the same iteration whether or
    not it was killed in between.
    """

    metric: str = "reward"  # the metric that is looked at, as metrics.jsonl names it
    target: float | None = None  # stop when the metric is at least (with minimise: at most) this
    patience: int | None = None  # stop after this many logged values without an improvement
    min_delta: float = 0.0  # what counts as an improvement
    window: int = 1  # the metric is averaged over this many logged values
    minimise: bool = False  # whether smaller is better
    _recent: deque[float] = field(default_factory=deque, init=False, repr=False)
    _best: float = field(default=-float("inf"), init=False, repr=False)
    _waited: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.target is None and self.patience is None:
            raise ComityError("early-stop needs a target or a patience, as in early-stop,target=0.5.")
        require(self.window >= 1, "early-stop.window", self.window, "at least 1")
        patience = 1 if self.patience is None else self.patience
        require(patience >= 1, "early-stop.patience", self.patience, "at least 1")
        require(self.min_delta >= 0, "early-stop.min_delta", self.min_delta, "at least 0")

    def check(self, experiment: Experiment, hooks: Sequence[Hook]) -> None:
        if self.metric.startswith("evaluation") and not any(hook.measures for hook in hooks):
            raise ComityError(
                f"early-stop waits for {self.metric}, and nothing is evaluated: add --evaluate-every."
            )

    def before(self, run: ActiveRun) -> Stop | None:
        self._recent, self._best, self._waited = deque(maxlen=self.window), -float("inf"), 0
        rows = run.folder.metrics() if run.folder is not None else []
        stops = [self._look(row) for row in rows if row["iteration"] <= run.iteration]
        return next((stop for stop in stops if stop is not None), None)

    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        evaluated = any(name.startswith("evaluation") for name in metrics)
        may_come_later = self.metric.startswith("evaluation") and not evaluated
        if self.metric not in metrics and self.metric not in run.chunk and not may_come_later:
            raise unknown_name("metric of this run", self.metric, metrics)
        return self._look(metrics)

    def _look(self, metrics: dict[str, float]) -> Stop | None:
        if (
            self.metric not in metrics
        ):  # not measured in these iterations, as evaluations are from time to time
            return None
        self._recent.append(metrics[self.metric])
        if len(self._recent) < self.window:
            return None
        mean = sum(self._recent) / self.window
        score = -mean if self.minimise else mean
        if self.target is not None and score >= (-self.target if self.minimise else self.target):
            return Stop(f"{self.metric} reached {mean:.6g} (target {self.target:.6g})", complete=True)
        if score > self._best + self.min_delta:
            self._best, self._waited = score, 0
        else:
            self._waited += 1
        if self.patience is not None and self._waited >= self.patience:
            return Stop(f"{self.metric} did not improve in {self.patience} logged values", complete=True)
        return None
