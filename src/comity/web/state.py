"""What the requests of one server share."""

from pathlib import Path
from typing import Any

from starlette.requests import Request

from comity.web.catalogue import Catalogue
from comity.web.guard import Guard
from comity.web.jobs import Jobs, command_line
from comity.web.live import Live
from comity.web.places import Root
from comity.web.players import Casting
from comity.web.replays import Replays
from comity.web.replies import Threads
from comity.web.rooms import Rooms
from comity.web.rows import RowReader
from comity.web.sessions import Sessions


class State:
    """The folder that is shown and all that was made from it."""

    def __init__(self, folder: Path) -> None:
        self.root = Root(folder)
        self.threads = Threads()
        self.catalogue = Catalogue(self.root)
        self.reader = RowReader()
        self.live = Live(self.threads)
        self.casting = Casting(self.root, self.catalogue)
        self.replays = Replays(self.casting)
        self.sessions = Sessions()
        self.rooms = Rooms()
        self.jobs = Jobs(self.root)
        self.guard: Guard | None = None

    def may_start(self, request: Request) -> bool:
        """Whether a request has the token."""
        return self.guard is not None and self.guard.has_token(request.headers)

    def plan(self, request: dict[str, Any]) -> dict[str, str]:
        """The command that does what a job would do."""
        _, arguments, out = self.jobs.plan(request)
        return {"command": command_line(arguments), "out": out}
