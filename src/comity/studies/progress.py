"""How a study says how far it is, to whoever waits for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Bars(Protocol):
    """How far several runs are."""

    def update(self, number: int, iteration: int, metrics: dict[str, float]) -> None:
        """Run `number` has done `iteration` iterations."""


Progress = Callable[[dict[int, str], int], AbstractContextManager[Bars]]  # names of runs, their iterations


class _NoBars:
    def update(self, number: int, iteration: int, metrics: dict[str, float]) -> None:
        """Shows nothing."""


def silent(names: dict[int, str], total: int) -> AbstractContextManager[Bars]:
    """Progress that nobody watches."""
    return nullcontext(_NoBars())
