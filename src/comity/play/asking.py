"""What a person types or presses, as an action of a game."""

import math
import re
from typing import Any

import numpy as np
from jaxtyping import PyTree

from comity.core.errors import ComityError
from comity.core.game import Seat
from comity.core.spaces import Box, Discrete, describe, legal

_KEYS = {
    "up": ("up", "w"),
    "north": ("up", "w"),
    "forward": ("up", "w"),
    "down": ("down", "s"),
    "south": ("down", "s"),
    "backward": ("down", "s"),
    "left": ("left", "a"),
    "west": ("left", "a"),
    "right": ("right", "d"),
    "east": ("right", "d"),
    "turn left": ("left",),
    "turn right": ("right",),
    "step left": ("a",),
    "step right": ("d",),
    "stay": ("x",),
    "load": ("space",),
    "zap": ("space",),
}  # keys for actions of these names


class NotAnActionError(Exception):
    """What was typed is no action; the message says what would be."""


def check_playable(seat: Seat) -> None:
    """Raises unless a person can type the seat's actions."""
    if not isinstance(seat.action, Discrete | Box):
        raise ComityError(
            f"The seat {seat.name!r} does {describe(seat.action)}: a person can choose one of several "
            f"actions or type numbers."
        )


def keys_of(seat: Seat) -> dict[str, int]:
    """The keys for a seat's actions, where all of them have names that keys stand for; else none."""
    if not isinstance(seat.action, Discrete) or not seat.action.labels:
        return {}
    found: dict[str, int] = {}
    for action, label in enumerate(seat.action.labels):
        keys = (label.lower(),) if len(label) == 1 else _KEYS.get(label.lower(), ())
        if not keys or any(key in found or key == "q" for key in keys):
            return {}
        found |= dict.fromkeys(keys, action)
    return found


def read_action(seat: Seat, seen: PyTree, typed: str) -> Any:
    """The action that was typed: a name or the beginning of one, a number, or several numbers."""
    if isinstance(seat.action, Discrete):
        action = _read_choice(seat.action, typed.strip().lower())
        allowed = legal(seat.observation, seen)
        if allowed is not None and not bool(np.asarray(allowed)[action]):
            names = [seat.action.label(i) for i in np.flatnonzero(np.asarray(allowed)).tolist()]
            raise NotAnActionError(f"{seat.action.label(action)} is not possible now: {_some(names)}.")
        return np.int32(action)
    assert isinstance(seat.action, Box)
    return _read_numbers(seat.action, typed)


def question(seat: Seat) -> str:
    """What a person can type."""
    if isinstance(seat.action, Discrete):
        space = seat.action
        numbered = space.labels and max(map(len, space.labels)) > 1
        return _some([f"{i} {space.label(i)}" if numbered else space.label(i) for i in range(space.n)])
    assert isinstance(seat.action, Box)
    return _wanted(seat.action)


def _read_choice(space: Discrete, typed: str) -> int:
    names = [space.label(i).lower() for i in range(space.n)]
    if typed in names:
        return names.index(typed)
    if typed.isdecimal() and int(typed) < space.n:
        return int(typed)
    alike = [i for i, name in enumerate(names) if typed and name.startswith(typed)]
    if len(alike) == 1:
        return alike[0]
    raise NotAnActionError(f"{typed!r} is no action here: {_some([space.label(i) for i in range(space.n)])}.")


def _read_numbers(space: Box, typed: str) -> np.ndarray:
    words = [word for word in re.split(r"[\s,;]+", typed.strip()) if word]
    try:
        numbers = np.asarray([float(word) for word in words], np.float32)
    except ValueError:
        raise NotAnActionError(f"{typed.strip()!r} is not {_wanted(space)}.") from None
    fits = len(numbers) == math.prod(space.shape) and bool(np.isfinite(numbers).all())
    if not fits or bool(((numbers < space.low) | (numbers > space.high)).any()):
        raise NotAnActionError(f"{typed.strip()!r} is not {_wanted(space)}.")
    return numbers.reshape(space.shape)


def _wanted(space: Box) -> str:
    count = math.prod(space.shape)
    what = "a number" if count == 1 else f"{count} numbers"
    return f"{what} from {space.low:g} to {space.high:g}" if space.bounded else what


def _some(names: list[str]) -> str:
    """Names with commas; very many are cut."""
    shown = names if len(names) <= 20 else [*names[:20], "..."]
    return ", ".join(shown)
