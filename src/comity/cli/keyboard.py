"""Single keys of a terminal, without waiting for the end of a line."""

import os
import select
import sys
from types import TracebackType
from typing import Any

ENDS = ("q", "escape", "ctrl-d")  # keys that end a program
_CODES = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1bOC": "right",
    "\x1bOD": "left",
    " ": "space",
    "\r": "enter",
    "\n": "enter",
    "\x1b": "escape",
    "\x04": "ctrl-d",
}


def at_terminal() -> bool:
    """Whether a person sits at a terminal that gives single keys."""
    try:
        import termios  # noqa: F401 - not on every system
    except ImportError:
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


class Keyboard:
    """Keys as they are pressed, while it is open; Ctrl-C interrupts as ever."""

    def __enter__(self) -> "Keyboard":
        import termios
        import tty

        self._fd = sys.stdin.fileno()
        self._before: list[Any] = termios.tcgetattr(self._fd)
        self._waiting: list[str] = []
        tty.setcbreak(self._fd)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        import termios

        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def key(self, seconds: float | None = None) -> str | None:
        """The next key by its name, or None if there is none in time."""
        if not self._waiting:
            ready, _, _ = select.select([self._fd], [], [], seconds)
            if not ready:
                return None
            data = os.read(self._fd, 64).decode(errors="ignore")
            self._waiting = split_keys(data) if data else ["ctrl-d"]  # no data: the terminal is gone
        return self._waiting.pop(0) if self._waiting else None


def split_keys(data: str) -> list[str]:
    """What a terminal sent, as names of keys."""
    found = []
    while data:
        size = next((n for n in (3, 1) if data[:n] in _CODES), 1)
        found.append(_CODES.get(data[:size], data[:size]))
        data = data[size:]
    return found
