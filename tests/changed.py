"""Objects with one setting changed at a time, so that a test of files notices every field that is lost."""

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Literal, Union, get_args, get_origin

from comity.core.errors import ComityError


def one_change_each(
    value: Any,
    given: Mapping[str, Any] | None = None,
    fixed: Collection[str] = (),
    within: Callable[[Any], Any] = lambda value: value,
) -> Iterator[tuple[str, Any]]:
    """For every field of a dataclass, nested ones too: its name, and the object with that field changed.

    A field is changed to the first value of its type that the object accepts, or to the one that is `given`
    for it. Fields that accept no other value raise, so that none is left out in silence, unless they are
    `fixed`. `within` puts a nested object into the one around it.
    """
    hints = typing.get_type_hints(type(value))
    for field in dataclasses.fields(value):
        if not field.init or field.name in fixed:
            continue
        now = getattr(value, field.name)
        place = partial(_placed, within, value, field.name)
        if dataclasses.is_dataclass(now) and not isinstance(now, type) and dataclasses.fields(now):
            for name, changed in one_change_each(now, given, fixed, place):
                yield f"{field.name}.{name}", changed
            continue
        wanted = [given[field.name]] if given and field.name in given else others(hints[field.name], now)
        found = (_accepted(place, other) for other in wanted)
        changed = next((one for one in found if one is not None), None)
        if changed is None:
            raise AssertionError(f"{type(value).__name__}.{field.name} accepts nothing but {now!r}")
        yield field.name, changed


def others(kind: Any, now: Any) -> Iterator[Any]:
    """Values of a type that differ from the one there is."""
    for value in _values(kind, now):
        if value != now or type(value) is not type(now):
            yield value


def _values(kind: Any, now: Any) -> Iterator[Any]:
    origin = get_origin(kind)
    if origin is Literal:
        yield from get_args(kind)
    elif origin is Union or origin is types.UnionType:
        for option in get_args(kind):
            yield from _values(option, now)
    elif origin is tuple:
        yield from _tuples(get_args(kind), now)
    elif kind is bool:
        yield from (True, False)
    elif kind is int:
        start = now if isinstance(now, int) else 0
        yield from (start + 1, start - 1, 2 * start, start + 2, start // 2, 1, 2, 3, 4, 8, 16, 0)
    elif kind is float:
        rate = now if isinstance(now, float) else 0.0
        yield from (0.75 * rate, rate + 0.25, 2.0 * rate, 0.5, 0.25, 1.5, 1.0, 0.0)
    elif kind is str:
        yield from (f"{now}x", "x", "n=1")
    elif isinstance(kind, type) and (options := getattr(kind, "options", None)) is not None:
        yield from (options.load(name)() for name in options.rows())


def _tuples(kinds: tuple[Any, ...], now: Any) -> Iterator[Any]:
    items = now if isinstance(now, tuple) else ()
    yield items[::-1]
    for i, item in enumerate(items):
        kind = kinds[0] if kinds[-1] is Ellipsis else kinds[i]
        for value in others(kind, item):
            yield (*items[:i], value, *items[i + 1 :])
    if kinds and kinds[-1] is Ellipsis:
        first = next(iter(_values(kinds[0], None)), None)
        if first is not None:
            yield (*items, first)
            yield (first, first)


def _placed(within: Callable[[Any], Any], value: Any, name: str, other: Any) -> Any:
    return within(dataclasses.replace(value, **{name: other}))


def _accepted(place: Callable[[Any], Any], other: Any) -> Any:
    try:
        return place(other)
    except (ComityError, TypeError):
        return None
