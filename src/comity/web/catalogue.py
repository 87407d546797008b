"""What lies in the folder: runs, sweeps, leagues and games that people played, each with a few facts."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comity.evaluate.groups import game_name
from comity.web.places import OutsideError, Root
from comity.web.population import KIND as POPULATION
from comity.web.rows import last_row

DEPTH = 6  # folders below the one that is shown
MOST = 5000  # entries that are listed
LARGEST = 20_000_000  # bytes of a JSON file that is read
KINDS = {"comity-league": "league", "comity-play": "play"}
SHOWN = ("reward", "outcome/cooperation", "entropy", "episode_return")  # metrics in the list


class Catalogue:
    """The entries of a folder; what did not change is not read again."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._known: dict[Path, tuple[Any, dict[str, Any] | None]] = {}
        self._lock = threading.Lock()

    def entries(self) -> list[dict[str, Any]]:
        """All entries, in the order of their paths."""
        with self._lock:
            seen: dict[Path, tuple[Any, dict[str, Any] | None]] = {}
            for path, signature in self._walk():
                before = self._known.get(path)
                known = before[1] if before is not None and before[0] == signature else self._describe(path)
                seen[path] = (signature, known)
                if len(seen) >= MOST:
                    break
            self._known = seen
            found = [known for _, known in seen.values() if known is not None]
        return [{**entry, **_live(entry)} for entry in found]

    def _walk(self) -> Iterator[tuple[Path, Any]]:
        """Run folders and JSON files, with what changes when they do."""
        for place, folders, files in os.walk(self._root.folder):
            folder = Path(place)
            if "config.json" in files:
                folders.clear()
                yield folder, _signature(folder, ("config.json", "run.json", "metrics.jsonl"))
                continue
            deep = len(folder.relative_to(self._root.folder).parts) >= DEPTH
            folders[:] = [] if deep else sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                if name.endswith(".json") and not name.startswith(".") and not (folder / name).is_symlink():
                    yield folder / name, _signature(folder, (name,))

    def _describe(self, path: Path) -> dict[str, Any] | None:
        if path.suffix == ".json" and path.is_file():
            return self._describe_file(path)
        config = read_object(path / "config.json")
        if not is_experiment(config):
            return None
        facts = read_object(path / "run.json")
        row = last_row(path / "metrics.jsonl")
        process = facts.get("process")
        return {
            "kind": "run",
            "path": self._root.name(path),
            "game": game_name(config),
            "agents": list(dict.fromkeys(str(agent["name"]) for agent in config["agents"])),
            "seed": config.get("seed"),
            "iterations": config.get("iterations"),
            "iteration": row.get("iteration", 0),
            "status": str(facts.get("status", "")),
            "pid": process.get("pid") if isinstance(process, dict) else None,
            "changed": _changed(path / "metrics.jsonl") or _changed(path / "config.json"),
            **{name: row[name] for name in SHOWN if type(row.get(name)) in (int, float)},
        }

    def _describe_file(self, path: Path) -> dict[str, Any] | None:
        data = read_object(path)
        name = self._root.name(path)
        if path.name == "sweep.json" and data.get("kind") == "comity-sweep":
            return {"kind": "sweep", "path": name, "changed": _changed(path)}
        if data.get("kind") == POPULATION and isinstance(data.get("generations"), list):
            generations = data["generations"]
            members = sum(len(own) for own in generations if isinstance(own, list))
            sizes = {"generations": len(generations), "members": members}
            return {"kind": "population", "path": name, "changed": _changed(path), **sizes}
        kind = KINDS.get(str(data.get("kind")))
        players = data.get("players")
        if kind is None or not isinstance(players, list):
            return None
        game = data.get("game")
        played = game.get("name") if isinstance(game, dict) else game
        entry = {"kind": kind, "path": name, "game": str(played), "changed": _changed(path)}
        if kind == "play":
            names = ("total", "seat", "person", "over")
            return {**entry, "players": [str(own) for own in players], **{n: data.get(n) for n in names}}
        return {**entry, "players": [str(own) for own in players][:50]}

    def run(self, text: str) -> tuple[Path, dict[str, Any]]:
        """The folder of a run and its configuration; raises if there is none."""
        folder = self._root.find(text)
        config = read_object(folder / "config.json")
        if not is_experiment(config):
            raise OutsideError
        return folder, config


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object in a file; empty if it cannot be read as one."""
    try:
        if path.stat().st_size > LARGEST:
            return {}
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def is_experiment(config: dict[str, Any]) -> bool:
    """Whether data name a game and agents, as a run's configuration does."""
    game, agents = config.get("game"), config.get("agents")
    while isinstance(game, dict) and isinstance(game.get("game"), dict) and "name" in game:
        game = game["game"]
    named = isinstance(game, dict) and "name" in game and isinstance(agents, list) and len(agents) > 0
    return named and all(isinstance(agent, dict) and "name" in agent for agent in agents or ())


def _live(entry: dict[str, Any]) -> dict[str, Any]:
    """Whether a run that was started is still under way, by its process."""
    if entry["kind"] != "run":
        return {}
    status = entry["status"]
    if status == "started":
        status = "running" if _alive(entry["pid"]) else "interrupted"
    return {"status": status}


def _alive(pid: Any) -> bool:
    if type(pid) is not int or not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _signature(folder: Path, names: tuple[str, ...]) -> tuple[Any, ...]:
    found: list[Any] = []
    for name in names:
        try:
            stat = os.stat(folder / name)
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
