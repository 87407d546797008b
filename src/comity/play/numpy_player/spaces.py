"""What a player sees, as described in its file: checked, and as the vector that networks read."""

import json
import math
from typing import Any

import numpy as np

Space = dict[str, Any]


def read(space: Space, obs: Any) -> tuple[Any, tuple[int, ...]]:
    """An observation as arrays, and its leading axis if there are several; raises if it is not one."""
    try:
        value, leading = _read(space, obs)
    except (TypeError, IndexError, OverflowError, ValueError):
        leading = set()
    if len(leading) != 1:
        raise ValueError(f"obs is not what the player sees, {json.dumps(space)[:500]}, or several of these.")
    return value, leading.pop()


def _read(space: Space, obs: Any) -> tuple[Any, set[tuple[int, ...]]]:
    kind = space["kind"]
    if kind in ("masked", "tuple"):
        masked = kind == "masked"
        legal = {"kind": "mask", "n": space["choices"]} if masked else {}
        parts = [space["observation"], legal] if masked else space["parts"]
        found = [_read(part, own) for part, own in zip(parts, obs, strict=True)]
        return tuple(value for value, _ in found), {axes for _, own in found for axes in own}
    array = np.asarray(obs)
    whole, low, high = kind != "box", space.get("low"), space.get("high")
    shape: tuple[int, ...] = tuple(space.get("shape", ()))
    if kind == "mask":
        shape, fits = (space["n"],), array.dtype == np.bool_ and bool(array.any(axis=-1).all())
    else:
        fits = np.issubdtype(array.dtype, np.integer if whole else np.number)
        if whole:
            low, high = 0, (space["n"] if kind == "discrete" else 2 ** shape[0]) - 1
            shape = shape[1:]
        fits = fits and bool(np.all(array >= (-math.inf if low is None else low)))
        fits = fits and bool(np.all(array <= (math.inf if high is None else high)))
    leading = array.shape[: max(0, array.ndim - len(shape))]
    if not fits or len(leading) > 1 or array.shape[len(leading) :] != shape or 0 in leading:
        raise ValueError
    return array, {leading}


def encode(space: Space, value: Any) -> np.ndarray:
    """An observation as the vector that networks read, after any leading axes."""
    kind = space["kind"]
    if kind == "masked":
        return encode(space["observation"], value[0])
    if kind == "tuple":
        parts = zip(space["parts"], value, strict=True)
        return np.concatenate([encode(part, own) for part, own in parts], axis=-1)
    if kind == "discrete":
        return np.asarray(value[..., None] == np.arange(space["n"]), np.float32)
    shape = tuple(space["shape"])
    if kind == "bits":
        bits = value[..., None, :, :] >> np.arange(shape[0]).reshape(-1, 1, 1) & 1
        return bits.reshape((*bits.shape[:-3], -1)).astype(np.float32)
    array, low, high = np.asarray(value, np.float32), space["low"], space["high"]
    if low is not None and high is not None and low < high:
        array = (array - np.float32(low)) / np.float32(high - low)
        array = 2 * array - 1 if len(shape) == 1 else array
    return array.reshape((*array.shape[: array.ndim - len(shape)], math.prod(shape)))
