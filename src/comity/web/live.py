"""Server-sent events: pages hear that files changed, and ask again for what they show.

All viewers of the same files share one look at them, so what many watch costs what one costs.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from comity.web.replies import Threads

SECONDS = 1.0  # between two looks
MOST_VIEWERS = 500
ALIVE = 15.0  # seconds after which a line is sent though nothing changed


class Live:
    """Watches files for whoever listens."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._looks: dict[str, tuple[float, Any]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self.viewers = 0

    async def events(self, key: str, look: Callable[[], Any]) -> AsyncIterator[bytes]:
        """A line of text whenever what `look` returns is not what it was."""
        if self.viewers >= MOST_VIEWERS:  # of many that came at one moment
            yield b"retry: 60000\n\n"
            return
        self.viewers += 1
        try:
            before, sent = await self._look(key, look), time.monotonic()
            yield b"retry: 2000\n\n"
            yield _event("open", {})
            while True:
                await asyncio.sleep(SECONDS)
                now = await self._look(key, look)
                if now != before:
                    yield _event("changed", {})
                    before, sent = now, time.monotonic()
                elif time.monotonic() - sent > ALIVE:
                    yield b": still here\n\n"
                    sent = time.monotonic()
        finally:
            self.viewers -= 1

    async def _look(self, key: str, look: Callable[[], Any]) -> Any:
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            when, known = self._looks.get(key, (-1e9, None))
            if time.monotonic() - when < 0.9 * SECONDS:
                return known
            found = await self._threads.run("files", look)
            if len(self._looks) > 1000:
                self._looks.clear()
            self._looks[key] = (time.monotonic(), found)
            return found


def files_signature(folders: list[Path]) -> tuple[Any, ...]:
    """What changes when the metrics or the state of runs do."""
    found: list[Any] = []
    for folder in folders:
        for name in ("metrics.jsonl", "run.json"):
            try:
                stat = os.stat(folder / name)
                found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
            except OSError:
                found.append(None)
    return tuple(found)


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
