"""Games in normal form from files.

- .csv, two players: one line per row action, one cell per column action; a cell holds both payoffs
  ("3 5", "3;5" or "3|5"), or one number for a zero-sum game. A first line and a first column with names
  are recognised, and an empty first cell always announces both.
- .csv, n players: a header with one column per player and then one `payoff...` column per player; one
  line per profile.
- .json: {"payoffs": [player][a_1]...[a_n], "players": [...], "actions": [[...], ...], "title": ...}, or
  {"row": [[...]], "column": [[...]]}, or only {"row": ...} if zero-sum.
- .nfg: Gambit's text format, see nfg.
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import NormalFormGame, numbers
from comity.theory.readers.fields import csv_lines, is_number, name_list, number, parse_json, read_text
from comity.theory.readers.nfg import parse_nfg


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


def cell_numbers(cell: str) -> list[str]:
    """The numbers in a cell, as text."""
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
