"""Settings as plain data: every game, agent and experiment can be written to JSON and read back.

A configurable class is a dataclass whose fields are numbers, strings, booleans, tuples of these, or
other configurable classes. Reading checks every value against the field's type, and nothing in a file
can name code: classes are found only through registries.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from comity.core.errors import ComityError, bad_value, unknown_name

LARGEST = 3.4e38  # what float32 can hold
Resolve = Callable[[type[Any], Mapping[str, Any], str], Any]


def to_data(value: Any, name_of: Callable[[type[Any]], str | None], path: str = "A setting") -> Any:
    """A setting as JSON data; objects of classes with a name carry it under "name".

    `path` is the field's name in errors.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: to_data(getattr(value, field.name), name_of, field.name)
            for field in dataclasses.fields(value)
            if field.init
        }
        name = name_of(type(value))
        return fields if name is None else {"name": name, **fields}
    if isinstance(value, tuple | list):
        return [to_data(item, name_of, f"{path}[{i}]") for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _expect_finite(value, path)
    if hasattr(value, "tolist"):
        return to_data(value.tolist(), name_of, path)
    raise ComityError(f"{path} is of type {type(value).__name__}, which cannot be written to a file.")


def from_data(kind: Any, data: Any, path: str, resolve: Resolve) -> Any:
    """The setting that JSON data stands for, checked against its type.

    `resolve` builds objects of classes that are found by name; `path` is the field's name in errors.
    """
    origin = get_origin(kind)
    if kind is Any:
        return data
    if kind is None or kind is type(None):
        return _expect(data is None, data, path, "null")
    if origin is Literal:
        return _expect(data in get_args(kind), data, path, _one_of(get_args(kind)))
    if origin is Union or origin is types.UnionType:
        return _from_union(kind, data, path, resolve)
    if origin is tuple:
        return _from_tuple(kind, data, path, resolve)
    if kind is bool:
        return _expect(isinstance(data, bool), data, path, "true or false")
    if kind is int:
        return _expect(isinstance(data, int) and not isinstance(data, bool), data, path, "a whole number")
    if kind is float:
        ok = isinstance(data, int | float) and not isinstance(data, bool)
        return float(_expect_finite(_expect(ok, data, path, "a finite number"), path))
    if kind is str:
        return _expect(isinstance(data, str), data, path, "a text")
    if isinstance(kind, type):
        if not isinstance(data, Mapping):
            raise bad_value(path, data, f"the settings of a {kind.__name__}")
        return resolve(kind, data, path)
    raise ComityError(f"{path}: settings of type {kind} cannot be read from a file.")


def build(cls: type[Any], data: Mapping[str, Any], path: str, resolve: Resolve) -> Any:
    """An object of a configurable class from its fields; fields not given keep their defaults."""
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    values = {}
    for name, value in data.items():
        if name not in fields:
            raise unknown_name(f"setting of {path}", name, fields)
        values[name] = from_data(hints[name], value, f"{path}.{name}", resolve)
    for name, field in fields.items():
        has_default = (
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        )
        if name not in values and not has_default:
            raise ComityError(f"{path}.{name} is missing: it has no default.")
    return cls(**values)


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as nested settings: {"network.width": 32} becomes {"network": {"width": 32}}."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, last = name.split(".")
        inner = nested
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = value
    return nested


def _expect(ok: bool, data: Any, path: str, allowed: str) -> Any:
    if not ok:
        raise bad_value(path, data, allowed)
    return data


def _expect_finite(value: float, path: str) -> float:
    """Settings are computed with as float32, where larger numbers would be infinite."""
    if not math.isfinite(value):
        raise bad_value(path, value, "a finite number")
    if abs(value) > LARGEST:
        raise bad_value(path, value, "a finite number in float32, so up to 3.4e38")
    return value


def _one_of(values: tuple[Any, ...]) -> str:
    return "one of " + ", ".join(str(value) for value in values)


def _from_union(kind: Any, data: Any, path: str, resolve: Resolve) -> Any:
    reasons = []
    for option in get_args(kind):
        try:
            return from_data(option, data, path, resolve)
        except ComityError as error:
            reasons.append(str(error))
    raise ComityError(reasons[0])


def _from_tuple(kind: Any, data: Any, path: str, resolve: Resolve) -> Any:
    if not isinstance(data, list | tuple):
        raise bad_value(path, data, "a list")
    kinds = get_args(kind)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(data)
    if len(kinds) != len(data):
        raise bad_value(path, data, f"a list of {len(kinds)} values")
    pairs = zip(kinds, data, strict=True)
    return tuple(from_data(item, value, f"{path}[{i}]", resolve) for i, (item, value) in enumerate(pairs))
