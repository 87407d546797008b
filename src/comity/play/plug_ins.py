"""Games, agents and matchmakers of one's own: by import path, as `MODULE:CLASS`.

The user may name code (on the command line, in Python) and thereby trusts it; a file may not.
"""

from typing import Any

from comity.core.errors import ComityError
from comity.core.trust import find_function, trust


def trust_path(name: str) -> None:
    """Trusts a name that the user gave, if it is an import path."""
    if ":" in name:
        trust(name)


def is_class_of(name: str, base: type[Any]) -> bool:
    """Whether a trusted `MODULE:NAME` is a class of a kind; if it cannot be found, who uses it says why."""
    if name.endswith(":"):
        return False
    try:
        found = find_function(name, "game")
    except ComityError:
        return False
    return isinstance(found, type) and issubclass(found, base)


def checked_class(cls: type[Any], base: type[Any], kind: str, name: str) -> type[Any]:
    """The class, if it is of its kind."""
    if not issubclass(cls, base):
        raise ComityError(
            f"The {kind} {name} is a {cls.__name__}: it must inherit from {base.__module__}.{base.__name__}."
        )
    return cls
