"""Where third-party environments come from, and how one is made. No JAX here."""

import importlib.util
import json
import os
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from comity.bridges.adapters import Adapter, Parallel, Single
from comity.bridges.meltingpot import Substrate
from comity.bridges.turn_based import TurnBased, is_turn_based
from comity.core.errors import ComityError
from comity.core.trust import find_function

KNOWN = ("pettingzoo", "mpe2", "gymnasium")  # packages that may be named in files


def failure(name: str, error: Exception) -> ComityError:
    """An error of somebody else's code in one sentence, with the place where it was raised."""
    if isinstance(error, ComityError):
        return error
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(where.filename)}, line {where.lineno}"
    return ComityError(f"{name} failed: {type(error).__name__}: {' '.join(str(error).split())} ({place}).")


class Source(NamedTuple):
    """Where an environment comes from: its kind, its name or import path, and keyword arguments as JSON."""

    kind: str
    name: str
    arguments: str = "{}"


def maker(source: Source) -> Callable[[], Adapter]:
    """A function that makes the environment; raises if there is none or its code is not trusted."""
    for package in ("gymnasium", "pettingzoo"):
        if importlib.util.find_spec(package) is None:
            raise ComityError(
                f"Third-party environments need {package}: install it with pip install 'comity[pettingzoo]'."
            )
    try:
        arguments = json.loads(source.arguments)
    except ValueError as error:
        raise ComityError(f"The arguments of {source.name} are not JSON: {error}.") from None
    if source.kind == "gymnasium":
        return lambda: Single(_gymnasium(source.name, arguments), source.name)
    if source.kind == "meltingpot":
        return lambda: Parallel(Substrate(source.name, **arguments), source.name)
    make = _find(source)

    def environment() -> Adapter:
        made = _made(source.name, make, arguments)
        if is_turn_based(made):
            return TurnBased(made, source.name)
        if hasattr(made, "possible_agents"):
            return Parallel(made, source.name)
        if hasattr(made, "observation_space") and hasattr(made, "action_space"):
            return Single(made, source.name)
        raise ComityError(
            f"{source.name} gave a {type(made).__name__}, which is neither a PettingZoo nor a Gymnasium "
            f"environment."
        )

    return environment


def _made(name: str, make: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What a function of somebody else's makes of arguments."""
    try:
        return make(**arguments)
    except TypeError as error:
        raise ComityError(
            f"{name} cannot be made with {_words(arguments)}: {error}; arguments are given as in "
            f"--game.arguments size=3."
        ) from None
    except Exception as error:
        raise failure(name, error) from None


def _words(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "no arguments"


def _gymnasium(name: str, arguments: dict[str, Any]) -> Any:
    import gymnasium

    if ":" in name:
        raise ComityError(f"Gymnasium environments are named without a module: {name.rsplit(':', 1)[1]}.")
    try:
        gymnasium.spec(name)
    except gymnasium.error.Error as error:
        raise ComityError(f"Gymnasium has no environment {name!r}: {error}") from None
    return _made(name, partial(gymnasium.make, name), arguments)


def _find(source: Source) -> Callable[..., Any]:
    """The function behind `module:function`, or a PettingZoo module's `parallel_env` or `env`."""
    known = ":" not in source.name and source.name.split(".")[0] in KNOWN
    make: Callable[..., Any] = find_function(source.name, "environment", ("parallel_env", "env"), known)
    return make
