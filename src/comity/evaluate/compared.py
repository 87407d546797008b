"""The result of a comparison: which kinds of runs reached what, as data for pages and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from comity.core.errors import ComityError, unknown_name
from comity.evaluate.comparison import Score, default_metric, final_score, improvements, ranked, scores
from comity.evaluate.curves import Metrics
from comity.evaluate.groups import Config, differences, game_name, group_runs
from comity.evaluate.league import League

KIND = "comity-comparison"
VERSION = 1


@dataclass(frozen=True)
class Compared:
    """Kinds of runs of one game. Entry k of `runs` is the folder, the settings and the rows of a run."""

    game: str
    metric: str
    minimise: bool
    groups: Mapping[str, list[int]]  # the runs of each kind
    folders: Sequence[str]
    configs: Sequence[Config]
    rows: Sequence[Metrics]
    scores: Sequence[Score]  # of each kind, in the order of the groups
    league: League | None = None
    notes: tuple[str, ...] = ()  # what could not be shown, and why

    @property
    def by_kind(self) -> dict[str, list[Metrics]]:
        """What the runs of each kind logged."""
        return {name: [self.rows[i] for i in runs] for name, runs in self.groups.items()}

    @property
    def differences(self) -> dict[str, list[Any]]:
        """The settings in which kinds differ, with the value of each kind."""
        return differences([self.configs[runs[0]] for runs in self.groups.values()])

    def to_data(self) -> dict[str, Any]:
        """The comparison as JSON data."""
        better = np.where(np.isnan(table := improvements(self.scores, self.minimise)), 0.5, table)
        return {
            "kind": KIND,
            "version": VERSION,
            "game": self.game,
            "metric": self.metric,
            "minimise": self.minimise,
            "best": ranked(self.scores, self.minimise)[0].name,
            "groups": [self._group(score) for score in self.scores],
            "probability_of_improvement": better.tolist(),
            "differences": self.differences,
            "league": None if self.league is None else self.league.to_data(),
            "notes": list(self.notes),
        }

    def _group(self, score: Score) -> dict[str, Any]:
        runs = self.groups[score.name]
        return {
            "name": score.name,
            "mean": score.mean._asdict(),
            "interquartile_mean": score.iqm._asdict(),
            "runs": [
                {
                    "folder": self.folders[i],
                    "seed": self.configs[i].get("seed"),
                    "score": value,
                    **{name: self.rows[i][-1].get(name) for name in ("iteration", "steps", "seconds")},
                }
                for i, value in zip(runs, score.runs, strict=True)
            ],
        }


def compare_runs(
    names: Sequence[str],
    folders: Sequence[str],
    configs: Sequence[Config],
    rows: Sequence[Metrics],
    metric: str | None = None,
    minimise: bool = False,
) -> Compared:
    """Groups runs by what differs besides the seed, and scores each kind by a metric."""
    games = list(dict.fromkeys(game_name(config) for config in configs))
    if len(games) > 1:
        raise ComityError(
            f"These runs are of different games ({', '.join(games)}): compare those of one game."
        )
    for folder, run in zip(folders, rows, strict=True):
        if not run:
            raise ComityError(f"{folder} has not logged anything yet: train it before it is compared.")
    chosen = default_metric(rows) if metric is None else metric
    groups = group_runs(names, configs)
    finals = [final_score(run, chosen) for run in rows]
    for folder, run, final in zip(folders, rows, finals, strict=True):
        if final is None:
            known = {name for row in run for name in row} - {"iteration"}
            raise ComityError(f"{folder}: {unknown_name('metric', chosen, known)}")
    known_finals = [final for final in finals if final is not None]
    by_kind = {name: [known_finals[i] for i in runs] for name, runs in groups.items()}
    return Compared(games[0], chosen, minimise, groups, folders, configs, rows, scores(by_kind))
