"""The protocol of hooks, and what they see: a run while it trains, and how it may end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.loop import RunState

Report = Callable[[int, dict[str, float]], None]  # iterations done, mean metrics of the chunk


class Stop(NamedTuple):
    """A hook's wish to end the run here."""

    reason: str
    complete: bool  # True: the run has reached its end; False: it was interrupted and can be resumed


class Ending(NamedTuple):
    """How a run ended.

    `finished`: to the end, or to a complete stop. `stopped`: interrupted, to be resumed. `failed`: by an
    error that the user can mend. `aborted`: by anything else; nothing is written then.
    """

    status: Literal["finished", "stopped", "failed", "aborted"]
    reason: str
    error: BaseException | None = None


class ActiveRun:
    """A run while it trains.

    `state` is valid until the next chunk, which takes over its buffers: who needs it longer copies it.
    """

    def __init__(
        self, experiment: Experiment, hooks: Sequence["Hook"], folder: RunFolder | None = None
    ) -> None:
        self.experiment = experiment
        self.hooks = tuple(hooks)
        self.folder = folder
        self.iteration = 0  # iterations done
        self.chunk: dict[str, np.ndarray] = {}  # metrics of the last chunk, leaves [count]
        self.now = (
            0.0  # seconds of a monotonic clock after the last chunk, the same for all runs in a program
        )
        self.cpu_seconds = 0.0  # CPU time of the last chunk, this run's share of it
        self.companions = 1  # how many runs one program advances, this one included
        self.lineups = 1  # how many rollouts are played in one iteration
        self.timing: dict[str, float] = {}  # of the last chunk: a row of timing.jsonl
        self.ending: Ending | None = None
        self.read_state: Callable[[], RunState] | None = None

    @property
    def steps(self) -> int:
        """How many steps were played so far, over all games side by side."""
        return self.iteration * self.lineups * self.experiment.batch * self.experiment.unroll

    @property
    def state(self) -> RunState:
        """The state of the run after the last chunk."""
        assert self.read_state is not None, "the run has not begun"
        return self.read_state()


class Hook(ABC):
    """Something that is done between chunks. Each run has hooks of its own.

    Hooks are called in their order, and `after` in the opposite order, so that what was opened first is
    closed last. A `ComityError` in any of these ends the run as failed. One that `measures` adds to the
    metrics and is called before those that write them.
    """

    measures: ClassVar[bool] = False

    def check(self, experiment: Experiment, hooks: Sequence["Hook"]) -> None:
        """Raises if the hook cannot serve this experiment, among these hooks, before anything is made."""
        return None

    def before(self, run: ActiveRun) -> Stop | None:
        """Called once before the first chunk; a run that was resumed may already be at its end."""
        return None

    @abstractmethod
    def after_chunk(self, run: ActiveRun, iteration: int, metrics: dict[str, float]) -> Stop | None:
        """Called after each chunk, with the iterations done and the chunk's mean metrics.

        What a hook adds to the metrics is seen by those that come after it.
        """

    def after(self, run: ActiveRun, ending: Ending) -> None:
        """Called once at the end, however the run ended, if `before` was."""
        return None
