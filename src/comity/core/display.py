"""How values look in a notebook and at a prompt: short, whatever arrays they hold."""

import dataclasses
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np

from comity.core import palette

T = TypeVar("T")
SHOWN = 8  # numbers of an array that are shown; of a larger one, its shape
MOST_ITEMS = 6
LONGEST = 200  # characters of one value


def number(value: Any) -> str:
    """A number with four digits that count; large ones whole."""
    own = float(value)
    whole = (own == int(own) or abs(own) >= 1000) and abs(own) < 1e9
    return f"{own:,.0f}" if whole else f"{own:.4g}"


def brief(value: Any) -> str:
    """A value in a few words: large arrays by their shape, settings by what differs from their defaults."""
    if isinstance(value, bool | str | None):
        return repr(value) if isinstance(value, str) else str(value)
    if isinstance(value, int | float | np.number):
        return number(value) if np.isfinite(value) else str(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _brief_array(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _call(value, zip(value._fields, value, strict=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return brief_settings(value)
    if isinstance(value, dict):
        return _several([f"{key}: {brief(own)}" for key, own in value.items()], "{", "}")
    if isinstance(value, tuple | list):
        ends = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return _several([brief(own) for own in value], *ends)
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def brief_settings(value: Any) -> str:
    """An object with fields as the call that makes it, with only those that differ from their defaults."""
    given = [
        (field.name, getattr(value, field.name, None))
        for field in dataclasses.fields(value)
        if field.init and field.repr and not _is_default(field, getattr(value, field.name, None))
    ]
    return _call(value, given)


class Shaded(NamedTuple):
    """A cell of a table with a colour behind it."""

    text: str
    colour: str


def html_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table for a notebook; all text is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f"<b>{escape(caption)}</b>" if caption else ""
    above = f"<thead><tr>{head}</tr></thead>" if headings else ""
    return f"<div>{title}<table>{above}<tbody>{body}</tbody></table></div>"


def _cell(cell: Any) -> str:
    if isinstance(cell, Shaded):
        look = f"background:{escape(cell.colour)};color:{palette.ON_CELL}"
        return f'<td style="{look}">{escape(cell.text)}</td>'
    return f"<td>{escape(str(cell))}</td>"


def curve(values: Sequence[float] | np.ndarray, width: int = 320, height: int = 60) -> str:
    """Numbers as a line for a notebook, as SVG; those that are not finite are left out."""
    numbers = np.asarray(values, np.float64)
    places = np.flatnonzero(np.isfinite(numbers))
    if places.size < 2:
        return ""
    low, high = float(numbers[places].min()), float(numbers[places].max())
    x = 2 + (width - 4) * places / (len(numbers) - 1)
    y = 2 + (height - 4) * (high - numbers[places]) / ((high - low) or 1.0)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    first, last, least, most = map(number, (numbers[places[0]], numbers[places[-1]], low, high))
    name = f"from {first} to {last}, between {least} and {most}"
    return (
        f'<svg role="img" aria-label="{name}" width="{width}" height="{height}" style="display:block">'
        f"<title>{name}</title>"
        f'<polyline fill="none" stroke="{palette.BLUE}" stroke-width="2" points="{points}"/></svg>'
    )


def displayed(cls: type[T]) -> type[T]:
    """Gives a record (a NamedTuple or a dataclass of results) a short repr and a table for notebooks."""
    cls.__repr__ = brief_record  # type: ignore[method-assign]
    if not hasattr(cls, "_repr_html_"):
        cls._repr_html_ = _record_html  # type: ignore[attr-defined]
    return cls


def brief_record(self: Any) -> str:
    """A record as the call that makes it."""
    return _call(self, _fields(self))


def _record_html(self: Any) -> str:
    return html_table((), [(name, brief(value)) for name, value in _fields(self)], type(self).__name__)


def _fields(record: Any) -> list[tuple[str, Any]]:
    names = getattr(record, "_fields", None) or [field.name for field in dataclasses.fields(record)]
    return [(name, getattr(record, name)) for name in names]


def _call(value: Any, given: Iterable[tuple[str, Any]]) -> str:
    return f"{type(value).__name__}({', '.join(f'{name}={brief(own)}' for name, own in given)})"


def _several(items: list[str], opening: str, closing: str) -> str:
    more = [f"... {len(items) - MOST_ITEMS} more"] if len(items) > MOST_ITEMS else []
    return opening + ", ".join([*items[:MOST_ITEMS], *more]) + closing


def _brief_array(value: Any) -> str:
    if np.prod(value.shape) > SHOWN or not np.issubdtype(value.dtype, np.number):
        return f"<{value.dtype} {' x '.join(map(str, value.shape)) or 'scalar'}>"
    try:
        array = np.asarray(value)
    except Exception:  # a number that is being traced has no value
        return f"<{value.dtype} traced>"
    if array.ndim == 0:
        return brief(array.item())
    return "[" + ", ".join(brief(own) for own in array) + "]"


def _is_default(field: "dataclasses.Field[Any]", value: Any) -> bool:
    try:
        return bool(field.default == value)
    except Exception:  # arrays that are being traced have no truth value
        return False
