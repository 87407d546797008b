"""Cooperative games from files.

- .json: {"worth": {"a": 1, "a,b": 3, ...}, "players": [...]}, {"weights": [...], "quota": q},
  {"estate": e, "claims": [...]} or {"costs": [...]} (airport).
- .csv: members of a coalition, then its worth: "a,b,3".
"""

from pathlib import Path
from typing import Any

from comity.theory.cooperative.coalitional import (
    CoalitionalGame,
    airport,
    bankruptcy,
    from_table,
    weighted_votes,
)
from comity.theory.errors import TheoryError
from comity.theory.readers.fields import (
    csv_lines,
    is_number,
    name_list,
    number,
    parse_json,
    read_text,
    scalar,
)


def read_coalitions(path: str | Path) -> CoalitionalGame:
    """The cooperative game in a .csv or .json file."""
    text, suffix = read_text(path)
    if suffix == ".csv":
        return parse_coalitions_csv(text)
    if suffix == ".json":
        return parse_coalitions_json(text)
    raise TheoryError(f"{path} ends in {suffix!r}; a .csv or .json file would work.")


def parse_coalitions_json(text: str) -> CoalitionalGame:
    """A cooperative game from JSON text."""
    data = parse_json(text)
    if isinstance(data, dict):
        if isinstance(data.get("worth"), dict):
            worths = {name: scalar(worth, f'worth["{name}"]') for name, worth in data["worth"].items()}
            return from_table(worths, name_list(data.get("players", []), "players"))
        if "weights" in data and "quota" in data:
            return weighted_votes(data["weights"], scalar(data["quota"], "quota"))
        if "estate" in data and "claims" in data:
            return bankruptcy(scalar(data["estate"], "estate"), data["claims"])
        if "costs" in data:
            return airport(data["costs"])
    raise TheoryError(
        'The JSON has no "worth" (an object), "weights" with "quota", "estate" with "claims", or "costs".'
    )


def parse_coalitions_csv(text: str) -> CoalitionalGame:
    """A cooperative game from CSV text: members, then the worth, in each line."""
    lines = csv_lines(text)
    if not is_number(lines[0][1][-1]):
        lines = lines[1:]
    table: dict[Any, float] = {}
    for line, row in lines:
        members = tuple(sorted({name for name in row[:-1] if name}))
        worth = number(row[-1], f"Line {line}, the worth")
        if members in table:
            raise TheoryError(
                f"Line {line} gives the coalition {list(members)} a second time; list each once."
            )
        table[members] = worth
    order = tuple(dict.fromkeys(name for _, row in lines for name in row[:-1] if name))
    return from_table(table, order)
