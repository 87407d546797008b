"""Requests that mean harm, or mean nothing: refused in a sentence, and the server stays."""

import contextlib
import os
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from starlette.testclient import TestClient

from comity.cli import run
from comity.web.app import make_app
from comity.web.guard import LARGEST_BODY, host_name
from comity.web.places import OutsideError, Root
from comity.web.serve import is_loopback
from tests.web.conftest import TOKEN
from tests.web.folder import NASTY, OUTSIDE


@pytest.fixture(scope="module", autouse=True)
def linked(root: Path) -> None:
    os.symlink(root.parent, root / "link")


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("page", ["run", "curves", "league", "played", "live"])
def test_no_path_leads_out(client: TestClient, page: str, path: str) -> None:
    for encoded in (quote(path, safe=""), quote(quote(path, safe=""), safe="")):
        found = client.get(f"/api/{page}?path={encoded}")
        assert found.status_code in (400, 404), found.text
        assert "secret" not in found.text


@pytest.mark.parametrize("path", OUTSIDE)
def test_static_files_are_those_of_the_package(client: TestClient, path: str) -> None:
    for encoded in (path, quote(path, safe="")):
        with contextlib.suppress(httpx.InvalidURL):  # the client itself refuses some addresses
            found = client.get(f"/static/{encoded}".replace("\0", "%00"))
            assert (
                found.status_code in (400, 404, 405) or found.url.path == "/"
            )  # which the client made of ..


def test_the_root_is_held_even_without_encoding(root: Path) -> None:
    for path in OUTSIDE:
        with pytest.raises(OutsideError):
            Root(root).find(path)
    assert Root(root).find("ppo/seed-0") == root / "ppo" / "seed-0"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "testserver.evil.example", "[::1"]
)
def test_a_rebound_name_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/api/index", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://testserver.evil.example"},
        {"origin": "http://testserver:81"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(owner: TestClient, headers: dict[str, str]) -> None:
    assert owner.get("/api/index", headers=headers).status_code == 403
    assert owner.post("/api/theory", json={"text": "shapley"}, headers=headers).status_code == 403


def test_without_the_token_nothing_is_started(client: TestClient) -> None:
    for path in ("/api/replays", "/api/play", "/api/play/x", "/api/jobs", "/api/jobs/x/cancel"):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": "comity-token=wrong"}):
            assert client.post(path, json={}, headers=headers).status_code == 401
    assert client.get("/?token=wrong", follow_redirects=False).status_code == 200


def test_the_address_that_was_printed_sets_a_cookie(root: Path) -> None:
    with TestClient(make_app(root, TOKEN, ["testserver"])) as visitor:
        found = visitor.get("/", params={"token": TOKEN}, follow_redirects=False)
        assert (found.status_code, found.headers["location"]) == (303, "/")
        assert "HttpOnly" in found.headers["set-cookie"]
        assert "SameSite=strict" in found.headers["set-cookie"]
        assert visitor.get("/api/index").json()["token"] is True
        assert visitor.post("/api/jobs", json={}).status_code == 400


def test_another_host_needs_the_token_for_everything(root: Path) -> None:
    with TestClient(make_app(root, TOKEN, ["testserver"], open_on_loopback=False)) as visitor:
        for route in ("/", "/api/index", "/static/app.js", "/theme.css"):
            assert visitor.get(route).status_code == 401
        assert visitor.post("/api/theory", json={"text": "shapley"}).status_code == 401
        visitor.get("/", params={"token": TOKEN})
        assert visitor.get("/api/index").status_code == 200


def test_bodies_are_limited_and_must_be_json(owner: TestClient) -> None:
    kind = {"content-type": "application/json"}
    large = b" " * (LARGEST_BODY + 1)
    assert owner.post("/api/theory", content=large, headers=kind).status_code == 413
    assert owner.post("/api/theory", content=iter([large]), headers=kind).status_code == 413  # in chunks
    assert (
        owner.post("/api/theory", content=b"{}", headers=kind | {"content-length": "-1"}).status_code == 413
    )
    assert owner.get("/api/index?x=" + "a" * 20_000).status_code == 414
    for bad in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":' * 3000, b"1" * 5000):
        assert owner.post("/api/theory", content=bad, headers=kind).status_code == 400
    assert owner.post("/api/theory", data={"text": "shapley"}).status_code == 400


def test_replies_let_nothing_from_elsewhere_run(client: TestClient) -> None:
    for path in ("/", "/api/index", "/static/app.js", "/nothing", "/api/run?path=x"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_names_from_files_reach_pages_as_data_only(client: TestClient) -> None:
    found = client.get("/api/league?path=league.json")
    assert found.headers["content-type"] == "application/json"
    assert NASTY in found.json()["players"]
    scripts = Path(make_app.__code__.co_filename).parent / "static"
    for script in [*scripts.glob("*.js"), *scripts.glob("pages/*.js")]:
        text = script.read_text()
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert way not in text, script


def test_loopback_and_hosts() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert [host_name(host) for host in ("[::1]:80", "A.b:1", "a", "::1")] == ["::1", "a.b", "a", "::1"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ui no-such-folder", "is no folder"),
        ("ui . --port 99999", "between 0 and 65535"),
        ("ui . --host 203.0.113.9 --no-browser", "cannot be served"),
    ],
)
def test_commands_that_cannot_serve(capsys: pytest.CaptureFixture[str], line: str, message: str) -> None:
    assert run(line.split()) == 2
    assert message in capsys.readouterr().err


def test_without_the_extra_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["ui", "."]) == 2
    assert capsys.readouterr().err == (
        "error: comity ui needs more packages: pip install 'comity[ui]' installs them.\n"
    )
