"""What a run logged, as columns of numbers: read in parts as a file grows, and by samples where it is large.

A line that is no JSON object with an iteration is skipped, so a last line that is half written does no harm.
"""

import json
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

LARGE = 8_000_000  # bytes from which a file is read by samples
SAMPLES = 20_000  # lines that are read of a large file
LONGEST_LINE = 65_536
AGAIN = 5.0  # seconds before a large file that grows is sampled again
KEPT = 256  # files whose columns are kept

Columns = dict[str, np.ndarray]  # by name, all of one length; NaN where a row has no such number


class _File:
    """The rows of one file that were read so far."""

    def __init__(self) -> None:
        self.signature: tuple[int, ...] = ()
        self.offset = 0
        self.rows: list[dict[str, Any]] = []
        self.columns: Columns = {}
        self.read_at = 0.0


class RowReader:
    """Columns of JSON-lines files, kept as long as the files do not change."""

    def __init__(self) -> None:
        self._files: dict[Path, _File] = {}
        self._lock = threading.Lock()

    def columns(self, path: Path) -> Columns:
        """The numbers of a file by name; empty if there is no such file."""
        with self._lock:
            try:
                with open(path, "rb") as file:
                    return self._read(path, file.fileno())
            except OSError:
                self._files.pop(path, None)
                return {}

    def _read(self, path: Path, descriptor: int) -> Columns:
        stat = os.fstat(descriptor)
        signature = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        known = self._files.pop(path, None) or _File()
        self._files[path] = known  # the last to be asked for is the last to be forgotten
        while len(self._files) > KEPT:
            del self._files[next(iter(self._files))]
        if signature == known.signature:
            return known.columns
        if stat.st_size > LARGE:
            if known.columns and time.monotonic() - known.read_at < AGAIN:
                return known.columns
            known.rows, known.offset = [], 0
            known.columns = as_columns(parsed(sampled_lines(descriptor, stat.st_size)))
        else:
            if not known.signature or known.signature[0] != stat.st_ino or known.offset > stat.st_size:
                known.rows, known.offset = [], 0  # another file, or one that became shorter
            data = os.pread(descriptor, stat.st_size - known.offset, known.offset)
            whole = data.rfind(b"\n") + 1
            known.rows += parsed(data[:whole].splitlines())
            known.offset += whole
            known.columns = as_columns(known.rows)
        known.signature, known.read_at = signature, time.monotonic()
        return known.columns


def sampled_lines(descriptor: int, size: int, samples: int = SAMPLES) -> list[bytes]:
    """Whole lines at even distances in a file, the first and the last among them."""
    head = os.pread(descriptor, LONGEST_LINE, 0).split(b"\n")
    lines, end = [head[0]], len(head[0])
    window = min(4 * max(len(line) for line in head) + 2, LONGEST_LINE)
    for position in np.linspace(len(head[0]), size - window, samples).astype(np.int64).tolist():
        if position < end:
            continue
        _, newline, rest = os.pread(descriptor, window, position).partition(b"\n")
        line, closed, _ = rest.partition(b"\n")
        if newline and closed:
            lines.append(line)
            end = position + 1
    tail = os.pread(descriptor, LONGEST_LINE, max(size - LONGEST_LINE, 0)).split(b"\n")
    return [*lines, *tail[-2:-1]]


def parsed(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """The rows among lines: objects with a whole number as iteration."""
    return [
        row
        for row in _values([line for line in lines if line])
        if isinstance(row, dict) and type(row.get("iteration")) is int and abs(row["iteration"]) < 2**53
    ]


def _values(lines: list[bytes]) -> list[Any]:
    """What the lines say that are JSON: read at once, which is quicker, or one by one if some are not."""
    try:
        found = json.loads(b"[" + b",".join(lines) + b"]")
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and len(found) == len(lines):  # a line may hold a comma, and be two values
        return found
    values = []
    for line in lines:
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return values


def as_columns(rows: list[dict[str, Any]]) -> Columns:
    """The numbers in rows by name, in the order of iterations; of an iteration twice, the last row."""
    unique = {row["iteration"]: row for row in rows}
    ordered = [unique[iteration] for iteration in sorted(unique)]
    names = dict.fromkeys(name for row in ordered for name, value in row.items() if _is_number(value))
    return {name: _column([row.get(name) for row in ordered]) for name in names}


def _column(values: list[Any]) -> np.ndarray:
    """Values as numbers; NaN for what is none."""
    if set(map(type, values)) <= {int, float}:
        try:
            return np.asarray(values, np.float64)
        except OverflowError:  # a whole number that no float can hold
            pass
    return np.asarray([_number(value) for value in values], np.float64)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _number(value: Any) -> float:
    try:
        return float(value) if _is_number(value) else float("nan")
    except OverflowError:
        return float("nan")


def last_row(path: Path) -> dict[str, Any]:
    """The last whole row of a file, without reading the rest; empty if there is none."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - LONGEST_LINE, 0))
            data = file.read(LONGEST_LINE)
    except OSError:
        return {}
    for line in reversed(data[: data.rfind(b"\n") + 1].splitlines()[-3:]):
        if found := parsed([line]):
            return found[0]
    return {}
