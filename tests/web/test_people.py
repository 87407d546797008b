"""People who play: pairs from a room, hidden identities, memories of a person, records of earlier games."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from comity.web import rooms, sessions
from comity.web.app import make_app
from tests.web.conftest import TOKEN
from tests.web.test_done import post

DILEMMA = {"game": "prisoners-dilemma", "horizon": 2}


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server whose rooms close soon, and whose players do not pretend to think."""
    monkeypatch.setattr(sessions, "THINKING", (0.0, 0.0))
    app = make_app(tmp_path, TOKEN, ["testserver"])
    app.state.rooms = rooms.Rooms(1.0)
    with TestClient(app, headers={"authorization": f"Bearer {TOKEN}"}) as found:
        yield found


def enter_together(client: TestClient, *names: str) -> list[dict[str, Any]]:
    def enter(name: str) -> dict[str, Any]:
        found: dict[str, Any] = post(
            client, "/api/play", **DILEMMA, players=["tit-for-tat"], room=True, person=name
        )
        return found

    with ThreadPoolExecutor(len(names)) as threads:
        return list(threads.map(enter, names))


def test_two_people_in_a_room_meet(
    people: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("comity.web.rooms.random.random", lambda: 0.0)  # the coin says: a pair
    one, two = enter_together(people, "Ada", "Bob")
    assert {one["seat"], two["seat"]} == {0, 1}
    assert one["players"][1 - one["seat"]] == two["players"][1 - two["seat"]] == "?"
    assert "a person" in one["candidates"]
    waiting = post(people, f"/api/play/{one['id']}", action=0)
    assert waiting["waits"]
    assert len(waiting["moments"]) == 1
    moved = post(people, f"/api/play/{two['id']}", action=1)
    assert not moved["waits"]
    seen = people.get(f"/api/play/{one['id']}").json()
    assert len(seen["moments"]) == len(moved["moments"]) == 2
    assert seen["moments"][1]["choices"][one["seat"]] == 0
    assert seen["moments"][1]["choices"][two["seat"]] == 1
    for own in (one, two):
        post(people, f"/api/play/{own['id']}", action=0)
    over = people.get(f"/api/play/{one['id']}").json()
    assert over["over"]
    assert over["players"][two["seat"]] == "?"  # until one has guessed
    told = post(people, f"/api/play/{one['id']}", guess="tit-for-tat")
    assert told["players"][two["seat"]] == "a person"
    saved = json.loads((tmp_path / told["saved"]).read_text())
    assert saved["people"] == {str(one["seat"]): "Ada", str(two["seat"]): "Bob"}
    assert saved["guesses"] == {str(one["seat"]): "tit-for-tat"}


def test_whoever_is_alone_in_a_room_plays_a_player(people: TestClient) -> None:
    (found,) = enter_together(people, "Ada")
    moved = post(people, f"/api/play/{found['id']}", action=0)
    assert len(moved["moments"]) == 2


def test_a_room_is_for_games_of_two(people: TestClient) -> None:
    found = people.post(
        "/api/play", json={"game": "commons-harvest-open", "players": ["greedy"], "room": True}
    )
    assert found.status_code == 400


def test_players_of_a_room_take_their_time(people: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "THINKING", (30.0, 30.0))
    (found,) = enter_together(people, "Ada")
    moved = post(people, f"/api/play/{found['id']}", action=0)
    assert moved["waits"]
    assert len(moved["moments"]) == 1


def whole_game(client: TestClient, actions: list[int], **more: Any) -> dict[str, Any]:
    found = post(client, "/api/play", **DILEMMA, **{"players": ["tit-for-tat"], "person": "Ada", **more})
    for action in actions:
        found = post(client, f"/api/play/{found['id']}", action=action)
    return found


def test_an_opponent_remembers_a_person_if_asked_to(people: TestClient) -> None:
    grim = ["grim-trigger"]
    first = whole_game(people, [1, 1], players=grim)
    assert not first["remembers"]
    for more in ({}, {"remember": True, "person": "Bob"}, {"remember": True, "players": ["tit-for-tat"]}):
        fresh = whole_game(people, [0], **{"players": grim, **more})
        assert fresh["moments"][1]["actions"][1] == "C", more
    again = whole_game(people, [0], players=grim, remember=True)
    assert again["remembers"]
    assert again["moments"][1]["actions"][1] == "D"


def test_a_record_is_of_one_person_and_the_games_before(people: TestClient) -> None:
    assert whole_game(people, [0, 1])["record"] is None
    whole_game(people, [1, 1], person="Bob")
    known = whole_game(people, [0])["record"]
    assert (known["games"], known["own"], known["other"]) == (1, -1.0, -4.0)
    facts = {fact["name"]: (fact["share"], fact["count"]) for fact in known["facts"]}
    assert facts["cooperates"] == (1.0, 2)
    assert whole_game(people, [0], person="")["record"] is None
