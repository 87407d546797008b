"""Specs of games as plain data, so that a file can say what a player sees and does without its game.

Reading trusts nothing: every value is checked against its type and bounded in size before anything is made
of it, and errors name the field. A space is an object with its `kind`:

    {"kind": "discrete", "n": 2, "labels": ["C", "D"]}        {"kind": "bits", "shape": [4, 9, 9]}
    {"kind": "box", "shape": [3], "low": 0.0, "high": null}   {"kind": "tuple", "parts": [...]}
    {"kind": "masked", "observation": {...}, "choices": 5}

`null` stands for a bound at infinity.
"""

import math
from collections.abc import Mapping
from typing import Any

from comity.core.errors import bad_value, require, unknown_name
from comity.core.game import GameSpec, Seat
from comity.core.spaces import Bits, Box, Discrete, Masked, Space, flat_size

LARGEST_SPACE = 2**24  # numbers in one observation or action
LARGEST_AXES = 8
LARGEST_DEPTH = 16  # tuples within tuples
LARGEST_TEXT = 1000
LARGEST_SEATS = 10_000


def space_data(space: Space) -> dict[str, Any]:
    """A space as JSON data."""
    match space:
        case Discrete(n=n, labels=labels):
            return {"kind": "discrete", "n": n, "labels": list(labels)}
        case Box(shape=shape, low=low, high=high):
            return {
                "kind": "box",
                "shape": list(shape),
                "low": None if low == -math.inf else _finite(low, "low"),
                "high": None if high == math.inf else _finite(high, "high"),
            }
        case Bits(shape=shape):
            return {"kind": "bits", "shape": list(shape)}
        case Masked(observation=inner, choices=choices):
            return {"kind": "masked", "observation": space_data(inner), "choices": choices}
        case _:
            return {"kind": "tuple", "parts": [space_data(part) for part in space]}


def space_from_data(data: Any, path: str, depth: int = 0) -> Space:
    """The space that data stand for."""
    require(depth <= LARGEST_DEPTH, path, "a space", f"nested at most {LARGEST_DEPTH} deep")
    kind = _kind(data, path)
    fields = _fields(data, path, ("kind", *_FIELDS[kind]))
    match kind:
        case "discrete":
            n = _whole(fields["n"], f"{path}.n", 1, LARGEST_SPACE)
            labels = _list(fields["labels"], f"{path}.labels", n)
            require(len(labels) in (0, n), f"{path}.labels", labels, f"empty or {n} texts")
            return Discrete(n, tuple(_text(x, f"{path}.labels[{i}]") for i, x in enumerate(labels)))
        case "box":
            low, high = (_bound(fields[name], f"{path}.{name}") for name in ("low", "high"))
            box = Box(
                _shape(fields["shape"], f"{path}.shape"),
                -math.inf if low is None else low,
                math.inf if high is None else high,
            )
            require(box.low <= box.high, f"{path}.low", low, f"at most high, {high}")
            return box
        case "bits":
            shape = _shape(fields["shape"], f"{path}.shape")
            fits = len(shape) == 3 and 1 <= shape[0] <= 31
            require(fits, f"{path}.shape", shape, "1 to 31 planes, height, width")
            return Bits((shape[0], shape[1], shape[2]))
        case "masked":
            inner = space_from_data(fields["observation"], f"{path}.observation", depth + 1)
            return Masked(inner, _whole(fields["choices"], f"{path}.choices", 1, LARGEST_SPACE))
        case _:
            parts = _list(fields["parts"], f"{path}.parts", LARGEST_SPACE)
            space = tuple(
                space_from_data(part, f"{path}.parts[{i}]", depth + 1) for i, part in enumerate(parts)
            )
            size = flat_size(space)
            require(size <= LARGEST_SPACE, path, f"{size} numbers", f"at most {LARGEST_SPACE} numbers")
            return space


def spec_data(spec: GameSpec) -> dict[str, Any]:
    """The spec of a game as JSON data."""
    return {
        "seats": [_seat_data(seat) for seat in spec.seats],
        "state": None if spec.state is None else space_data(spec.state),
        "horizon": spec.horizon,
        "family": spec.family,
        "symmetric": spec.symmetric,
    }


