"""Rows of named values: a list of dictionaries that is also read by column, and shown as a table."""

from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

import numpy as np

from comity.core.display import brief, html_table
from comity.core.errors import ComityError, unknown_name

FIRST, LAST = 3, 7  # rows that a notebook shows of a long table


class Rows(list[dict[str, Any]]):
    """A list of rows: `rows[-1]` is a row, `rows["reward"]` a column, `rows.table()` a pandas data frame."""

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in the order in which they appear."""
        return list(dict.fromkeys(name for row in self for name in row))

    @overload
    def __getitem__(self, key: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Rows": ...
    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> "dict[str, Any] | Rows | np.ndarray":
        if isinstance(key, str):
            if key not in self.columns:
                raise unknown_name("column", key, self.columns)
            return np.asarray([row.get(key, np.nan) for row in self])
        return Rows(super().__getitem__(key)) if isinstance(key, slice) else super().__getitem__(key)

    def table(self) -> Any:
        """The rows as a pandas data frame."""
        try:
            import pandas
        except ImportError:
            raise ComityError(
                "A data frame needs pandas: pip install pandas. Without it, these are a list of rows."
            ) from None
        return pandas.DataFrame(list(self), columns=self.columns)

    def _repr_html_(self) -> str:
        numbers: Iterable[int] = range(len(self))
        if len(self) > FIRST + LAST:
            numbers = [*range(FIRST), *range(len(self) - LAST, len(self))]
        rows = [
            [i, *("" if name not in self[i] else brief(self[i][name]) for name in self.columns)]
            for i in numbers
        ]
        if len(self) > FIRST + LAST:
            rows.insert(FIRST, ["...", *[""] * len(self.columns)])
        return html_table(["", *self.columns], rows, f"{len(self)} rows")
