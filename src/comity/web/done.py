"""Requests that do something: replays, games with a person, theory, jobs."""

import random
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from comity.web.catalogue import read_object
from comity.web.places import OutsideError
from comity.web.records import record
from comity.web.replays import MEDIA, picture
from comity.web.replies import BadRequestError, read_body, reply, text_of, texts_of, whole_of
from comity.web.sessions import PERSON, UNKNOWN, Session, Table
from comity.web.settings import settings_for
from comity.web.state import State
from comity.web.theory import analyse_text, named_tables

FOREVER = {"cache-control": "private, max-age=3600"}  # a frame never changes


async def make_replay(request: Request) -> Response:
    """Plays an episode."""
    state: State = request.app.state.comity
    data = await read_body(request)
    arguments = (
        text_of(data, "game"),
        texts_of(data, "players", 32),
        whole_of(data, "seed", 0, 0, 2**31 - 1),
        data.get("deterministic") is True,
        whole_of(data, "steps", None, 1, 1000),
    )
    name = await state.threads.run("games", state.replays.make, *arguments)
    return reply(state.replays.describe(name))


async def replay_frame(request: Request) -> Response:
    """A moment of a replay as a picture."""
    state: State = request.app.state.comity
    found = state.replays.get(request.path_params["name"])
    number = request.path_params["number"]
    if found is None or number >= len(found.moments):
        raise OutsideError
    content = await state.threads.run("files", picture, found.moments[number].scene)
    return Response(content, media_type="image/png", headers=FOREVER)


async def replay_reasons(request: Request) -> Response:
    """Why the players of a replay did what they did."""
    state: State = request.app.state.comity
    found = await state.threads.run("games", state.replays.reasons, request.path_params["name"])
    if found is None:
        raise OutsideError
    return reply(found)


async def export_replay(request: Request) -> Response:
    """A replay as a file."""
    state: State = request.app.state.comity
    kind = request.query_params.get("format", "gif")
    content = await state.threads.run("files", state.replays.export, request.path_params["name"], kind)
    if content is None:
        raise OutsideError
    headers = {"content-disposition": f'attachment; filename="replay.{kind}"'}
    return Response(content, media_type=MEDIA[kind], headers=headers)


async def begin(request: Request) -> Response:
    """Begins a game with a person: as asked, or with whom a room gives them."""
    state: State = request.app.state.comity
    data = await read_body(request)
    person, seat = text_of(data, "person", "", 60), whole_of(data, "seat", 0, 0, 100)
    hidden, room = data.get("hidden") is True, data.get("room") is True
    candidates = texts_of(data, "players", 32)
    table = Table(
        game=text_of(data, "game"),
        players=candidates,
        seats={seat or 0: person},
        seed=whole_of(data, "seed", random.randrange(2**31), 0, 2**31 - 1) or 0,
        horizon=whole_of(data, "horizon", None, 1, 1000),
        hidden=hidden or room,
        candidates=(*candidates, PERSON) if room else tuple(candidates),
        slowly=room,
        memories=state.sessions.memories() if data.get("remember") is True else None,
    )

    async def opened(table: Table) -> Session:
        return await state.threads.run("games", Session, state.casting, table)

    if not room:
        session, own = await opened(table), seat or 0
    elif await state.threads.run("games", state.casting.pairs, table.game):
        session, own = await state.rooms.enter(table, person, opened)
    else:
        raise BadRequestError("Only in games of two can the other be a person.")
    return await _shown(state, state.sessions.add(session, own))


async def _shown(state: State, name: str) -> Response:
    """How a game stands for a person, with what is known from earlier games."""
    found = state.sessions.get(name)
    if found is None:
        raise OutsideError
    session, seat = found

    def read() -> dict[str, Any]:
        with session.lock:
            shown = session.state(seat)
        others = [own for i, own in enumerate(shown["players"]) if i != seat and own != UNKNOWN]
        person = session.table.seats[seat]
        known = None
        if others and person:
            game, own = session.game_name, session.saved
            known = record(state.root, state.catalogue, person, game, others[0], own)
        return {"id": name, **shown, "record": known}

    return reply(await state.threads.run("games", read))


async def stand(request: Request) -> Response:
    """How a game stands; by POST, the person acts. A game that is over is saved."""
    state: State = request.app.state.comity
    name = request.path_params["name"]
    found = state.sessions.get(name)
    if found is None:
        raise OutsideError
    session, seat = found
    if request.method == "GET":
        return await _shown(state, name)
    data = await read_body(request)

    def step() -> None:
        with session.lock:
            if "guess" in data:
                session.guesses[seat] = text_of(data, "guess")
            if "action" in data:
                session.act(seat, data["action"])
            if session.over or data.get("save") is True:
                session.save(state.root.folder)
            if session.over:
                state.sessions.remember(session)

    await state.threads.run("games", step)
    return await _shown(state, name)


async def play_frame(request: Request) -> Response:
    """A moment of a game as a picture."""
    state: State = request.app.state.comity
    found = state.sessions.get(request.path_params["name"])
    if found is None:
        raise OutsideError
    moments = found[0].replay().moments
    number = request.path_params["number"]
    if number >= len(moments):
        raise OutsideError
    content = await state.threads.run("files", picture, moments[number].scene)
    return Response(content, media_type="image/png", headers=FOREVER)


async def played(request: Request) -> Response:
    """A game that was saved."""
    state: State = request.app.state.comity

    def read() -> dict[str, Any]:
        data = read_object(state.root.find(request.query_params.get("path", "")))
        if data.get("kind") != "comity-play":
            raise OutsideError
        return data

    return reply(await state.threads.run("files", read))


async def theory(request: Request) -> Response:
    """What theory says about a pasted table; by GET, tables to begin with."""
    state: State = request.app.state.comity
    if request.method == "GET":
        return reply(await state.threads.run("games", named_tables))
    data = await read_body(request)
    text = text_of(data, "text", most=60_000)
    if not text.strip():
        raise BadRequestError("There is no table yet.")
    return reply(await state.threads.run("games", analyse_text, text, data.get("coalition") is True))


async def choices(request: Request) -> Response:
    """Games, players and agents to choose from; those of one game if it is named."""
    state: State = request.app.state.comity
    game, agent = request.query_params.get("game"), request.query_params.get("agent")
    if game is not None and agent is not None:
        if ":" in game or ":" in agent:
            raise OutsideError
        return reply(await state.threads.run("games", settings_for, game, agent))
    if game is not None:
        return reply(await state.threads.run("games", state.casting.about, game))
    return reply(await state.threads.run("games", state.casting.listing))


async def jobs(request: Request) -> Response:
    """The jobs; by POST, starts one, or says which command it would be."""
    state: State = request.app.state.comity
    if request.method == "GET":
        return reply(await state.threads.run("files", state.jobs.listing))
    data = await read_body(request)
    if data.get("plan") is True:
        return reply(await state.threads.run("games", state.plan, data))
    job = await state.threads.run("games", state.jobs.start, data)
    return reply(job.describe())


async def cancel(request: Request) -> Response:
    """Cancels a job."""
    state: State = request.app.state.comity
    await read_body(request)
    job = state.jobs.get(request.path_params["name"])
    if job is None:
        raise OutsideError
    await state.threads.run("files", job.cancel)
    return reply(job.describe())
