"""A run that has ended: its folder, its experiment, its players and what was logged."""

from pathlib import Path
from typing import Any

from comity.core.agent import Player
from comity.core.display import brief, curve, html_table
from comity.core.errors import ComityError
from comity.core.game import PerSeat
from comity.core.rows import Rows
from comity.training import loop
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.loop import RunState


class Run:
    """A run that has ended. Without a folder it has players and no metrics.

    Players are read from the run's newest checkpoint if they were trained in another process.
    """

    def __init__(
        self, experiment: Experiment, folder: RunFolder | None, state: RunState | None = None
    ) -> None:
        self.experiment = experiment
        self._folder = folder
        self._players = None if state is None else loop.players(experiment, state)

    @property
    def folder(self) -> Path:
        """The path of the run folder."""
        if self._folder is None:
            raise ComityError("This run was trained without a folder.")
        return self._folder.path

    @property
    def players(self) -> PerSeat[Player]:
        """The trained players, one per seat."""
        if self._players is None:
            state, complaints = self._folder.restore(self.experiment) if self._folder else (None, [])
            if state is None:
                raise ComityError(f"This run has no checkpoint to read players from. {' '.join(complaints)}")
            self._players = loop.players(self.experiment, state)
        return self._players

    @property
    def metrics(self) -> Rows:
        """What was logged and what it took, one row per chunk (see `docs/training.md`).

        `metrics[-1]` is a row, `metrics["reward"]` a column.
        """
        return Rows([] if self._folder is None else self._folder.log())

    def table(self) -> Any:
        """What was logged as a pandas data frame."""
        return self.metrics.table()

    def __repr__(self) -> str:
        agents = ", ".join(type(agent).__name__ for agent in self.experiment.agents)
        return f"<Run of {agents} in {type(self.experiment.game).__name__}{self._ending()}>"

    def _ending(self) -> str:
        where = "" if self._folder is None else f", {self.folder}"
        last = self.metrics[-1:]
        if not last:
            return where
        return f": reward {brief(last[0].get('reward'))} after {last[0]['iteration']:,} iterations{where}"

    def _repr_html_(self) -> str:
        rows = self.metrics
        last = [(name, brief(value)) for row in rows[-1:] for name, value in row.items()]
        line = curve(rows["reward"]) if rows and "reward" in rows[-1] else ""
        return f"<div>{line}{html_table((), last, repr(self).strip('<>'))}</div>"
