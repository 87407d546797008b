"""Stopping a run from outside: the first Ctrl-C or SIGTERM asks, a second one is final."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Stopped(KeyboardInterrupt):
    """The user asked to stop; everything is saved."""


@contextlib.contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Lets SIGTERM raise `KeyboardInterrupt`, as Ctrl-C does."""
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main else None
    try:
        yield
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, before)


class StopRequest:
    """Turns the first Ctrl-C or SIGTERM into a request to stop after this chunk; a second one is final."""

    def __init__(self, listen: bool = True) -> None:
        self.stopped = False
        self._listen = listen  # False: leave Ctrl-C as it is, as where nothing can be saved
        self._answered_at: float | None = None
        self._answer = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        try:
            for number in (signal.SIGINT, signal.SIGTERM) if self._listen else ():
                self._before[number] = signal.signal(number, self._stop)
        except ValueError:  # not in the main thread: the caller handles signals
            self._before = {}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def stopped_by(self, now: float) -> bool:
        """Whether to stop after the chunk that ended at `now`: the same answer for all runs that share it."""
        if now != self._answered_at:
            self._answered_at, self._answer = now, self.stopped
        return self._answer

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
        print("\nstopping after this call, then saving; once more to stop at once", file=sys.stderr)