def spec_from_data(data: Any, path: str = "spec") -> GameSpec:
    """The spec that data stand for."""
    fields = _fields(data, path, GameSpec._fields)
    seats = _list(fields["seats"], f"{path}.seats", LARGEST_SEATS)
    require(len(seats) >= 1, f"{path}.seats", seats, "at least one seat")
    state, horizon, symmetric = fields["state"], fields["horizon"], fields["symmetric"]
    return GameSpec(
        seats=tuple(_seat_from_data(seat, f"{path}.seats[{i}]") for i, seat in enumerate(seats)),
        state=None if state is None else space_from_data(state, f"{path}.state"),
        horizon=None if horizon is None else _whole(horizon, f"{path}.horizon", 1, 2**31 - 1),
        family=_text(fields["family"], f"{path}.family"),
        symmetric=_truth(symmetric, f"{path}.symmetric"),
    )


_FIELDS = {
    "discrete": ("n", "labels"),
    "box": ("shape", "low", "high"),
    "bits": ("shape",),
    "masked": ("observation", "choices"),
    "tuple": ("parts",),
}


def _seat_data(seat: Seat) -> dict[str, Any]:
    return {
        "name": seat.name,
        "observation": space_data(seat.observation),
        "action": space_data(seat.action),
        "resampled": list(seat.resampled),
        "role": seat.role,
    }


def _seat_from_data(data: Any, path: str) -> Seat:
    fields = _fields(data, path, Seat._fields)
    observation = space_from_data(fields["observation"], f"{path}.observation")
    resampled = _list(fields["resampled"], f"{path}.resampled", flat_size(observation))
    return Seat(
        name=_text(fields["name"], f"{path}.name"),
        observation=observation,
        action=space_from_data(fields["action"], f"{path}.action"),
        resampled=tuple(_truth(flag, f"{path}.resampled[{i}]") for i, flag in enumerate(resampled)),
        role=_text(fields["role"], f"{path}.role"),
    )


def _kind(data: Any, path: str) -> str:
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise bad_value(f"{path}.kind", kind, f"one of {', '.join(_FIELDS)}")
    return kind


def _fields(data: Any, path: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    """The fields of an object, which has these and no others."""
    if not isinstance(data, Mapping):
        raise bad_value(path, data, "an object")
    for name in data:
        if name not in names:
            raise unknown_name(f"field of {path}", str(name), names)
    missing = [name for name in names if name not in data]
    require(not missing, path, sorted(data), f"an object with {', '.join(missing)} too")
    return data


def _whole(value: Any, path: str, least: int, most: int) -> int:
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    require(fits, path, value, f"a whole number between {least} and {most}")
    return int(value)


def _truth(value: Any, path: str) -> bool:
    require(isinstance(value, bool), path, value, "true or false")
    return bool(value)


def _text(value: Any, path: str) -> str:
    fits = isinstance(value, str) and len(value) <= LARGEST_TEXT
    require(fits, path, str(value)[:40], f"a text of at most {LARGEST_TEXT} letters")
    return str(value)


def _list(value: Any, path: str, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        length = len(value) if isinstance(value, list) else value
        raise bad_value(path, length, f"a list of at most {most}")
    return value


def _shape(value: Any, path: str) -> tuple[int, ...]:
    axes = _list(value, path, LARGEST_AXES)
    shape = tuple(_whole(axis, f"{path}[{i}]", 0, LARGEST_SPACE) for i, axis in enumerate(axes))
    require(math.prod(shape) <= LARGEST_SPACE, path, list(shape), f"at most {LARGEST_SPACE} numbers")
    return shape


def _bound(value: Any, path: str) -> float | None:
    if value is None:
        return None
    require(isinstance(value, int | float) and not isinstance(value, bool), path, value, "a number or null")
    return _finite(value, path)


def _finite(value: float, path: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    require(math.isfinite(number), path, value, "a finite number, or null for infinity")
    return number
