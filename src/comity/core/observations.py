"""Observations from outside: lists and numbers as the arrays that games give, one or several side by side."""

from typing import Any

import numpy as np
from jaxtyping import PyTree

from comity.core.errors import ComityError
from comity.core.spaces import Bits, Box, Discrete, Masked, Space, describe

LONGEST = 200  # characters of an observation in a message


def read_observation(space: Space, obs: Any, who: str) -> tuple[PyTree, int | None]:
    """An observation as arrays, and how many there are: None for a single one, else its leading axis.

    Raises an error that says what `who` sees if it is not one of the space.
    """
    try:
        arrays = _arrays(space, obs)
        counts = _counts(space, arrays)
        fits = len(counts) == 1 and _within(space, arrays)
    except (TypeError, ValueError, IndexError, OverflowError):  # not numbers, or not as long as a tuple
        fits, counts = False, set()
    if not fits:
        shown = repr(obs) if len(repr(obs)) <= LONGEST else f"{repr(obs)[:LONGEST]}..."
        raise ComityError(
            f"obs = {shown} is not possible: it must be {describe(space)}, or several along a first axis, as "
            f"{who} sees."
        )
    (shape,) = counts
    return arrays, shape[0] if shape else None


def _arrays(space: Space, obs: Any) -> PyTree:
    """Lists and numbers of the host in the types that games give."""
    match space:
        case Discrete() | Bits():
            array = np.asarray(obs)
            if not np.issubdtype(array.dtype, np.integer):
                raise TypeError
            return array.astype(np.int32)
        case Box():
            array = np.asarray(obs)
            if not np.issubdtype(array.dtype, np.number):
                raise TypeError
            return array if array.dtype == np.uint8 else array.astype(np.float32)
        case Masked(observation=inner):
            seen, legal = obs
            mask = np.asarray(legal)
            if mask.dtype != np.bool_:
                raise TypeError
            return _arrays(inner, seen), mask
        case _:
            return tuple(_arrays(part, item) for part, item in zip(space, obs, strict=True))


def _counts(space: Space, arrays: PyTree) -> set[tuple[int, ...]]:
    """The leading axes of all parts of an observation: one set of them, if it is sound."""
    match space:
        case Discrete():
            return {_leading(arrays, ())}
        case Box(shape=shape):
            return {_leading(arrays, shape)}
        case Bits(shape=shape):
            return {_leading(arrays, shape[1:])}
        case Masked(observation=inner, choices=choices):
            return _counts(inner, arrays[0]) | {_leading(arrays[1], (choices,))}
        case _:
            return {count for part, own in zip(space, arrays, strict=True) for count in _counts(part, own)}


def _leading(array: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes before those of a shape, none or one."""
    leading = array.ndim - len(shape)
    if leading not in (0, 1) or array.shape[leading:] != shape or 0 in array.shape[:leading]:
        raise ValueError
    return array.shape[:leading]


def _within(space: Space, arrays: PyTree) -> bool:
    """Whether all numbers are within their bounds."""
    match space:
        case Discrete(n=n):
            return bool(np.all((arrays >= 0) & (arrays < n)))
        case Box(low=low, high=high):
            return bool(np.all((arrays >= low) & (arrays <= high)))
        case Bits(shape=shape):
            return bool(np.all((arrays >= 0) & (arrays < 2 ** shape[0])))
        case Masked(observation=inner):
            return _within(inner, arrays[0]) and bool(arrays[1].any(axis=-1).all())
        case _:
            return all(_within(part, own) for part, own in zip(space, arrays, strict=True))
