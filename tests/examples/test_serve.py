"""The example service: started as a user does, asked over HTTP, and ended."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import comity
from comity.play.export import export_player

SERVE = Path(__file__).parents[2] / "examples" / "serve.py"
PLAYER = "zoo:prisoners-dilemma/adalign/0"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the service of a player listens; isolated, so that it sees NumPy and its file alone."""
    path = tmp_path_factory.mktemp("served") / "player.pyz"
    export_player(comity.load_player(PLAYER), path)
    command = [sys.executable, "-I", str(SERVE), str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        yield service.stdout.readline().split()[-1]
        service.send_signal(signal.SIGTERM)
        assert service.wait(timeout=20) == 0


def ask(url: str, request: Any = None) -> tuple[int, Any]:
    content = None if request is None else json.dumps(request).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=content), timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_it_says_what_the_player_sees_and_does(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")
    code, about = ask(address)
    assert (code, about["name"], about["seat"]["action"]["labels"]) == (200, PLAYER, ["C", "D"])


def test_sessions_act_as_the_player_does_each_with_its_own_memory(address: str) -> None:
    player = comity.load_player(PLAYER)
    seen = [0, 1, 3, 4, 1, 2]
    expected = [int(player.act(obs, deterministic=True)) for obs in seen]

    def play(session: str, obs: int) -> int:
        code, answer = ask(f"{address}act", {"session": session, "obs": obs, "deterministic": True})
        assert code == 200
        return int(answer["action"])

    assert [(play("a", obs), play("b", obs)) for obs in seen] == [(own, own) for own in expected]
    assert ask(f"{address}reset", {"session": "a"}) == (200, {})
    assert [play("a", obs) for obs in seen] == expected
    several = ask(f"{address}act", {"session": "c", "obs": [0, 1, 2]})[1]["action"]
    assert np.shape(several) == (3,)


@pytest.mark.parametrize(
    ("path", "request_", "code", "message"),
    [
        ("act", {"obs": 17}, 400, "obs is not what the player sees"),
        ("act", [1], 400, "A request is a JSON object"),
        ("act", {"session": 3, "obs": 0}, 400, "session must be a text"),
        ("nothing", {}, 404, "POST /act"),
    ],
)
def test_what_is_wrong_is_said(address: str, path: str, request_: Any, code: int, message: str) -> None:
    found, answer = ask(f"{address}{path}", request_)
    assert found == code
    assert message in answer["error"]
