"""The page about games that people played."""

import json
from pathlib import Path
from typing import Any

import pytest

from comity.cli import run as comity
from comity.report.plays import guesses, read_play, scores


def play(**more: Any) -> dict[str, Any]:
    steps = [{"names": ["C", "D"], "reward": [-3, 0]}, {"names": ["D", None], "reward": [-2, -2]}]
    tendencies = [{"player": "tit-for-tat", "facts": [{"name": "cooperates", "share": 0.25, "count": 4}]}]
    return {
        "kind": "comity-play",
        "game": {"name": "prisoners-dilemma"},
        "seats": ["player 1", "player 2"],
        "players": ["<i>Ada</i>", "tit-for-tat"],
        "seat": 0,
        "total": [-5.0, -2.0],
        "steps": steps,
        "tendencies": tendencies,
        **more,
    }


def test_scores_are_means_of_each_pairing() -> None:
    other = play(seat=1, players=["tit-for-tat", "Bob"], total=[1.0, 3.0])
    rows = scores([play(), play(total=[-1.0, -4.0]), other])
    assert rows == [
        ["prisoners-dilemma", "<i>Ada</i>", "tit-for-tat", 2, -3.0, -3.0],
        ["prisoners-dilemma", "Bob", "tit-for-tat", 1, 3.0, 1.0],
    ]


def test_guesses_are_counted_by_who_it_was() -> None:
    right = play(hidden=True, people={"0": "Ada"}, guesses={"0": "tit-for-tat"})
    both = play(hidden=True, people={"0": "Ada", "1": "Bob"}, guesses={"0": "a person", "1": "tit-for-tat"})
    silent = play(hidden=True, people={"0": "Ada"}, guesses={"0": ""})
    assert dict(guesses([right, both, silent, play(guess="tit-for-tat")])) == {
        ("tit-for-tat", "tit-for-tat"): 1,
        ("a person", "a person"): 1,
        ("a person", "tit-for-tat"): 1,
    }


def test_report_takes_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(2):
        data = play(hidden=True, people={"0": "Ada"}, guesses={"0": "tit-for-tat"})
        (tmp_path / f"{i}.json").write_text(json.dumps(data))
    out = tmp_path / "page.html"
    assert comity(["report", str(tmp_path / "0.json"), str(tmp_path / "1.json"), "--out", str(out)]) == 0
    text = out.read_text()
    assert "2 of 2 guesses were right" in text
    assert "&lt;i&gt;Ada" in text
    assert "<i>Ada" not in text
    assert "25%" in text


@pytest.mark.parametrize(
    "change", [{"seat": 2}, {"steps": [{"names": ["C"], "reward": [1]}]}, {"total": [1]}, {"total": ["x", 1]}]
)
def test_damaged_games_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "play.json"
    path.write_text(json.dumps(play(**change)))
    assert comity(["report", str(path)]) == 2


def test_a_transcript_of_the_terminal_is_read(tmp_path: Path) -> None:
    path = tmp_path / "play.json"
    path.write_text(json.dumps({k: v for k, v in play().items() if k != "tendencies"}))
    assert read_play(path)["total"] == [-5.0, -2.0]
