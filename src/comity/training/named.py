"""Hooks and populations by their name on the command line, with settings behind it."""

import dataclasses
import json
from typing import Any

from comity.core.errors import ComityError, bad_value
from comity.core.registry import Registry
from comity.core.settings import build


def name_in(spec: str) -> str:
    """The name, or MODULE:CLASS, in a name with settings."""
    return spec.partition(",")[0]


def named_spec(name: str, settings: dict[str, Any]) -> str:
    """A name with settings as one text, whatever characters there are in their values."""
    return f"{name},{json.dumps(settings)}"


def make_named(spec: str, registry: Registry, base: type[Any]) -> Any:
    """What `NAME` or `MODULE:CLASS` stands for; settings follow as `,field=value`.

    Values are JSON, or texts as they are: `early-stop,metric=loss,minimise=true,patience=20`; of a tuple,
    with a plus between them: `halving,rates=0.1+0.01`. All settings may also be one JSON object, as programs
    write them (`named_spec`). A class of the user's own is loaded only if the user
    named it (see `comity.core.trust`).
    """
    kind = registry.kind
    name, settings = parse_spec(spec, kind, "early-stop,target=0.5")
    cls: Any = registry.load(name)
    if not issubclass(cls, base):
        raise ComityError(
            f"The {kind} {name} is not a class that inherits from {base.__module__}.{base.__name__}."
        )
    fields: bool = dataclasses.is_dataclass(cls)
    if settings and not fields:
        raise ComityError(f"The {kind} {name} is not a dataclass, so it takes no settings.")
    try:
        return build(cls, settings, name, _as_it_is) if fields else cls()
    except TypeError:
        raise ComityError(f"The {kind} {name} needs settings that cannot be given by name.") from None


def parse_spec(spec: str, kind: str, example: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings in a text; `kind` and `example` are for errors."""
    name, _, rest = spec.partition(",")
    settings = _json_settings(rest) if rest.startswith("{") else {}
    for setting in rest.split(",") if rest and not settings else ():
        field, equals, value = setting.partition("=")
        if not equals:
            raise bad_value(kind, spec, f"NAME or MODULE:CLASS, with settings as in {example}")
        settings[field.replace("-", "_")] = _value(value)
    return name, settings


def _as_it_is(kind: type[Any], data: Any, path: str, default: Any) -> Any:
    return data


def _json_settings(text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise ComityError(f"Settings that begin with a brace must be one JSON object: {error}.") from None
    return found


def _value(text: str) -> Any:
    if "+" in text[1:] and "e+" not in text:
        return [_value(part) for part in text.split("+")]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
