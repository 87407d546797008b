"""Runs on disk as those who compare them read them: settings, what was logged, where the players are."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from comity.core.errors import ComityError
from comity.training.folder import RunFolder

DEPTH = 3  # folders below the one that is named in which runs are looked for


class Record(NamedTuple):
    """A run on disk. `name` is what the user calls it, or empty."""

    name: str
    folder: RunFolder
    config: dict[str, Any]
    rows: list[dict[str, Any]]

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.config.get("seed", 0))


def read_records(sources: list[str]) -> list[Record]:
    """The runs in folders; `NAME=FOLDER` gives those of a folder a name."""
    records = []
    for source in sources:
        name, separator, rest = source.partition("=")
        if not separator or Path(source).exists():  # a folder may have an equals sign in its name
            name, rest = "", source
        elif not name or not rest:
            raise ComityError(f"{source!r} is not a run: it must be FOLDER or NAME=FOLDER.")
        found = find_runs(Path(rest))
        records += [Record(name, folder, folder.config(), logged_rows(folder)) for folder in found]
    places = [record.folder.path.resolve() for record in records]
    twice = next((place for i, place in enumerate(places) if place in places[:i]), None)
    if twice is not None:
        raise ComityError(f"{twice} is given twice: name each run once.")
    return records


def find_runs(path: Path) -> list[RunFolder]:
    """The run in a folder, or all runs below it: seeds, or the points of a sweep with their seeds."""
    if not path.exists():
        raise ComityError(f"{path} does not exist: a run folder or a folder of runs would do.")
    if (path / "config.json").is_file():
        return [RunFolder.open(path)]
    for depth in range(1, DEPTH + 1):
        found = sorted(path.glob("/".join("*" * depth) + "/config.json"), key=_natural)
        found = [config for config in found if not config.parent.name.startswith(".")]
        if found:
            return [RunFolder.open(config.parent) for config in found]
    raise ComityError(f"{path} is neither a run folder nor a folder of runs: it has no config.json.")


def logged_rows(folder: RunFolder) -> list[dict[str, Any]]:
    """What a run logged, each row with its environment steps, and with seconds where they are known.

    A run that logged no steps has those that its sizes say.
    """
    config = folder.config()
    seconds = _timing(folder.path / "timing.jsonl")
    batch, unroll = config.get("batch"), config.get("unroll")
    each = batch * unroll if isinstance(batch, int) and isinstance(unroll, int) else None
    rows = []
    for row in folder.metrics():
        more = dict(seconds.get(row["iteration"], {}))
        if each is not None:
            more["steps"] = row["iteration"] * each
        rows.append({**more, **row})
    return rows


def _timing(path: Path) -> dict[int, dict[str, Any]]:
    """The rows of timing.jsonl by iteration, as far as they can be read: they are no results."""
    found: dict[int, dict[str, Any]] = {}
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except (UnicodeDecodeError, json.JSONDecodeError):
            continue
        if isinstance(row, dict) and isinstance(row.get("iteration"), int):
            found[row["iteration"]] = row
    return found


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts seed-2 before seed-10."""
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
