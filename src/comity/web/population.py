"""Populations: who descends from whom, as `population.json` in a population's folder says."""

import math
from pathlib import PurePosixPath
from typing import Any

KIND = "comity-population"
MOST_MEMBERS = 20_000


def read_population(data: dict[str, Any], folder: str, runs: set[str]) -> dict[str, Any] | None:
    """The members of all generations, with their parents, fitness and settings; None if they are not told.

    `runs` are the runs that are known, so that a member whose run lies in `folder` can be opened. What is
    damaged of a member is left out.
    """
    told = data.get("generations")
    if data.get("kind") != KIND or not isinstance(told, list):
        return None
    members: list[dict[str, Any]] = []
    for number, generation in enumerate(told):
        for own in generation if isinstance(generation, list) else []:
            if isinstance(own, dict) and isinstance(own.get("name"), str) and len(members) < MOST_MEMBERS:
                members.append(_member(own, number, folder, runs))
    measure = data.get("measure")
    names = dict.fromkeys(name for own in members for name in own["settings"])
    return {
        "measure": measure if isinstance(measure, str) else "fitness",
        "generations": len(told),
        "members": members,
        "settings": list(names),
        "line": best_line(members),
    }


def _member(own: dict[str, Any], generation: int, folder: str, runs: set[str]) -> dict[str, Any]:
    settings, parent = own.get("settings"), own.get("parent")
    run = (PurePosixPath(folder) / own["name"]).as_posix()
    return {
        "name": own["name"],
        "generation": generation,
        "parent": parent if isinstance(parent, str) else None,
        "fitness": _number(own.get("fitness")),
        "diversity": _number(own.get("diversity")),
        "settings": {
            str(name): value
            for name, value in (settings.items() if isinstance(settings, dict) else ())
            if _number(value) is not None
        },
        "run": run if run in runs else None,
    }


def _number(value: Any) -> float | None:
    return value if type(value) in (int, float) and abs(value) < math.inf else None


def best_line(members: list[dict[str, Any]]) -> list[str]:
    """The fittest of the last generation that was measured, with its ancestors, the oldest first."""
    measured = [own for own in members if own["fitness"] is not None]
    if not measured:
        return []
    last = max(own["generation"] for own in measured)
    best = max((own for own in measured if own["generation"] == last), key=lambda own: own["fitness"])
    by_name = {own["name"]: own for own in members}
    line = [best["name"]]
    while (parent := by_name[line[-1]]["parent"]) in by_name and parent not in line:
        line.append(parent)
    return line[::-1]
