"""What the pages do: replays, games with people, theory, jobs."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.web.folder import make_run


def post(client: TestClient, path: str, /, **body: Any) -> Any:
    found = client.post(path, json=body)
    assert found.status_code == 200, found.text
    return found.json()


def refused(client: TestClient, path: str, /, **body: Any) -> str:
    found = client.post(path, json=body)
    assert found.status_code == 400, found.text
    return str(found.json()["error"])


def test_a_replay_has_frames_and_becomes_a_file(owner: TestClient) -> None:
    found = post(owner, "/api/replays", game="prisoners-dilemma", players=["tit-for-tat", "always-defect"])
    reasons = owner.get(f"/api/replays/{found['id']}/reasons").json()["seats"]
    assert [seat["choices"] for seat in reasons] == [["C", "D"]] * 2
    assert [seat["own"] for seat in reasons] == [None, None]
    assert owner.get("/api/replays/nothing/reasons").status_code == 404
    assert [moment["actions"] for moment in found["moments"][:3]] == [[None, None], ["C", "D"], ["D", "D"]]
    assert found["moments"][1]["reward"] == [-3.0, 0.0]
    assert len(found["moments"]) == 17
    frame = owner.get(f"/api/replays/{found['id']}/frames/16")
    assert frame.content.startswith(b"\x89PNG")
    assert owner.get(f"/api/replays/{found['id']}/frames/17").status_code == 404
    gif = owner.get(f"/api/replays/{found['id']}/export?format=gif")
    assert gif.content.startswith(b"GIF89a")
    assert "attachment" in gif.headers["content-disposition"]
    assert b"<!doctype html>" in owner.get(f"/api/replays/{found['id']}/export?format=html").content
    assert owner.get(f"/api/replays/{found['id']}/export?format=exe").status_code == 400


def test_a_person_plays_a_whole_game_and_the_result_is_a_file(owner: TestClient, root: Path) -> None:
    game = post(
        owner, "/api/play", game="prisoners-dilemma", players=["tit-for-tat"], horizon=4, person="Ada"
    )
    assert game["space"]["labels"] == ["C", "D"]
    for action in (0, 1, 1, 0):
        game = post(owner, f"/api/play/{game['id']}", action=action)
    assert game["over"]
    assert [moment["actions"][1] for moment in game["moments"][1:]] == ["C", "C", "D", "D"]
    facts = {fact["name"]: fact["share"] for fact in game["tendencies"][0]["facts"]}
    assert facts == {
        "cooperates": 0.5,
        "after you did": 1.0,
        "after you did not": 0.0,
        "plays C": 0.5,
        "plays D": 0.5,
    }
    saved = json.loads((root / game["saved"]).read_text())
    assert (saved["players"], saved["total"], saved["over"]) == (["Ada", "tit-for-tat"], [-6.0, -6.0], True)
    assert refused(owner, f"/api/play/{game['id']}", action=0) == "The game is over: begin another one."
    entries = owner.get("/api/index").json()["entries"]
    assert [entry["path"] for entry in entries if entry["kind"] == "play"] == [game["saved"]]
    assert owner.get("/api/played", params={"path": game["saved"]}).json()["person"] == "Ada"


def test_negotiation_takes_numbers_within_bounds(owner: TestClient) -> None:
    game = post(owner, "/api/play", game="negotiation", players=["always-cooperate"], horizon=2)
    assert game["space"] | {"names": []} == {
        "kind": "numbers",
        "count": 3,
        "low": 0.0,
        "high": 5.0,
        "names": [],
    }
    assert "to you" in game["space"]["names"][0]
    moved = post(owner, f"/api/play/{game['id']}", action=[1, 2.5, 5])
    assert moved["moments"][1]["actions"][0] == "1.00 2.50 5.00"
    wrong: list[Any] = [[1, 2], [1, 2, 9], ["1", 2, 3], {}, None, "1 2 3", [1e999, 0, 0], []]
    for bad in wrong:
        found = owner.post(f"/api/play/{game['id']}", content=json.dumps({"action": bad}), headers=JSON)
        assert found.status_code == 400, bad


JSON = {"content-type": "application/json"}


def test_a_hidden_player_is_told_only_at_the_end(owner: TestClient) -> None:
    kinds = ["tit-for-tat", "always-defect"]
    game = post(owner, "/api/play", game="prisoners-dilemma", players=kinds, horizon=2, hidden=True)
    game = post(owner, f"/api/play/{game['id']}", action=0)
    assert game["players"][1] == "?"
    assert game["tendencies"][0]["player"] == "?"
    game = post(owner, f"/api/play/{game['id']}", action=0)
    assert game["over"]
    assert game["players"][1] == "?"
    told = post(owner, f"/api/play/{game['id']}", guess="tit-for-tat")
    assert told["guess"] == "tit-for-tat"
    assert told["players"][1] in kinds


@pytest.mark.parametrize(
    "body",
    [
        {"game": "os:system", "players": ["random"]},
        {"game": "pettingzoo:os", "players": ["random"]},
        {"game": "../secret", "players": ["random"]},
        {"game": "prisoners-dilemma", "players": ["os:getcwd"]},
        {"game": "prisoners-dilemma", "players": ["/etc/passwd"]},
        {"game": "prisoners-dilemma", "players": ["zoo:../../x/y/z"]},
        {"game": "prisoners-dilemma", "players": ["ppo"]},
        {"game": "prisoners-dilemma", "players": ["other"]},  # a run without players
        {"game": "prisoners-dilemma", "players": []},
        {"game": "prisoners-dilemma", "players": ["random"] * 3},
        {"game": "prisoners-dilemma", "players": [1]},
        {"game": "prisoners-dilemma", "players": ["random"], "seat": 2},
        {"game": "prisoners-dilemma", "players": ["random"], "seed": -1},
        {"game": "prisoners-dilemma", "players": ["random"], "horizon": 10**9},
        {"game": "prisoners-dilemma", "players": ["zoo:coin/adalign/0"]},
        {"game": 3, "players": ["random"]},
        {},
    ],
)
def test_games_that_cannot_be_played_are_refused(owner: TestClient, body: dict[str, Any]) -> None:
    assert owner.post("/api/play", json=body).status_code == 400


def test_theory_of_a_pasted_table(client: TestClient) -> None:
    found = post(client, "/api/theory", text=", c, d\nc, 3 3, 0 5\nd, 5 0, 1 1")
    assert [own["payoffs"] for own in found["report"]["equilibria"]] == [[1.0, 1.0]]
    assert set(found["pictures"]) == {"region", "responses", "flow"}
    assert found["pictures"]["flow"][0][-1][0] < found["pictures"]["flow"][0][0][0] + 1e-6  # towards d
    three = post(client, "/api/theory", text="rock-paper-scissors")
    assert set(three["pictures"]) == {"region", "simplex"}
    votes = post(client, "/api/theory", text='{"weights": [3, 2, 1], "quota": 4}', coalition=True)
    assert votes["report"]["shapley"] == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    assert "60000 characters" in refused(client, "/api/theory", text="1" * 60_001)
    large = "\n".join(",".join("1 1" for _ in range(20)) for _ in range(20))
    assert "comity solve" in refused(client, "/api/theory", text=large)
    for bad in ("", "a", "1 2, x", "[[[1", '{"payoffs": [[NaN]]}', "NFG", "1e999 1"):
        refused(client, "/api/theory", text=bad)


def test_settings_have_their_help(client: TestClient) -> None:
    found = client.get("/api/choices?game=coin&agent=adalign").json()
    named = {one["name"]: one for one in found}
    assert named["game.width"]["help"] == "columns of the grid"
    assert named["batch"]["default"] == 512  # the recipe's
    assert all(one["help"] for one in found)


def test_a_job_is_the_command_that_it_says(owner: TestClient) -> None:
    body = {
        "kind": "train",
        "game": "coin",
        "agents": ["adalign"],
        "out": "mine",
        "iterations": 5,
        "plan": True,
    }
    assert post(owner, "/api/jobs", **body, settings={"agent.term.weight": "2"})["command"] == (
        "comity train coin adalign --out mine --iterations 5 --agent.term.weight 2"
    )
    league = {"kind": "league", "game": "coin", "players": ["random", "zoo:coin/loqa/0"], "out": "mine"}
    assert post(owner, "/api/jobs", **league, plan=True)["command"] == (
        "comity league coin random zoo:coin/loqa/0 --json mine.json"
    )


def test_players_of_a_league_that_are_called_alike_get_names(owner: TestClient, root: Path) -> None:
    again = make_run(root / "again" / "seed-0", rows=1)
    players = ["ppo/seed-0", "again/seed-0", "other", "zoo:coin/loqa/0", "zoo:coin/adalign/0"]
    named = post(owner, "/api/jobs", kind="league", game="coin", players=players, out="x", plan=True)
    shutil.rmtree(again.parent)
    assert named["command"] == (
        "comity league coin ppo-seed-0=ppo/seed-0 again-seed-0=again/seed-0 other zoo:coin/loqa/0 "
        "zoo:coin/adalign/0 --json x.json"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"out": "../x"},
        {"out": "a/b"},
        {"out": "-x"},
        {"out": "ppo"},  # exists
        {"agents": ["os:getcwd"]},
        {"agents": ["--help"]},
        {"game": "os:x"},
        {"kind": "shell"},
        {"settings": {"out": "/tmp/x"}},
        {"settings": {"agent.network": "os:getcwd"}},
        {"settings": {"agent.x": "$(id)"}},
        {"settings": {"agent.x": "--resume"}},
        {"settings": {"wandb": "x"}},
        {"settings": []},
        {"iterations": "many"},
        {"kind": "league", "players": ["../secret.json"]},
        {"kind": "league", "players": ["--help"]},
    ],
)
def test_jobs_that_reach_further_are_refused(owner: TestClient, change: dict[str, Any]) -> None:
    body = {"kind": "train", "game": "coin", "agents": ["ppo"], "out": "fresh", **change}
    assert owner.post("/api/jobs", json=body).status_code == 400
    assert owner.get("/api/jobs").json() == []


def test_a_job_is_cancelled(owner: TestClient) -> None:
    players = ["tit-for-tat", "random"]
    job = post(owner, "/api/jobs", kind="league", game="prisoners-dilemma", players=players, out="cut")
    assert job["status"] == "running"
    assert post(owner, f"/api/jobs/{job['id']}/cancel")["status"] in ("cancelling", "cancelled")
    deadline = time.monotonic() + 25
    while (
        owner.get("/api/jobs").json()[0]["status"] in ("running", "cancelling")
        and time.monotonic() < deadline
    ):
        time.sleep(0.1)
    assert owner.get("/api/jobs").json()[0]["status"] == "cancelled"
