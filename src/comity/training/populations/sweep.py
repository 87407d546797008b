"""A sweep: an experiment with every combination of some settings, each with several seeds."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError, require
from comity.core.files import read_json, write_json
from comity.core.tunable import tunable_settings
from comity.evaluate.comparison import Score, default_metric, final_score, ranked, scores
from comity.evaluate.curves import Metrics
from comity.training.executors.base import Executor
from comity.training.executors.registry import make_executor
from comity.training.executors.vectorised import Vectorised
from comity.training.experiment import Experiment
from comity.training.folder import RunFolder
from comity.training.jobs import JobReport
from comity.training.options import Options
from comity.training.populations.base import DEFAULT_OPTIONS, Members, Population, train_population
from comity.training.populations.variations import Point, grid, point_name, read_value, varied
from comity.training.records import logged_rows
from comity.training.run import Run

KIND = "comity-sweep"
VERSION = 1
FILE = "sweep.json"


@dataclass(frozen=True)
class Sweep(Population):
    """Every combination of values with every seed: one generation, in folders `weight=0.5/seed-0`.

    On the command line of `comity train`: `--population sweep,name=agent.term.weight,values=0.5+1+2`.
    """

    name: str = ""  # the setting that varies
    values: tuple[float | str, ...] = ()  # its values
    seeds: int = 1  # how many seeds of each
    vary: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # further settings with their values

    @property
    def points(self) -> list[Point]:
        """The grid."""
        own = ((self.name, self.values),) if self.name else ()
        return grid({name: list(values) for name, values in (*own, *self.vary)})

    def members(self, experiment: Experiment) -> Members:
        require(self.seeds >= 1, "seeds", self.seeds, "at least 1")
        first = experiment.seed
        members: dict[str, Experiment] = {}
        for point in self.points:
            changed = varied(experiment, point)
            if (place := point_name(point)) in (name.split("/")[0] for name in members):
                raise ComityError(f"vary: two values would share the folder {place}.")
            for seed in range(first, first + self.seeds):
                members[f"{place}/seed-{seed}"] = dataclasses.replace(changed, seed=seed)
        return members

    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        return {}


@dataclass(frozen=True)
class _Chosen(Population):
    """Members that are known already."""

    chosen: Mapping[str, Experiment]

    def members(self, experiment: Experiment) -> Members:
        return self.chosen

    def evolve(self, results: Mapping[str, Run], key: Key) -> Members:
        return {}


@dataclass(frozen=True)
class SweepResult:
    """What each point of a sweep reached: entry k of `scores` belongs to entry k of `points`.

    `failed` names the runs that ended by an error, with the error; they have no score.
    """

    folder: Path
    config: Mapping[str, Any]  # the experiment that was varied, as plain data
    vary: Mapping[str, list[Any]]
    points: list[Point]
    scores: list[Score]
    rows: Mapping[str, list[Metrics]]  # what the runs of each point logged
    metric: str
    minimise: bool
    failed: Mapping[str, str]
    command: str | None = None

    @property
    def best(self) -> Point:
        """The settings of the best point."""
        return self.points[self.scores.index(ranked(self.scores, self.minimise)[0])]

    def table(self) -> list[dict[str, Any]]:
        """One row for each point: its settings, its folder, its mean with its interval, and all scores."""
        return [
            {**point, "folder": score.name, **score.mean._asdict(), "scores": list(score.runs)}
            for point, score in zip(self.points, self.scores, strict=True)
        ]

    def to_data(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "kind": KIND,
            "version": VERSION,
            "experiment": dict(self.config),
            "vary": {name: list(values) for name, values in self.vary.items()},
            "metric": self.metric,
            "minimise": self.minimise,
            "best": {"folder": point_name(self.best), "settings": self.best},
            "points": [
                {
                    "folder": score.name,
                    "settings": point,
                    "mean": score.mean._asdict(),
                    "interquartile_mean": score.iqm._asdict(),
                    "scores": list(score.runs),
                }
                for point, score in zip(self.points, self.scores, strict=True)
            ],
            "failed": dict(self.failed),
            "command": self.command,
        }


def train_sweep(
    experiment: Experiment,
    vary: Mapping[str, Sequence[Any]],
    out: Path,
    *,
    seeds: int = 1,
    executor: str = "auto",
    options: Options = DEFAULT_OPTIONS,
    metric: str | None = None,
    minimise: bool = False,
    resume: bool = False,
    command: str | None = None,
    report: JobReport | None = None,
) -> SweepResult:
    """Trains what is not finished yet and says what each point reached; writes `sweep.json`.

    A run that fails, as one with too high a learning rate may, does not keep the others from the table.
    """
    sweep = Sweep(seeds=seeds, vary=tuple((name, tuple(values)) for name, values in vary.items()))
    members = dict(sweep.members(experiment))
    chosen = make_executor(executor, max(len(members), 2))
    chosen.check()
    if isinstance(chosen, Vectorised):
        members = _tuned_together(members, vary)
    if out.exists() and not resume and not _all_free(out, members):
        raise ComityError(f"{out} exists already: choose another --out, or go on with it by --resume.")
    waiting = {name: member for name, member in members.items() if not _finished(out / name, member)}
    error = _train(waiting, experiment, chosen, out, options, command, report)
    found = _result(sweep, experiment, vary, out, list(members), metric, minimise, command, error)
    write_json(out / FILE, found.to_data())
    return found


def read_sweep(folder: Path) -> SweepResult:
    """The sweep in a folder, as its file says."""
    data = read_json(folder / FILE, "a sweep")
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ComityError(f"{folder / FILE} is not a sweep: `comity sweep` writes one.")
    try:
        points = [dict(point["settings"]) for point in data["points"]]
        names = [str(point["folder"]) for point in data["points"]]
        found = scores({point["folder"]: [float(x) for x in point["scores"]] for point in data["points"]})
        rows = {name: _rows(folder / name) for name in names}
        return SweepResult(
            folder, data["experiment"], data["vary"], points, found, rows, str(data["metric"]),
            bool(data["minimise"]), dict(data["failed"]), data.get("command"),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise ComityError(f"{folder / FILE} is damaged: comity sweep ... --resume writes it again.") from None


def _train(
    waiting: Mapping[str, Experiment],
    experiment: Experiment,
    executor: Executor,
    out: Path,
    options: Options,
    command: str | None,
    report: JobReport | None,
) -> ComityError | None:
    """Trains runs; what went wrong in some of them is returned, since the others are results."""
    generations: list[Mapping[str, Experiment]] = [waiting]
    if isinstance(executor, Vectorised) and not all(member.tunable for member in waiting.values()):
        places = dict.fromkeys(name.split("/")[0] for name in waiting)
        generations = [
            {name: one for name, one in waiting.items() if name.split("/")[0] == place} for place in places
        ]
    error = None
    for members in generations:
        if not members:
            continue
        try:
            train_population(_Chosen(members), experiment, executor, out, options, command, report)
        except ComityError as failed:
            if not any((out / name).exists() for name in members):
                raise
            error = failed
    return error


def _tuned_together(
    members: Mapping[str, Experiment], vary: Mapping[str, Sequence[Any]]
) -> dict[str, Experiment]:
    """The members with what varies as arrays in their state, so that one program trains all of them.

    They stay as they are if something else varies, or a number turns a part off by being 0.
    """
    names = tuple(name.removeprefix("agent.").replace("-", "_") for name in vary)
    possible = all(name.startswith("agent.") for name in vary) and all(
        set(names) <= set(tunable_settings(agent)) for member in members.values() for agent in member.agents
    )
    if not possible:
        return dict(members)
    return {
        name: dataclasses.replace(member, tunable=tuple(dict.fromkeys((*member.tunable, *names))))
        for name, member in members.items()
    }


def _finished(path: Path, member: Experiment) -> bool:
    """Whether a run of this very experiment has come to its end."""
    if RunFolder.is_free(path):
        return False
    folder = RunFolder.open(path)
    folder.require_same(member)
    return folder.metadata().get("status") == "finished"


def _all_free(out: Path, members: Mapping[str, Experiment]) -> bool:
    known = {name.split("/")[0] for name in members}
    inside = out.is_dir() and all(found.name in known for found in out.iterdir())
    return inside and all(RunFolder.is_free(out / name) for name in members)


def _rows(place: Path) -> list[Metrics]:
    found = sorted(place.glob("seed-*/config.json"), key=lambda config: int(config.parent.name[5:]))
    return [logged_rows(RunFolder.open(config.parent)) for config in found]


def _result(
    sweep: Sweep,
    experiment: Experiment,
    vary: Mapping[str, Sequence[Any]],
    out: Path,
    names: list[str],
    metric: str | None,
    minimise: bool,
    command: str | None,
    error: ComityError | None,
) -> SweepResult:
    folders = {name: RunFolder.open(out / name) for name in names}
    failed = {}
    for name, folder in folders.items():
        about = folder.metadata()
        if about.get("status") != "finished":
            failed[name] = str(about.get("error") or error or "it did not come to its end")
    if len(failed) == len(names):
        raise error or ComityError(f"No run of the sweep came to its end: {next(iter(failed.values()))}")
    rows: dict[str, list[Metrics]] = {}
    for name, folder in folders.items():
        if name not in failed:
            rows.setdefault(name.split("/")[0], []).append(logged_rows(folder))
    chosen = default_metric([run for runs in rows.values() for run in runs]) if metric is None else metric
    finals: dict[str, list[float]] = {}
    for place, runs in rows.items():
        known = [final_score(run, chosen) for run in runs]
        if any(value is None for value in known):
            logged = sorted({name for run in runs for row in run for name in row} - {"iteration"})
            raise ComityError(f"There is no metric named {chosen!r}. There are: {', '.join(logged)}.")
        finals[place] = [value for value in known if value is not None]
    points = [point for point in sweep.points if point_name(point) in finals]
    kept = {name: list(values) for name, values in vary.items()}
    return SweepResult(
        out, experiment.to_data(), kept, points, scores(finals), rows, chosen, minimise, failed, command
    )


def read_values(words: Sequence[str]) -> list[Any]:
    """Values as they are typed on the command line."""
    return [read_value(word) for word in words]
