"""What the analyses share: answers as plain data, and notes on what could not be answered."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from comity.theory.errors import TheoryError

Report = dict[str, Any]
Answer = TypeVar("Answer")


def plain(value: Any) -> Any:
    """Arrays as lists, numbers as Python's own."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def attempt(notes: list[str], what: str, solve: Callable[[], Answer]) -> Answer | None:
    """The answer, or a note that says why there is none."""
    try:
        return solve()
    except TheoryError as problem:
        notes.append(f"{what}: {problem}")
        return None
