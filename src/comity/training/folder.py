"""Run folders: what a run leaves on disk, so that it explains itself and can go on.

```
config.json        the experiment, as given
run.json           versions, command, state of the run
metrics.jsonl      one line per logged iteration
timing.jsonl       what it took: seconds, CPU-seconds, steps per second
tensorboard/       the same for TensorBoard
start/             what the players began with, if it was given
checkpoints/       the whole state of the run; the last few are kept
players/           the trained players, one file per learner; in best/ the best by evaluation
README.md          what all this is
```
"""

import contextlib
import errno
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PyTree

from comity.core.errors import ComityError
from comity.core.files import fill, load_arrays, read_json, save_arrays, write_atomically, write_json
from comity.play.player_file import save_player
from comity.training import loop
from comity.training.experiment import Experiment
from comity.training.lock import FolderLock, this_process
from comity.training.loop import RunState

CHECKPOINT_FORMAT = "comity-checkpoint"
START_FORMAT = "comity-start"
_CHECKPOINT = re.compile(r"^(\d{9})\.safetensors$")
_BEFORE_THE_FIRST_CHUNK = (
    "config.json", "run.json", "README.md", "start", "metrics.jsonl", "timing.jsonl", "tensorboard", "wandb",
)  # fmt: skip


class RunFolder:
    """A run on disk, and the experiment that it is of."""

    def __init__(self, path: Path, experiment: Experiment | None = None) -> None:
        self.path = path
        self._experiment = experiment
        self._lock: FolderLock | None = None

    @classmethod
    def create(
        cls,
        path: Path,
        experiment: Experiment,
        about: dict[str, Any],
        policies: tuple[PyTree | None, ...] | None = None,
    ) -> "RunFolder":
        """A new folder for an experiment, which appears whole and locked by this process.

        `policies` are what its teams begin with; they are kept, so that a run starts again from the same.
        A folder that exists is never written into. If it is that of a run which ended before its first chunk,
        it is replaced.
        """
        if not cls.is_free(path):
            raise _exists(path)
        data = experiment.to_data()
        old = FolderLock(path) if path.exists() else None
        new = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            new.mkdir(parents=True)
            folder = cls(new, experiment)
            write_json(new / "config.json", data)
            folder.add_metadata(**about, status="started", process=this_process())
            write_atomically(new / "README.md", _readme(experiment, path.name).encode())
            for own, seats in zip(policies or (), experiment.seating, strict=False):
                if own is not None:
                    start = new / "start" / player_file_name(experiment, seats[0])
                    save_arrays(start, START_FORMAT, {}, own)
            folder._lock = FolderLock(new)
            if old is not None:
                if not cls.is_free(path):  # it began to train before it could be locked
                    raise _exists(path)
                path.rename(path.with_name(f"{new.name}.old"))
            new.rename(path)
        except OSError as error:
            taken = error.errno in (errno.ENOTEMPTY, errno.EEXIST)
            raise _exists(path) if taken else _cannot_write(path, error) from None
        finally:
            for left in (new, path.with_name(f"{new.name}.old")):
                shutil.rmtree(left, ignore_errors=True)
            if old is not None:
                old.release()
        folder.path = path
        return folder

    @property
    def metrics_path(self) -> Path:
        """The file of metrics."""
        return self.path / "metrics.jsonl"

    @property
    def timing_path(self) -> Path:
        """The file of what the run took."""
        return self.path / "timing.jsonl"

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A folder that exists."""
        if not path.is_dir():
            raise ComityError(f"{path} is not a folder.")
        if not (path / "config.json").is_file():
            raise ComityError(f"{path} is not a run folder: it has no config.json.")
        return cls(path)

    @classmethod
    def is_free(cls, path: Path) -> bool:
        """Whether a new run may go here: nothing is there, or a run that ended before its first chunk."""
        if not os.path.lexists(path):
            return True
        if not (path / "config.json").is_file() or not (path / "run.json").is_file():
            return False
        folder = cls(path)
        known = all(found.name in _BEFORE_THE_FIRST_CHUNK for found in path.iterdir())
        logged = folder.metrics_path.is_file() and folder.metrics_path.stat().st_size > 0
        return known and not logged and folder.metadata().get("status") in ("started", "failed")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps all other processes from training this run, as long as this lasts."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def acquire(self) -> None:
        """Takes the lock, unless this object has it; raises if another process has it."""
        if self._lock is None:
            self._lock = FolderLock(self.path)
            self.add_metadata(process=this_process())

    def release(self) -> None:
        """Gives up the lock, as a process does that leaves the run to another one."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def experiment(self) -> Experiment:
        """The experiment of the run: the one it was created with, else what its file says."""
        if self._experiment is None:
            self._experiment = Experiment.from_data(self.config())
        return self._experiment

    def replan(self, experiment: Experiment) -> None:
        """Lets the run go on with other iterations."""
        write_json(self.path / "config.json", experiment.to_data())
        self._experiment = experiment

    def config(self) -> dict[str, Any]:
        """The experiment of the run as plain data: readable where its game or agents are not installed."""
        data = read_json(self.path / "config.json", "an experiment")
        named = isinstance(data, dict) and isinstance(data.get("game"), dict)
        agents = data.get("agents") if named else None
        well_formed = isinstance(agents, list) and all(isinstance(agent, dict) for agent in agents)
        if not well_formed or not all("name" in part for part in (data["game"], *data["agents"])):
            raise ComityError(
                f"{self.path / 'config.json'} is not an experiment: it names no game and agents."
            )
        config: dict[str, Any] = data
        return config

    def require_same(self, experiment: Experiment) -> None:
        """Raises, naming the setting, unless the run is of this very experiment."""
        difference = _first_difference(self.experiment().to_data(), experiment.to_data())
        if difference is not None:
            name, before, now = difference
            raise ComityError(
                f"{self.path} cannot be resumed with other settings: its {name} is {json.dumps(before)}, "
                f"not {json.dumps(now)}. Choose another --out, or leave the setting as it was."
            )

    def add_metadata(self, **facts: Any) -> None:
        """Adds facts to run.json; a fact that is None is taken out."""
        known = {**self.metadata(), **facts}
        write_json(self.path / "run.json", {name: fact for name, fact in known.items() if fact is not None})

    def metadata(self) -> dict[str, Any]:
        """What run.json says."""
        path = self.path / "run.json"
        found = read_json(path, "metadata of a run") if path.is_file() else {}
        return found if isinstance(found, dict) else {}

    def save(self, experiment: Experiment, state: RunState, keep: int) -> None:
        """Writes a checkpoint and drops the oldest beyond `keep`."""
        iteration = int(state.iteration)
        path = self.path / "checkpoints" / f"{iteration:09d}.safetensors"
        about = {"iteration": iteration, "experiment": experiment.to_data()}
        save_arrays(path, CHECKPOINT_FORMAT, about, state)
        for newer in (found for found in self.checkpoints() if found.name > path.name):
            newer.rename(newer.with_suffix(".damaged"))  # the run could not go on from it
        for old in self.checkpoints()[:-keep]:
            old.unlink(missing_ok=True)

    def checkpoints(self) -> list[Path]:
        """The checkpoints, oldest first."""
        found = (self.path / "checkpoints").glob("*.safetensors")
        return sorted(path for path in found if _CHECKPOINT.match(path.name))

    def restore(self, experiment: Experiment) -> tuple[RunState | None, list[str]]:
        """The state of the newest sound checkpoint, if there is one, and what was wrong with newer ones."""
        template = jax.eval_shape(lambda: loop.start(experiment))
        complaints: list[str] = []
        for path in reversed(self.checkpoints()):
            try:
                content = load_arrays(path, CHECKPOINT_FORMAT)
                return fill(template, content.arrays, str(path)), complaints
            except ComityError as error:
                complaints.append(str(error))
        return None, complaints

    def start_policies(self, experiment: Experiment) -> tuple[PyTree | None, ...] | None:
        """What the teams of the run begin with, if they were given something; one entry per team."""
        if not (self.path / "start").is_dir():
            return None
        found: list[PyTree | None] = []
        spec = experiment.game.spec
        for agent, seats in zip(experiment.agents, experiment.seating, strict=True):
            path = self.path / "start" / player_file_name(experiment, seats[0])
            if not path.is_file():
                found.append(None)
                continue
            template = jax.eval_shape(
                lambda agent=agent, seats=seats: agent.policy(agent.init(jax.random.key(0), spec, seats))
            )
            found.append(fill(template, load_arrays(path, START_FORMAT).arrays, str(path)))
        return tuple(found)

    def save_players(self, experiment: Experiment, state: RunState, best: float | None = None) -> list[Path]:
        """Writes the players, one file per learner; those that are best so far, with their score, apart."""
        players = loop.players(experiment, state)
        metadata = {"iteration": int(state.iteration), "seed": experiment.seed, "run": self.path.name}
        where = self.path / "players" if best is None else self.path / "players" / "best"
        metadata |= {} if best is None else {"evaluation": best}
        paths = []
        for places in experiment.seating:
            seat = places[0]
            if not players[seat].agent.learns:
                continue
            path = where / player_file_name(experiment, seat)
            save_player(path, players[seat], experiment.game, places, metadata)
            paths.append(path)
        return paths

    def player_files(self) -> list[Path]:
        """The players' files."""
        return sorted((self.path / "players").glob("*.safetensors"))

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl, which do not depend on the machine's speed."""
        return _read_rows(self.metrics_path)

    def timing(self) -> list[dict[str, Any]]:
        """The lines of timing.jsonl: seconds, CPU-seconds and steps per second."""
        return _read_rows(self.timing_path)

    def log(self) -> list[dict[str, Any]]:
        """Metrics and timing in one row per chunk, joined by iteration."""
        timing = {row["iteration"]: row for row in self.timing()}
        return [{**row, **timing.get(row["iteration"], {})} for row in self.metrics()]

    def rewind(self, path: Path, iteration: int) -> None:
        """Drops what a file of rows says after an iteration, before a run goes on from there."""
        rows = [row for row in _read_rows(path) if row["iteration"] <= iteration]
        write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows).encode())


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file, each with its iteration; none if there is no file."""
    if not path.is_file():
        return []
    lines = path.read_bytes().splitlines()
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (UnicodeDecodeError, json.JSONDecodeError):
            if number < len(lines):  # a last line cut short by a kill is dropped, others are damage
                raise ComityError(f"{path}, line {number}, is not JSON.") from None
            continue
        if not isinstance(row, dict) or not isinstance(row.get("iteration"), int):
            raise ComityError(f"{path}, line {number}, is not a row of an iteration.")
        rows.append(row)
    return rows


def _exists(path: Path) -> ComityError:
    return ComityError(f"{path} exists already: choose another --out, or go on with it by --resume.")


def _cannot_write(path: Path, error: OSError) -> ComityError:
    return ComityError(f"{path} cannot be written: {error.strerror}.")


def player_file_name(experiment: Experiment, seat: int) -> str:
    """player.safetensors if one serves all seats, else named after the seat."""
    if len(experiment.seating) == 1:
        return "player.safetensors"
    return experiment.game.seats[seat].name.replace(" ", "-") + ".safetensors"


def _first_difference(before: Any, now: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The name of the first setting that differs, with its two values."""
    if isinstance(before, dict) and isinstance(now, dict) and before.get("name") == now.get("name"):
        pairs = [(f"{name}.{key}".lstrip("."), before.get(key), now.get(key)) for key in {**before, **now}]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = [(f"{name}[{i}]", old, new) for i, (old, new) in enumerate(zip(before, now, strict=True))]
    else:
        return None if before == now else (name, before, now)
    found = (_first_difference(old, new, inner) for inner, old, new in pairs)
    return next((difference for difference in found if difference is not None), None)


def _readme(experiment: Experiment, name: str) -> str:
    game = experiment.to_data()["game"]["name"]
    agents = ", ".join(agent["name"] for agent in experiment.to_data()["agents"])
    folder = shlex.quote(name)
    return f"""# {name}

A Comity run: {agents} in {game}, seed {experiment.seed}, {experiment.iterations} iterations.

| file | what it is |
| --- | --- |
| config.json | the experiment: game, agents, matchmaker, sizes, seed |
| run.json | versions, the command, how the run ended |
| metrics.jsonl | one JSON object per logged iteration |
| timing.jsonl | what it took: seconds, CPU-seconds, steps per second |
| tensorboard/ | the same, for `tensorboard --logdir tensorboard` |
| checkpoints/ | the whole state of the run, to go on from |
| players/ | the trained players, for leagues and for `comity.load_player`; in best/ the best by evaluation |
| start/ | what the players began with, if they were trained on from others |

- Go on: `comity train --resume {folder}`
- Look: `comity report {folder}`
- Let it play: `comity league {game} {folder} random`
"""
