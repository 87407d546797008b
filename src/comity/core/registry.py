"""Names for things: one row per game, agent, matchmaker or study, loaded only when it is asked for.

A name is looked up in three places, in this order:

1. the table of the package, and what `register` added to it;
2. `MODULE:CLASS`, a class of the user's own by its import path, if the user named it (`comity.core.trust`);
3. entry points of installed packages, in the registry's group (`comity.games`, `comity.studies`, ...):

    [project.entry-points."comity.studies"]
    my-study = "my_package.my_study:MyStudy"
"""

import importlib
from functools import reduce
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from comity.core.errors import ComityError, unknown_name
from comity.core.trust import find_function


class Row(NamedTuple):
    """A name's entry: where its class lives, as `module:Class`, and one line that says what it is."""

    target: str
    summary: str


class Registry:
    """Names and the classes they stand for.

    The table holds strings only, so listing the names imports nothing heavy; entry points are looked for
    only when names are listed, or when a name is not in the table, and imported only when asked for.
    """

    def __init__(self, kind: str, rows: dict[str, Row], group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._rows = dict(rows)
        self._classes: dict[str, type[Any]] = {}
        self._installed: dict[str, list[EntryPoint]] | None = None

    def rows(self) -> dict[str, Row]:
        """All names with their rows: the table in its order, then what other packages add."""
        added = {
            name: Row(points[0].value, f"from {_package(points[0])}")
            for name, points in self._entry_points().items()
            if name not in self._rows
        }
        return {**self._rows, **added}

    def __contains__(self, name: object) -> bool:
        return name in self._rows or name in self._entry_points()

    def load(self, name: str) -> type[Any]:
        """The class behind a name, or behind `MODULE:CLASS` if the user named it."""
        by_path = ":" in name and name not in self._rows  # whether it is trusted is asked each time
        if by_path or name not in self._classes:
            self._classes[name] = self._find(name)
        return self._classes[name]

    def register(self, name: str, cls: type[Any], summary: str) -> None:
        """Adds a class of the user's own, so that it has a name in files and on the command line."""
        if name in self._rows:
            raise ComityError(f"There is a {self.kind} named {name!r} already.")
        self._rows[name] = Row(f"{cls.__module__}:{cls.__qualname__}", summary)
        self._classes[name] = cls

    def name_of(self, cls: type[Any]) -> str:
        """The name of a class; that of one loaded as `MODULE:CLASS` is its import path."""
        target = f"{cls.__module__}:{cls.__qualname__}"
        for name, row in self._rows.items():
            if row.target == target:
                return name
        for name, loaded in self._classes.items():
            if loaded is cls:
                return name
        for name, row in self.rows().items():
            if row.target == target:
                return name
        raise ComityError(
            f"The {self.kind} {cls.__qualname__} has no name, so it cannot be written to a file: "
            f"give it one with register(name, {cls.__qualname__}, summary) first."
        )

    def _find(self, name: str) -> type[Any]:
        if name in self._rows:
            module, _, attribute = self._rows[name].target.partition(":")
            start: Any = importlib.import_module(module)
            return reduce(getattr, attribute.split("."), start)
        if ":" in name:
            return _class(find_function(name, self.kind), self.kind, name)
        points = self._entry_points().get(name)
        if points is None:
            raise unknown_name(self.kind, name, self.rows())
        if len({point.value for point in points}) > 1:
            offers = " and ".join(_package(point) for point in points)
            raise ComityError(
                f"The {self.kind} {name!r} is offered by {offers}: uninstall one, or name it as MODULE:CLASS."
            )
        try:
            return _class(points[0].load(), self.kind, name)
        except (ImportError, AttributeError) as error:
            raise ComityError(
                f"The {self.kind} {name!r} of {_package(points[0])} cannot be imported: {error}."
            ) from None

    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        """What installed packages offer, by name; looked for once."""
        if self._installed is None:
            self._installed = {}
            for point in entry_points(group=self.group) if self.group is not None else ():
                self._installed.setdefault(point.name, []).append(point)
        return self._installed


def _package(point: EntryPoint) -> str:
    return "an installed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _class(found: Any, kind: str, name: str) -> type[Any]:
    if not isinstance(found, type):
        raise ComityError(f"The {kind} {name} is not a class: name the class itself.")
    return found
