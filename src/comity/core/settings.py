"""Settings as plain data: every game, agent and experiment can be written to JSON and read back.

A configurable class is a dataclass whose fields are numbers, strings, booleans, tuples of these, or
other configurable classes. Reading checks every value against the field's type, and nothing in a file
can name code: classes are found only through registries.

A field whose type is a base class with `options: ClassVar[Registry]` is a choice by name: its data are
`{"name": "gru", "width": 64}`, or just `"gru"` for the class as it is by default; a class of the user's own
is named `MODULE:CLASS`, if the user trusts it. Without a name the class
is that of the field's default. Settings that are not given keep the values of the field's default where the
class is not named, and those of the class where it is.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from comity.core.errors import ComityError, bad_value, unknown_name
from comity.core.registry import Registry
from comity.core.trust import name_or_path

LARGEST = 3.4e38  # what float32 can hold
# (class, its settings, its path in errors, what keeps its value where nothing is given) -> object
Resolve = Callable[[type[Any], Mapping[str, Any], str, Any], Any]


def options_of(kind: Any) -> Registry | None:
    """The names to choose from for a field of this type, if it is a choice by name; it may be optional."""
    if get_origin(kind) in (Union, types.UnionType):
        found = [options for part in get_args(kind) if (options := options_of(part)) is not None]
        return found[0] if len(found) == 1 else None
    options = vars(kind).get("options") if isinstance(kind, type) else None  # not those of a base
    return options if isinstance(options, Registry) else None


def to_data(value: Any, name_of: Callable[[type[Any]], str | None], path: str = "A setting") -> Any:
    """A setting as JSON data; objects of classes with a name carry it under "name".

    That is the name that `name_of` gives, or the one among the `options` of a choice. `path` is the field's
    name in errors.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: to_data(getattr(value, field.name), name_of, field.name)
            for field in dataclasses.fields(value)
            if field.init
        }
        name = name_of(type(value))
        if name is None and isinstance(options := getattr(type(value), "options", None), Registry):
            name = name_or_path(options.name_of, type(value))
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


def from_data(kind: Any, data: Any, path: str, resolve: Resolve, default: Any = None) -> Any:
    """The setting that JSON data stands for, checked against its type.

    `resolve` builds objects of configurable classes; `path` is the field's name in errors; `default` is
    what the field has if nothing is given. An object of the class is taken as it is.
    """
    origin = get_origin(kind)
    if kind is Any:
        return data
    if kind is None or kind is type(None):
        return _expect(data is None, data, path, "null")
    if origin is Literal:
        return _expect(data in get_args(kind), data, path, _one_of(get_args(kind)))
    if origin is Union or origin is types.UnionType:
        return _from_union(kind, data, path, resolve, default)
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
        return _from_class(kind, data, path, resolve, default)
    raise ComityError(f"{path}: settings of type {kind} cannot be read from a file.")


def build(cls: type[Any], data: Mapping[str, Any], path: str, resolve: Resolve, default: Any = None) -> Any:
    """An object of a configurable class from its fields.

    Fields not given are those of the object `default`, or keep their defaults.
    """
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    values = {}
    for name, value in data.items():
        if name not in fields:
            raise _unknown_setting(path, name, fields)
        own = _default(fields[name], default)
        values[name] = from_data(hints[name], value, f"{path}.{name}", resolve, own)
    for name, field in fields.items():
        if name in values:
            continue
        if default is not None:
            values[name] = getattr(default, name)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ComityError(f"{path}.{name} is missing: it has no default.")
    return cls(**values)


def _unknown_setting(path: str, name: str, fields: Mapping[str, Any]) -> ComityError:
    """An error that says where a setting of this name is, if one lies deeper, else the nearest names."""
    deeper = [place for own, field in fields.items() for place in _places(own, _default(field, None), name)]
    if deeper:
        return ComityError(
            f"There is no setting of {path} named {name!r}. Did you mean {' or '.join(deeper)}?"
        )
    return unknown_name(f"setting of {path}", name, fields)


def _places(path: str, value: Any, name: str) -> list[str]:
    """The dotted names of all settings of a name within a configurable object."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return []
    found = []
    for field in dataclasses.fields(value):
        own = f"{path}.{field.name}"
        found += [own] if field.name == name else _places(own, getattr(value, field.name), name)
    return found


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as nested settings: {"network.width": 32} becomes {"network": {"width": 32}}.

    The name of a choice and its settings may come in any order: {"network": "gru", "network.width": 32}
    becomes {"network": {"name": "gru", "width": 32}}.
    """
    nested: dict[str, Any] = {}
    for name in sorted(flat, key=lambda name: name.count(".")):  # the whole before its parts
        *parents, last = name.split(".")
        inner = nested
        for depth, parent in enumerate(parents):
            whole = inner.get(parent, {})
            if isinstance(whole, str):
                whole = {"name": whole}
            if not isinstance(whole, Mapping):
                path = ".".join(parents[: depth + 1])
                raise ComityError(f"{path} is given as a whole already, so {name} cannot be given too.")
            inner[parent] = inner = dict(whole)
        inner[last] = flat[name]
    return nested


def _default(field: "dataclasses.Field[Any]", owner: Any) -> Any:
    """What a field has if nothing is given: that of the object it is a field of, or its own default."""
    if owner is not None:
        return getattr(owner, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _from_class(kind: type[Any], data: Any, path: str, resolve: Resolve, default: Any) -> Any:
    """An object of a configurable class: chosen by name if the class has options, else of this class."""
    if isinstance(data, kind):
        return data
    options = options_of(kind)
    if options is not None and isinstance(data, str):
        data = {"name": data}
    if not isinstance(data, Mapping):
        what = f"the settings of a {kind.__name__}" if options is None else _one_of(tuple(options.rows()))
        raise bad_value(path, data, what)
    if options is None:
        own = getattr(kind, "options", None)
        own_name = name_or_path(own.name_of, kind) if isinstance(own, Registry) else None
        if own_name and data.get("name") == own_name:  # the type leaves no choice, and the data agree
            data = {name: value for name, value in data.items() if name != "name"}
        return resolve(kind, data, path, default if isinstance(default, kind) else None)
    settings = {name: value for name, value in data.items() if name != "name"}
    if "name" not in data:
        if not isinstance(default, kind):
            raise ComityError(f"{path}.name is missing: it must be {_one_of(tuple(options.rows()))}.")
        return resolve(type(default), settings, path, default)
    name = str(data["name"])
    if ":" not in name and name not in options:
        raise unknown_name(f"{options.kind} for {path}", name, options.rows())
    cls = options.load(name)
    if not issubclass(cls, kind):
        raise ComityError(f"{path}: the class {cls.__name__} is not a {kind.__name__}.")
    return resolve(cls, settings, path, None)


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


def _from_union(kind: Any, data: Any, path: str, resolve: Resolve, default: Any) -> Any:
    reasons = []
    for option in get_args(kind):
        try:
            return from_data(option, data, path, resolve, default)
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
