"""Payoff tables and coalition worths from files.

Normal-form games:

- .csv, two players: one line per row action, one cell per column action; a cell holds both payoffs
  ("3 5", "3;5" or "3|5"), or one number for a zero-sum game. A first line and a first column with names
  are recognised, and an empty first cell always announces both.
- .csv, n players: a header with one column per player and then one `payoff...` column per player; one
  line per profile.
- .json: {"payoffs": [player][a_1]...[a_n], "players": [...], "actions": [[...], ...], "title": ...}, or
  {"row": [[...]], "column": [[...]]}, or only {"row": ...} if zero-sum.
- .nfg: Gambit's text format, see nfg.

Cooperative games:

- .json: {"worth": {"a": 1, "a,b": 3, ...}, "players": [...]}, {"weights": [...], "quota": q},
  {"estate": e, "claims": [...]} or {"costs": [...]} (airport).
- .csv: members of a coalition, then its worth: "a,b,3".

Leagues:

- .json: {"mean": [[...]], "low": [[...]], "high": [[...]], "names": [...]}: what the row's member earns
  against the column's, with confidence limits; all but "mean" may be left out.
"""

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from comity.theory.coalitional import CoalitionalGame, airport, bankruptcy, from_table, weighted_votes
from comity.theory.empirical import EmpiricalGame
from comity.theory.errors import TheoryError
from comity.theory.nfg import parse_nfg
from comity.theory.normal_form import NormalFormGame, numbers


def read_game(path: str | Path) -> NormalFormGame:
    """The normal-form game in a .csv, .json or .nfg file."""
    text, suffix = read_text(path)
    if suffix == ".csv":
        return parse_game_csv(text)
    if suffix == ".json":
        return parse_game_json(text)
    if suffix == ".nfg":
        return parse_nfg(text)
    raise TheoryError(f"{path} ends in {suffix!r}; a .csv, .json or .nfg file would work.")


def read_coalitions(path: str | Path) -> CoalitionalGame:
    """The cooperative game in a .csv or .json file."""
    text, suffix = read_text(path)
    if suffix == ".csv":
        return parse_coalitions_csv(text)
    if suffix == ".json":
        return parse_coalitions_json(text)
    raise TheoryError(f"{path} ends in {suffix!r}; a .csv or .json file would work.")


def read_league(path: str | Path) -> EmpiricalGame:
    """The empirical game of a league in a .json file."""
    text, suffix = read_text(path)
    if suffix != ".json":
        raise TheoryError(f"{path} ends in {suffix!r}; a .json file would work.")
    data = parse_json(text)
    if not isinstance(data, dict) or "mean" not in data:
        raise TheoryError('The JSON has no "mean"; add the square table of mean payoffs under that name.')
    low, high = (numbers(data[key], key) if data.get(key) is not None else None for key in ("low", "high"))
    mean, names = numbers(data["mean"], "mean"), name_list(data.get("names", []), "names")
    members = len(mean) if mean.ndim else 0
    if names and len(names) != members:
        raise TheoryError(f"names has {len(names)} entries for {members} members; give one each.")
    return EmpiricalGame.from_league(mean, low, high, names)


def read_text(path: str | Path) -> tuple[str, str]:
    file = Path(path)
    try:
        return file.read_text(encoding="utf-8-sig"), file.suffix.lower()
    except FileNotFoundError:
        raise TheoryError(f"There is no file {file}; give the path of an existing file.") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise TheoryError(f"{file} cannot be read ({problem}); a UTF-8 text file would work.") from None


def number(text: str, where: str) -> float:
    """A finite decimal number or fraction."""
    try:
        top, slash, bottom = text.partition("/")
        value = float(top) / float(bottom) if slash else float(top)
    except (ValueError, ZeroDivisionError):
        raise TheoryError(
            f"{where} is {text!r}, not a number; for example 3, -0.5 or 1/3 would work."
        ) from None
    if not np.isfinite(value):
        raise TheoryError(
            f"{where} is {text!r}; payoffs must be finite, so use a large finite number instead."
        )
    return value


def is_number(text: str) -> bool:
    try:
        number(text, "")
    except TheoryError:
        return text.lower().lstrip("+-") in ("nan", "inf", "infinity")
    return True


def csv_lines(text: str) -> list[tuple[int, list[str]]]:
    """(line number, stripped cells) of every line that is not blank."""
    try:
        read = list(csv.reader(text.splitlines()))
    except csv.Error as problem:
        raise TheoryError(f"The file is not CSV ({problem}); a table of payoffs would work.") from None
    rows = [(k, [cell.strip() for cell in row]) for k, row in enumerate(read, 1)]
    lines = [(k, row) for k, row in rows if any(row)]
    if not lines:
        raise TheoryError("The file is empty; a table of payoffs would work.")
    return lines


def cell_numbers(cell: str) -> list[str]:
    return cell.replace(";", " ").replace("|", " ").split()


def are_payoffs(cells: list[str], where: str, default: bool) -> bool:
    """Whether cells hold payoffs or else names; an error if some hold the one and some the other."""
    filled = [cell for cell in cells if cell]
    holds = [all(map(is_number, cell_numbers(cell))) for cell in filled]
    if any(holds) and not all(holds):
        odd = filled[holds.index(False)]
        raise TheoryError(
            f"{where} mixes payoffs and names: {odd!r} is not a payoff. Numbers only would work, or names "
            "only; with names that are numbers, leave the first cell of the first line empty."
        )
    return all(holds) if holds else default


