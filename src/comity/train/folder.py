"""Run folders: what a run leaves on disk, so that it explains itself and can go on.

```
config.json        the experiment, as given
run.json           versions, command, state of the run
metrics.jsonl      one line per logged iteration
tensorboard/       the same for TensorBoard
checkpoints/       the whole state of the run; the last few are kept
players/           the trained players, one file per learner
README.md          what all this is
```
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import jax

from comity.core.errors import ComityError
from comity.core.files import fill, load_arrays, read_json, save_arrays, write_atomically, write_json
from comity.play.player_file import save_player
from comity.train import loop
from comity.train.experiment import Experiment
from comity.train.loop import RunState

CHECKPOINT_FORMAT = "comity-checkpoint"
_CHECKPOINT = re.compile(r"^(\d{9})\.safetensors$")


class RunFolder:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics_path = path / "metrics.jsonl"

    @classmethod
    def create(cls, path: Path, experiment: Experiment, about: dict[str, Any]) -> "RunFolder":
        """A new folder for an experiment; one that exists already is never written into."""
        if os.path.lexists(path):
            raise ComityError(f"{path} exists already: choose another --out, or go on with it by --resume.")
        data = experiment.to_data()
        write_json(path / "config.json", data)
        folder = cls(path)
        folder.note(**about, status="started")
        write_atomically(path / "README.md", _readme(experiment, path.name).encode())
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A folder that exists."""
        if not path.is_dir():
            raise ComityError(f"{path} is not a folder.")
        if not (path / "config.json").is_file():
            raise ComityError(f"{path} is not a run folder: it has no config.json.")
        return cls(path)

    def experiment(self) -> Experiment:
        """The experiment of the run."""
        return Experiment.from_data(read_json(self.path / "config.json", "an experiment"))

    def require_same(self, experiment: Experiment) -> None:
        """Raises, naming the setting, unless the run is of this very experiment."""
        difference = _first_difference(self.experiment().to_data(), experiment.to_data())
        if difference is not None:
            name, before, now = difference
            raise ComityError(
                f"{self.path} cannot be resumed with other settings: its {name} is {json.dumps(before)}, "
                f"not {json.dumps(now)}. Choose another --out, or leave the setting as it was."
            )

    def note(self, **facts: Any) -> None:
        """Adds facts to run.json."""
        write_json(self.path / "run.json", {**self.notes(), **facts})

    def notes(self) -> dict[str, Any]:
        """What run.json says."""
        path = self.path / "run.json"
        notes = read_json(path, "notes on a run") if path.is_file() else {}
        return notes if isinstance(notes, dict) else {}

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

    def save_players(self, experiment: Experiment, state: RunState) -> list[Path]:
        """Writes the players, one file per learner."""
        players = loop.players(experiment, state)
        notes = {"iteration": int(state.iteration), "seed": experiment.seed, "run": self.path.name}
        paths = []
        for places in experiment.seating:
            seat = places[0]
            if not players[seat].agent.learns:
                continue
            path = self.path / "players" / player_file_name(experiment, seat)
            save_player(path, players[seat], experiment.game, seat, notes)
            paths.append(path)
        return paths

    def player_files(self) -> list[Path]:
        """The players' files."""
        return sorted((self.path / "players").glob("*.safetensors"))

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        if not self.metrics_path.is_file():
            return []
        lines = self.metrics_path.read_bytes().splitlines()
        rows = []
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except (UnicodeDecodeError, json.JSONDecodeError):
                if number < len(lines):  # a last line cut short by a kill is dropped, others are damage
                    raise ComityError(f"{self.metrics_path}, line {number}, is not JSON.") from None
                continue
            if not isinstance(row, dict) or not isinstance(row.get("iteration"), int):
                raise ComityError(f"{self.metrics_path}, line {number}, is not the metrics of an iteration.")
            rows.append(row)
        return rows

    def rewind_metrics(self, iteration: int) -> None:
        """Drops what was logged after an iteration, before a run goes on from there."""
        rows = [row for row in self.metrics() if row["iteration"] <= iteration]
        content = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomically(self.metrics_path, content.encode())


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
    return f"""# {name}

A Comity run: {agents} in {game}, seed {experiment.seed}, {experiment.iterations} iterations.

| file | what it is |
| --- | --- |
| config.json | the experiment: game, agents, matchmaker, sizes, seed |
| run.json | versions, the command, how the run ended |
| metrics.jsonl | one JSON object per logged iteration |
| tensorboard/ | the same, for `tensorboard --logdir tensorboard` |
| checkpoints/ | the whole state of the run, to go on from |
| players/ | the trained players, for leagues and for `comity.load_player` |

- Go on: `comity train --resume {name}`
- Look: `comity report {name}`
- Let it play: `comity league {game} {name} random`
"""
