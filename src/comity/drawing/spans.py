"""Texts with colours."""

from comity.core import palette
from comity.core.scene import Cell

Spans = tuple[tuple[str, str], ...]


def spans_of(cell: Cell) -> Spans:
    """A cell as texts with colours."""
    return ((cell, palette.LABEL),) if isinstance(cell, str) else cell
