"""Where people wait for whom they will play: another person, or a player, and nobody is told which.

Everybody who enters within some seconds is seated at one moment: pairs by the toss of a coin, all others
with players. So neither how long one waits nor in which seat one plays says who the other is.
"""

import random
from collections.abc import Awaitable, Callable

import anyio

from comity.web.sessions import Session, Table

SECONDS = 6.0  # that a room stays open
Open = Callable[[Table], Awaitable[Session]]


class _Room:
    """The people who wait for one kind of game."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.seated: list[tuple[Session, int] | Exception | None] = []
        self.done = anyio.Event()


class Rooms:
    """The rooms that are open now, by the kind of game that is played in them."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._rooms: dict[tuple[str, int | None], _Room] = {}

    async def enter(self, table: Table, name: str, begin: Open) -> tuple[Session, int]:
        """Waits until the room closes; the game of the person, and the seat in it.

        `table` says what is played, and with whom where it is no person.
        """
        kind = (table.game, table.horizon)
        room = self._rooms.get(kind)
        if room is None:
            room = self._rooms[kind] = _Room()
            place = self._add(room, name)
            try:
                await anyio.sleep(self._seconds)
            finally:
                del self._rooms[kind]
                await self._seat(room, table, begin)
        else:
            place = self._add(room, name)
            await room.done.wait()
        found = room.seated[place]
        if found is None:
            raise RuntimeError("nobody was seated")
        if isinstance(found, Exception):
            raise found
        return found

    def _add(self, room: _Room, name: str) -> int:
        room.names.append(name)
        room.seated.append(None)
        return len(room.names) - 1

    async def _seat(self, room: _Room, table: Table, begin: Open) -> None:
        waiting = list(range(len(room.names)))
        random.shuffle(waiting)
        with anyio.CancelScope(shield=True):
            while waiting:
                pair = len(waiting) > 1 and random.random() < 0.5
                own = [waiting.pop() for _ in range(2 if pair else 1)]
                seats = random.sample(range(2), len(own))
                people = {seat: room.names[i] for seat, i in zip(seats, own, strict=True)}
                try:
                    session = await begin(Table(**{**vars(table), "seats": people}))
                except Exception as error:  # told to whoever waits for this game
                    for i in own:
                        room.seated[i] = error
                    continue
                for seat, i in zip(seats, own, strict=True):
                    room.seated[i] = (session, seat)
            room.done.set()
