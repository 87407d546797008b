"""`--opponents NAME --opponents.SETTING value`: any matchmaker of the registry, or `MODULE:CLASS`."""

import dataclasses
from dataclasses import field
from functools import partial
from typing import Annotated, Any

import tyro

from comity.core.errors import ComityError
from comity.core.matchmaker import Matchmaker
from comity.play.specs import MATCHMAKERS, matchmaker_class, matchmaker_data

FLAG = "--opponents"
DEFAULT = "self-play"
FIELD = "matchmaker"
# The names are those of the registry, so that a row there is enough for the command line.
Name = Annotated[str, tyro.conf.arg(metavar="|".join([*MATCHMAKERS.rows(), "MODULE:CLASS"]))]


def named_matchmaker(arguments: list[str], default: str) -> type[Any]:
    """The class that the arguments name; the last one counts, as for every option."""
    name = default
    for place, argument in enumerate(arguments):
        option, separator, value = argument.partition("=")
        if option != FLAG:
            continue
        if not separator and place + 1 == len(arguments):
            raise ComityError(f"{FLAG} needs a name: one of {', '.join(MATCHMAKERS.rows())}.")
        name = value if separator else arguments[place + 1]
    return matchmaker_class(name)


def matchmaker_fields(arguments: list[str], default: Matchmaker) -> list[tuple[str, Any, Any]]:
    """The settings of the matchmaker that the arguments name, as a field for the parser, if it has any."""
    cls = named_matchmaker(arguments, matchmaker_data(default)["name"])
    if not dataclasses.fields(cls):
        return []
    make = partial(_same, default) if type(default) is cls else cls
    return [(FIELD, Annotated[cls, tyro.conf.arg(name="opponents")], field(default_factory=make))]


def parsed_matchmaker(settings: Any) -> Matchmaker:
    """The matchmaker with its settings, from what was parsed."""
    found: Matchmaker | None = getattr(settings, FIELD, None)
    return matchmaker_class(settings.opponents)() if found is None else found


def _same(value: Any) -> Any:
    return value
