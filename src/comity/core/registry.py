"""Names for things: one row per game, agent or matchmaker, loaded only when it is asked for."""

import importlib
from typing import Any, NamedTuple

from comity.core.errors import ComityError, unknown_name


class Row(NamedTuple):
    """A name's entry: where its class lives, as `module:Class`, and one line that says what it is."""

    target: str
    summary: str


class Registry:
    """Names and the classes they stand for.

    The table holds strings only, so listing the names imports nothing heavy.
    """

    def __init__(self, kind: str, rows: dict[str, Row]) -> None:
        self.kind = kind
        self._rows = dict(rows)
        self._classes: dict[str, type[Any]] = {}

    def rows(self) -> dict[str, Row]:
        """All names with their rows, in the order of the table."""
        return dict(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def load(self, name: str) -> type[Any]:
        """The class behind a name."""
        if name not in self._rows:
            raise unknown_name(self.kind, name, self._rows)
        if name not in self._classes:
            module, _, attribute = self._rows[name].target.partition(":")
            self._classes[name] = getattr(importlib.import_module(module), attribute)
        return self._classes[name]

    def register(self, name: str, cls: type[Any], summary: str) -> None:
        """Adds a class of the user's own, so that it has a name in files and on the command line."""
        if name in self._rows:
            raise ComityError(f"There is a {self.kind} named {name!r} already.")
        self._rows[name] = Row(f"{cls.__module__}:{cls.__qualname__}", summary)
        self._classes[name] = cls

    def name_of(self, cls: type[Any]) -> str:
        """The name of a class."""
        target = f"{cls.__module__}:{cls.__qualname__}"
        for name, row in self._rows.items():
            if row.target == target:
                return name
        raise ComityError(
            f"The {self.kind} {cls.__qualname__} has no name, so it cannot be written to a file: "
            f"give it one with register(name, {cls.__qualname__}, summary) first."
        )
