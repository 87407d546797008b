"""The one kind of error that a user can mend: it names the field, the value and what is allowed."""

import difflib
from collections.abc import Iterable


class ComityError(Exception):
    """Something the user gave does not work; the message says what would.

    The command line prints the message without a traceback and exits with code 2.
    """


def bad_value(field: str, value: object, allowed: str) -> ComityError:
    """An error for a value that a field does not take."""
    return ComityError(f"{field} = {value!r} is not possible: it must be {allowed}.")


def require(condition: bool, field: str, value: object, allowed: str) -> None:
    """Raises an error that names the field, its value and what is allowed, unless the condition holds."""
    if not condition:
        raise bad_value(field, value, allowed)


def unknown_name(what: str, name: str, known: Iterable[str]) -> ComityError:
    """An error for a name that does not exist, with the nearest ones that do."""
    names = sorted(known)
    near = near_names(name, names)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
    return ComityError(f"There is no {what} named {name!r}. {hint}")


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that are written much like a name."""
    return difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
