"""The application: which address does what, and what is said when something is wrong."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from comity.core import palette
from comity.core.errors import ComityError
from comity.web import done, shown
from comity.web.guard import LOOPBACK, Guard, TooLargeError
from comity.web.places import OutsideError
from comity.web.replies import BadRequestError, reply
from comity.web.state import State

STATIC = Path(__file__).parent / "static"


async def first_page(request: Request) -> Response:
    """The page, whose scripts ask for all the rest."""
    return FileResponse(STATIC / "index.html")


async def theme(request: Request) -> Response:
    """The colours of `core/palette.py` as variables of the style sheet, for light and dark."""
    light, dark = (" ".join(f"--{name}: {both[i]};" for name, both in palette.THEME.items()) for i in (0, 1))
    series = " ".join(f"--series-{i}: {colour};" for i, colour in enumerate(palette.SERIES))
    ink = palette.SERIES.index(palette.INK)
    brown = palette.SERIES.index(palette.BROWN)
    seen = f"--series-{ink}: var(--ink); --series-{brown}: var(--brown);"
    style = f""":root {{ color-scheme: light dark; {series} {light} {seen} }}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}
:root[data-theme=light] {{ color-scheme: light; }}
:root[data-theme=dark] {{ color-scheme: dark; {dark} }}
"""
    return Response(style, media_type="text/css")


async def outside(request: Request, error: Exception) -> Response:
    """There is nothing of that name."""
    return reply({"error": "There is nothing of that name in this folder."}, 404)


async def refused(request: Request, error: Exception) -> Response:
    """What the user can mend, in one sentence, without the place of the folder on this machine."""
    state: State = request.app.state.comity
    text = " ".join(str(error).split()).replace(f"{state.root.folder}/", "")
    return reply({"error": text[:1000]}, 400)


async def too_large(request: Request, error: Exception) -> Response:
    """The body has too many bytes."""
    return reply({"error": "The body is too large."}, 413)


async def no_memory(request: Request, error: Exception) -> Response:
    """What was asked for is too large for this machine."""
    return reply({"error": "There is not enough memory for this: something smaller would work."}, 400)


ROUTES = [
    Route("/", first_page),
    Route("/theme.css", theme),
    Route("/api/index", shown.index),
    Route("/api/run", shown.run),
    Route("/api/curves", shown.curve),
    Route("/api/league", shown.league),
    Route("/api/population", shown.population),
    Route("/api/league/analysis", shown.analysis),
    Route("/api/live", shown.live),
    Route("/api/replays", done.make_replay, methods=["POST"]),
    Route("/api/replays/{name}/frames/{number:int}", done.replay_frame),
    Route("/api/replays/{name}/reasons", done.replay_reasons),
    Route("/api/replays/{name}/export", done.export_replay),
    Route("/api/play", done.begin, methods=["POST"]),
    Route("/api/play/{name}", done.stand, methods=["GET", "POST"]),
    Route("/api/play/{name}/frames/{number:int}", done.play_frame),
    Route("/api/played", done.played),
    Route("/api/theory", done.theory, methods=["GET", "POST"]),
    Route("/api/choices", done.choices),
    Route("/api/jobs", done.jobs, methods=["GET", "POST"]),
    Route("/api/jobs/{name}/cancel", done.cancel, methods=["POST"]),
    Mount("/static", StaticFiles(directory=STATIC)),
]


def make_app(
    folder: Path, token: str, hosts: Iterable[str] = LOOPBACK, open_on_loopback: bool = True
) -> Guard:
    """The application for a folder, behind its checks.

    `hosts` are the names under which it is reached; unless `open_on_loopback`, everything needs the token.
    """
    state = State(folder)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        state.jobs.close()

    app = Starlette(
        routes=ROUTES,
        lifespan=lifespan,
        exception_handlers={
            OutsideError: outside,
            ComityError: refused,
            BadRequestError: refused,
            TooLargeError: too_large,
            MemoryError: no_memory,
        },
    )
    app.state.comity = state
    state.guard = Guard(app, token, hosts, open_on_loopback)
    state.guard.state = state
    return state.guard
