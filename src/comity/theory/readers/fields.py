"""What the readers share: text, numbers, CSV lines and JSON fields, with errors that say where.

The functions return plain Python values; what they mean is for each reader to say.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from comity.theory.errors import TheoryError
from comity.theory.normal_form.game import numbers


def read_text(path: str | Path) -> tuple[str, str]:
    """A file's text and its suffix in lower case."""
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
    """Whether the text is meant as a number; `number` then says whether it can be used."""
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


def parse_json(text: str) -> Any:
    """What JSON text holds."""
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


def scalar(value: Any, where: str) -> float:
    """One finite number from JSON."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TheoryError(f"{where} is {value!r}; a number would work.")
    return float(numbers(value, where))
