"""Flags that choose a class by name, such as `--agent.network gru`, and with it which other flags there are.

The parser takes nested settings from the classes of their defaults. So these flags are looked for first, and
the defaults are made of the classes that they name.
"""

import dataclasses
import typing
from typing import Annotated, Any, Literal, NamedTuple

import tyro

from comity.core.errors import ComityError, unknown_name
from comity.core.registry import Registry
from comity.core.settings import options_of
from comity.core.trust import name_or_path, trust

NONE = "none"  # what an optional choice is if nothing is chosen


class Choice(NamedTuple):
    """A flag that chooses: its name without the dashes, what there is, and what is chosen now."""

    flag: str
    options: Registry
    chosen: str
    optional: bool

    def field(self, name: str) -> tuple[str, Any, Any]:
        """A field for the parser, so that the flag is in the help and its value is read past."""
        names = (*self.options.rows(), *((NONE,) if self.optional else ()))
        if self.chosen not in names:  # one of the user's own, by its import path
            names = (*names, self.chosen)
        rows = self.options.rows().items()
        text = f"the {self.options.kind}: " + ", ".join(f"{row} ({what.summary})" for row, what in rows)
        kind = Annotated[Literal[names], tyro.conf.arg(name=self.flag, help=text)]  # type: ignore[valid-type]
        return name, kind, dataclasses.field(default=self.chosen)


def choose(settings: Any, flag: str, arguments: list[str]) -> tuple[Any, list[Choice]]:
    """Settings whose choices, at any depth, are of the classes that arguments name, and all these choices.

    `flag` is that of the settings, without dashes.
    """
    choices: list[Choice] = []
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        if not field.init:
            continue
        before = after = getattr(settings, field.name)
        own_flag = f"{flag}.{field.name}".replace("_", "-")
        options = options_of(hints[field.name])
        if options is not None:
            name = _value(own_flag, arguments)
            optional = type(None) in typing.get_args(hints[field.name])
            if name is not None:
                after = _chosen(name, own_flag, options, optional)
            current = name or (NONE if after is None else name_or_path(options.name_of, type(after)))
            choices.append(Choice(own_flag, options, current, optional))
        if dataclasses.is_dataclass(after):
            after, inner = choose(after, own_flag, arguments)
            choices += inner
        if after is not before:
            settings = dataclasses.replace(settings, **{field.name: after})
    return settings, choices


def _value(flag: str, arguments: list[str]) -> str | None:
    """What comes after a flag, or behind its equals sign; the last one counts."""
    found = None
    for i, word in enumerate(arguments):
        given, equals, value = word.partition("=")
        if given.startswith("--") and given[2:].replace("_", "-") == flag:
            following = arguments[i + 1] if i + 1 < len(arguments) else "--"
            found = value if equals else found if following.startswith("-") else following
    return found


def _chosen(name: str, flag: str, options: Registry, optional: bool) -> Any:
    if optional and name == NONE:
        return None
    if ":" in name:
        trust(name)
    elif name not in options:
        raise unknown_name(f"{options.kind} for --{flag}", name, [*options.rows(), *([NONE] * optional)])
    cls = options.load(name)
    if getattr(cls, "options", None) is not options:
        raise ComityError(f"--{flag} {name}: the class {cls.__name__} is no {options.kind} of Comity's.")
    return cls()