def parse_game_csv(text: str) -> NormalFormGame:
    """A game from CSV text, in either layout."""
    lines = csv_lines(text)
    if any(cell.lower().startswith("payoff") for cell in lines[0][1]):
        return parse_profiles_csv(lines)
    named = lines[0][1][0] == ""  # an empty corner: names above and to the left
    has_row_names = named or not are_payoffs(
        [row[0] for _, row in lines[1:]], "The first column", default=True
    )
    body_cells = lines[0][1][1:] if has_row_names else lines[0][1]
    has_header = named or not are_payoffs(body_cells, f"Line {lines[0][0]}", default=False)
    column_names = body_cells if has_header else []
    body = lines[1:] if has_header else lines
    if not body:
        raise TheoryError("The file has a line of names and no payoffs; add one line per row action.")
    first = int(has_row_names)
    row_names = tuple(row[0] for _, row in body) if has_row_names else ()
    table: list[list[list[float]]] = []
    for line, row in body:
        cells = row[first:]
        if len(cells) != len(body_cells):
            raise TheoryError(
                f"Line {line} has {len(cells)} cells where the first has {len(body_cells)}; "
                "every line needs the same number."
            )
        table.append(
            [
                [number(x, f"Line {line}, cell {c + first + 1}") for x in cell_numbers(cell)]
                for c, cell in enumerate(cells)
            ]
        )
    counts = {len(cell) for row in table for cell in row}
    if counts not in ({1}, {2}):
        raise TheoryError(
            f"Cells hold {sorted(counts)} numbers; two in every cell ('3 5', row player first), or one in "
            "every cell (zero-sum), would work. For more players use payoff columns, .json or .nfg."
        )
    payoffs = np.moveaxis(np.array(table), 2, 0)
    payoffs = np.concatenate([payoffs, -payoffs]) if counts == {1} else payoffs
    names: Any = (
        (
            row_names or tuple(str(k + 1) for k in range(len(table))),
            tuple(column_names) or tuple(str(k + 1) for k in range(len(body_cells))),
        )
        if row_names or column_names
        else ()
    )
    return NormalFormGame(payoffs, actions=names)


def parse_profiles_csv(lines: list[tuple[int, list[str]]]) -> NormalFormGame:
    """One line per profile: actions, then payoffs."""
    header = lines[0][1]
    players = [k for k, cell in enumerate(header) if not cell.lower().startswith("payoff")]
    n = len(players)
    if n < 1 or len(header) != 2 * n or players != list(range(n)):
        raise TheoryError(
            f"The header is {header}; n players need n columns of actions and then n columns named payoff..."
        )
    actions: list[list[str]] = [[] for _ in range(n)]
    values: dict[tuple[str, ...], list[float]] = {}
    for line, row in lines[1:]:
        if len(row) != 2 * n:
            raise TheoryError(f"Line {line} has {len(row)} cells; {2 * n} would work, as in the header.")
        profile = tuple(row[:n])
        if profile in values:
            raise TheoryError(f"Line {line} gives the profile {list(profile)} a second time; list each once.")
        values[profile] = [number(x, f"Line {line}, column {header[n + k]}") for k, x in enumerate(row[n:])]
        for names, name in zip(actions, profile, strict=True):
            if name not in names:
                names.append(name)
    missing = [list(profile) for profile in product(*actions) if profile not in values]
    if missing or not values:
        raise TheoryError(
            f"The profile {missing[0] if missing else '(any)'} is missing; list every combination of actions."
        )
    shape = tuple(len(names) for names in actions)
    payoffs = np.array([values[profile] for profile in product(*actions)]).T.reshape(n, *shape)
    return NormalFormGame(payoffs, tuple(header[:n]), tuple(tuple(names) for names in actions))


def parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise TheoryError(f"Line {problem.lineno} is not JSON ({problem.msg}); check commas there.") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, or lists thousands deep
        raise TheoryError(
            "The JSON is nested too deeply or holds a number of too many digits; a plain table of numbers "
            "would work."
        ) from None


def name_list(value: Any, where: str) -> tuple[str, ...]:
    """Names from a JSON list."""
    if not isinstance(value, list):
        raise TheoryError(f'{where} is {value!r}; a list of names such as ["a", "b"] would work.')
    return tuple(str(name) for name in value)


def parse_game_json(text: str) -> NormalFormGame:
    """A game from JSON text."""
    data = parse_json(text)
    if isinstance(data, list):
        return NormalFormGame(numbers(data, "payoffs"))
    if not isinstance(data, dict) or not ("payoffs" in data or "row" in data):
        raise TheoryError('The JSON has no "payoffs" (or "row" and "column"); add the table under that name.')
    players = name_list(data.get("players", []), "players")
    listed = data.get("actions", [])
    if not isinstance(listed, list):
        raise TheoryError(f"actions is {listed!r}; a list of each player's list of names would work.")
    actions = tuple(name_list(names, f"actions[{i}]") for i, names in enumerate(listed))
    names: dict[str, Any] = {"players": players, "actions": actions, "title": str(data.get("title", ""))}
    if "payoffs" in data:
        return NormalFormGame(numbers(data["payoffs"], "payoffs"), **names)
    return NormalFormGame.from_bimatrix(data["row"], data.get("column"), **names)


def scalar(value: Any, where: str) -> float:
    """One finite number from JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TheoryError(f"{where} is {value!r}; a number would work.")
    return float(numbers(value, where))


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
