"""Requests that only look: the list of entries, runs, curves, differences, leagues, events."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from comity.core import palette
from comity.evaluate.groups import differences, flat_settings
from comity.evaluate.league import read_league
from comity.evaluate.standing import standings
from comity.report.analysis import analyse
from comity.web.catalogue import read_object
from comity.web.curves import AXES, LoggedRun, curves
from comity.web.live import MOST_VIEWERS, files_signature
from comity.web.places import OutsideError
from comity.web.population import read_population
from comity.web.replies import BadRequestError, reply
from comity.web.state import State

MOST_RUNS = 64  # in one picture
MOST_ANALYSED = 40  # players of a league


async def index(request: Request) -> Response:
    """Everything in the folder."""
    state: State = request.app.state.comity
    entries = await state.threads.run("files", state.catalogue.entries)
    allowed = state.may_start(request)
    about = {"folder": state.root.folder.name, "token": allowed}
    return reply({**about, "entries": entries, "series": palette.SERIES})


def runs_of(request: Request) -> list[LoggedRun]:
    """The runs that an address names."""
    state: State = request.app.state.comity
    paths = list(dict.fromkeys(request.query_params.getlist("path")))
    if not 1 <= len(paths) <= MOST_RUNS:
        raise BadRequestError(f"Name 1 to {MOST_RUNS} runs, as in ?path=first.")
    return [LoggedRun(path, *state.catalogue.run(path)) for path in paths]


async def run(request: Request) -> Response:
    """Runs: settings, facts, names of metrics, what differs."""
    state: State = request.app.state.comity

    def read() -> dict[str, Any]:
        found = runs_of(request)
        about = []
        metrics: dict[str, None] = {}
        for own in found:
            columns = state.reader.columns(own.folder / "metrics.jsonl")
            metrics |= dict.fromkeys(name for name in columns if name not in ("iteration", "steps"))
            about.append(
                {
                    "path": own.path,
                    "settings": flat_settings(own.config),
                    "seed": own.config.get("seed"),
                    "game": own.config["game"]["name"],
                    "seats": len(own.config["agents"]),
                    "facts": read_object(own.folder / "run.json"),
                    "rows": len(columns.get("iteration", ())),
                    "checkpoint": any((own.folder / "checkpoints").glob("*.safetensors")),
                    "players": [path.name for path in sorted((own.folder / "players").glob("*.safetensors"))],
                }
            )
        changed = differences([own.config for own in found])
        return {"runs": about, "metrics": list(metrics), "differences": changed, "axes": AXES}

    return reply(await state.threads.run("files", read))


async def curve(request: Request) -> Response:
    """Curves of a metric."""
    state: State = request.app.state.comity
    query = request.query_params
    metric, axis = query.get("metric", "reward"), query.get("x", "iteration")
    if axis not in AXES:
        raise BadRequestError(f"x must be one of {', '.join(AXES)}.")
    try:
        smoothing = float(query.get("smooth", "0"))
    except ValueError:
        smoothing = -1.0
    if not 0 <= smoothing <= 0.5:
        raise BadRequestError("smooth must be a number from 0 to 0.5.")
    bands = query.get("bands", "1") == "1"

    def read() -> list[dict[str, Any]]:
        return curves(runs_of(request), metric, axis, smoothing, bands, state.reader)

    found = await state.threads.run("files", read)
    return reply({"metric": metric, "x": AXES[axis], "curves": found})


async def league(request: Request) -> Response:
    """A league: its tables, how the players stand, and which of them can be watched again."""
    state: State = request.app.state.comity

    def read() -> dict[str, Any]:
        path = state.root.find(request.query_params.get("path", ""))
        found = read_league(path)
        runs = {entry["path"] for entry in state.catalogue.entries() if entry["kind"] == "run"}
        rows = [{**row._asdict(), "secured": row.secured} for row in standings(found)]
        given = {name: found.sources.get(name, name) for name in found.players}
        return {**found.to_data(), "standings": rows, "sources": sources(given, runs)}

    return reply(await state.threads.run("files", read))


async def population(request: Request) -> Response:
    """Who descends from whom in a population."""
    state: State = request.app.state.comity

    def read() -> dict[str, Any]:
        path = state.root.find(request.query_params.get("path", ""))
        if not path.is_file():
            raise OutsideError
        runs = {entry["path"] for entry in state.catalogue.entries() if entry["kind"] == "run"}
        found = read_population(read_object(path), state.root.name(path.parent), runs)
        if found is None:
            raise OutsideError
        return found

    return reply(await state.threads.run("files", read))


async def analysis(request: Request) -> Response:
    """What game theory says of a league: as `comity analyse` has it."""
    state: State = request.app.state.comity

    def read() -> dict[str, Any]:
        found = read_league(state.root.find(request.query_params.get("path", "")))
        if not 2 <= len(found.players) <= MOST_ANALYSED:
            raise BadRequestError(f"Leagues of 2 to {MOST_ANALYSED} players are analysed here.")
        return {"players": list(found.players), **analyse(found)}

    return reply(await state.threads.run("games", read))


def sources(given: dict[str, str], runs: set[str]) -> dict[str, str]:
    """Where each player of a league is in this folder, from where it was when the league was played.

    A run by its path, from whatever folder that was named; of a folder of seeds the first; else as it was.
    """
    found = {}
    for player, source in given.items():
        path = source.strip("./")
        named = [run for run in runs if f"/{path}".endswith(f"/{run}") or f"/{run}".endswith(f"/{path}")]
        seeds = [run for run in sorted(runs) if f"/{path}/" in f"/{run}"]
        found[player] = (sorted(named, key=len)[-1:] or seeds or [source])[0]
    return found


async def live(request: Request) -> Response:
    """Events: `changed` when the files of the named runs change, or anything in the list."""
    state: State = request.app.state.comity
    if state.live.viewers >= MOST_VIEWERS:
        return Response("Too many pages are open.", 503)
    if request.query_params.getlist("path"):
        found = await state.threads.run("files", runs_of, request)
        folders = [own.folder for own in found]
        key = "\n".join(sorted(map(str, folders)))
        events = state.live.events(key, lambda: files_signature(folders))
    else:
        events = state.live.events("", state.catalogue.entries)
    return StreamingResponse(events, media_type="text/event-stream")
