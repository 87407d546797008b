"""Code of the user's own, by its import path: run only if the user named it, never because a file did."""

import importlib
import os
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

from comity.core.errors import ComityError

TRUST = "COMITY_TRUST"  # environment variable: import paths whose code may be run, separated by commas


def trust(name: str) -> None:
    """Allows the code behind an import path to be run, here and in the processes that are started."""
    trusted = os.environ.get(TRUST, "")
    if name not in trusted.split(","):
        os.environ[TRUST] = f"{trusted},{name}" if trusted else name


def find_function(name: str, what: str, defaults: tuple[str, ...] = (), known: bool = False) -> Any:
    """The function behind `MODULE:FUNCTION`, or the first of `defaults` that a `MODULE` has.

    `what` says in messages what it is. A `known` module needs no trust.
    """
    module, _, function = name.partition(":")
    if not module:
        raise ComityError(f"{name!r} is no {what}: it must be MODULE:NAME.")
    if not known and name not in os.environ.get(TRUST, "").split(","):
        raise ComityError(
            f"The {what} {name} runs code of its own. If you trust it, name it on the command line or set "
            f"{TRUST}={name} first."
        )
    if not known and os.getcwd() not in sys.path:  # a program's own folder is not that of the user's code
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ComityError(f"The {what} {name} cannot be imported: {error}.") from None
    except Exception as error:  # code of the user's own may fail in any way
        problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ComityError(f"The {what} {name} cannot be imported: {problem}.") from error
    wanted = (function,) if function else defaults
    for attribute in wanted:
        made: Callable[..., Any] | None = getattr(found, attribute, None)
        if callable(made):
            return made
    raise ComityError(f"The module {module} has no {' or '.join(wanted)} that gives the {what}.")


def name_or_path(name_of: Callable[[type[Any]], str], cls: type[Any]) -> str:
    """The name of a class in its registry; without one, its import path, if it can be imported by it.

    An object of the class was made in this process, so its code is the user's own and is trusted here and in
    the processes that are started; whoever reads the name in a file elsewhere is asked.
    """
    try:
        return name_of(cls)
    except ComityError:
        path = f"{cls.__module__}:{cls.__qualname__}"
        if cls.__module__ == "__main__" or "." in cls.__qualname__ or _found(path) is not cls:
            raise
        trust(path)
        return path


def _found(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return reduce(
        lambda found, part: getattr(found, part, None), attribute.split("."), sys.modules.get(module)
    )
