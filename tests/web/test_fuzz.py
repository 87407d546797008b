"""Requests made at random: whatever is asked in whatever way, the server is never at fault."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from comity.web.app import ROUTES
from comity.web.jobs import Job
from tests.web.folder import OUTSIDE

JSON = "application/json"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
PATHS = [path for path in (getattr(route, "path", "") for route in ROUTES) if path.startswith("/api/")]
PATHS.remove("/api/live")  # an answer without end; test_no_path_leads_out asks it
TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["ppo/seed-0", "other", "league.json", "reward", "coin", "random", "prisoners-dilemma"]),
    st.sampled_from(OUTSIDE),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
DILEMMA = {"game": "prisoners-dilemma", "players": ["tit-for-tat"]}
TRAINING = {"kind": "train", "game": "coin", "agents": ["ppo"], "out": "fresh", "settings": {"batch": 2}}
GOOD: dict[str, dict[str, Any]] = {
    "/api/replays": {**DILEMMA, "seed": 0, "steps": 2, "deterministic": True},
    "/api/play": {
        **DILEMMA,
        "seat": 0,
        "seed": 0,
        "horizon": 2,
        "person": "",
        "hidden": True,
        "room": True,
        "remember": True,
    },
    "/api/play/{name}": {"action": 0, "guess": "tit-for-tat", "save": True},
    "/api/theory": {"text": "1 1, 0 0\n0 0, 1 1", "coalition": True},
    "/api/jobs": {**TRAINING, "players": ["random"], "iterations": 1, "seed": 0, "plan": True},
    "/api/jobs/{name}/cancel": {},
}
QUERY = ["path", "metric", "x", "smooth", "bands", "game", "agent", "format", "token"]


class NoJob(Job):
    """Takes the place of a process: no request made at random trains anything."""

    def __init__(self, *arguments: Any) -> None:
        self.name, self.cancelled = "job", False

    @property
    def code(self) -> int:
        return 0

    def describe(self) -> dict[str, Any]:
        return {}

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def names(owner: TestClient) -> Iterator[list[str]]:
    """A replay, a game under way and a job that exist, so that requests reach further than to their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("comity.web.jobs.Job", NoJob)
        made = [owner.post(path, json=GOOD[path]).json()["id"] for path in ("/api/replays", "/api/play")]
        assert owner.post("/api/jobs", json={**TRAINING, "plan": False}).status_code == 200
        yield [*made, "job"]


def ask(
    owner: TestClient, method: str, path: str, name: str, query: dict[str, str], body: bytes, kind: str
) -> int:
    where = path.replace("{name}", quote(name.encode("utf-8", "surrogatepass"), safe=""))
    where = where.replace("{number:int}", "0")
    encoded = "&".join(f"{key}={quote(own.encode('utf-8', 'surrogatepass'))}" for key, own in query.items())
    headers = {"content-type": kind}
    found = owner.request(method, f"{where}?{encoded}", content=body, headers=headers, follow_redirects=False)
    assert found.status_code < 500, (method, where, encoded, body, found.text)
    return found.status_code


QUICKLY = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
BODIES = st.one_of(st.binary(max_size=60), VALUES.map(lambda value: json.dumps(value).encode()))
KINDS = st.sampled_from([JSON, f"{JSON}; charset=utf-16", "", "text/plain", "multipart/form-data", "\x7f"])


@QUICKLY
@given(
    path=st.sampled_from(PATHS),
    method=st.sampled_from(METHODS),
    query=st.dictionaries(st.sampled_from(QUERY), TEXTS),
    body=BODIES,
    kind=KINDS,
    name=st.one_of(st.integers(0, 2), TEXTS),
)
@example("/api/theory", "POST", {}, b"", JSON, 0)
@example("/api/play/{name}", "POST", {}, b"", JSON, 1)
@example("/api/jobs/{name}/cancel", "POST", {}, b"", JSON, 2)
@example("/api/jobs", "POST", {}, b'"\\ud800"', JSON, 0)
def test_any_request(
    owner: TestClient, names: list[str], path: str, method: str, query: dict[str, str], body: bytes,
    kind: str, name: int | str,
) -> None:  # fmt: skip
    ask(owner, method, path, name if isinstance(name, str) else names[name], query, body, kind)


@st.composite
def nearly_good(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A request that would be answered, but for one field."""
    path = draw(st.sampled_from(sorted(GOOD)))
    field = draw(st.sampled_from(sorted(GOOD[path]) or ["field"]))
    return path, {**GOOD[path], field: draw(VALUES)}


@QUICKLY
@given(asked=nearly_good(), name=st.integers(0, 2))
@example(("/api/play", {**DILEMMA, "person": "\ud800", "horizon": 1}), 0)
@example(("/api/jobs", {**TRAINING, "settings": {"\ud800": "\ud800"}}), 0)
@example(("/api/jobs", {**TRAINING, "iterations": 10**400}), 0)
@example(("/api/replays", {**DILEMMA, "seed": 1e400}), 0)
@example(("/api/theory", {"text": "[" * 20_000}), 0)
def test_a_request_with_one_field_amiss(
    owner: TestClient, names: list[str], asked: tuple[str, dict[str, Any]], name: int
) -> None:
    path, body = asked
    ask(owner, "POST", path, names[name], {}, json.dumps(body).encode(), JSON)


@pytest.mark.parametrize("path", sorted(GOOD))
def test_bodies_that_are_no_object_are_refused(owner: TestClient, names: list[str], path: str) -> None:
    name = names[1 if "play" in path else 2]
    for body in (b"", b" ", b"{", b"[]", b"null", b"3", b'"text"', b"\xff\xfe", b"\0", b'{"a":' * 3000):
        assert ask(owner, "POST", path, name, {}, body, JSON) == 400, body
    assert ask(owner, "POST", path, name, {}, b" " * 64_001, JSON) == 413
    assert ask(owner, "POST", path, name, {}, b"{}", "text/plain") == 400


def test_half_a_character_is_no_name(owner: TestClient) -> None:
    begun = {**DILEMMA, "horizon": 1, "person": "\ud800"}
    assert ask(owner, "POST", "/api/play", "", {}, json.dumps(begun).encode(), JSON) == 400
