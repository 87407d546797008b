"""`comity replay`, `watch` and `play` as a person uses them: files, frames, keys, typed and wrong input."""

import io
import json
import os
import re
import sys
import threading
import time
from contextlib import contextmanager

import jax.numpy as jnp
import pytest
from PIL import Image

import comity
from comity.cli import run
from comity.cli.keyboard import split_keys
from comity.core.game import Seat
from comity.core.spaces import Box, Discrete, Masked
from comity.play.asking import NotAnActionError, keys_of, question, read_action


def typed(monkeypatch, text):
    """Lets a person type lines; after the last one the input ends."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_replay_is_written(tmp_path, capsys):
    out = tmp_path / "a.gif"
    words = ["replay", "prisoners-dilemma", "polite=tit-for-tat", "always-defect", "--out", str(out)]
    assert run([*words, "--steps", "3", "--fps", "10"]) == 0
    assert (
        "3 steps; earned: player 1 (polite) -7.00, player 2 (always-defect) -4.00" in capsys.readouterr().out
    )
    with Image.open(out) as image:
        assert getattr(image, "n_frames", 1) == 4
        assert image.info["duration"] == 100


def test_watching_without_a_terminal_prints_all_frames(capsys):
    assert run(["watch", "prisoners-dilemma", "tit-for-tat", "always-defect", "--steps", "2"]) == 0
    text = capsys.readouterr().out
    assert [int(step) for step in re.findall(r"^step (\d) of 16", text, re.MULTILINE)] == [0, 1, 2]
    assert "\x1b" not in text


def test_a_person_types_actions(tmp_path, capsys, monkeypatch):
    typed(monkeypatch, "C\nwhat\n1\nquit\n")
    save = tmp_path / "game.json"
    assert run(["play", "prisoners-dilemma", "tit-for-tat", "--seat", "1", "--save", str(save)]) == 0
    said = capsys.readouterr().out
    assert "'what' is no action here: C, D." in said
    assert "You ended the game. After 2 steps you have -1.00; player 1 (tit-for-tat) -4.00." in said
    data = json.loads(save.read_text())
    assert data["players"] == ["tit-for-tat", "you"]
    assert [step["names"] for step in data["steps"]] == [["C", "C"], ["C", "D"]]
    assert data["total"] == [-4.0, -1.0]
    assert not data["over"]
    assert data["game"]["name"] == "prisoners-dilemma"


def test_the_end_of_input_and_interrupts_end_politely(capsys, monkeypatch):
    typed(monkeypatch, "R\n")
    assert run(["play", "rock-paper-scissors", "random"]) == 0
    assert "You ended the game. After 1 step you have" in capsys.readouterr().out

    def interrupt(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert run(["play", "rock-paper-scissors", "random"]) == 0
    assert "After 0 steps" in capsys.readouterr().out


def test_a_whole_episode_ends_by_itself(capsys, monkeypatch):
    typed(monkeypatch, "2 3 4\n5 5\n5 0 5\n")
    assert run(["play", "negotiation", "random", "--game.horizon", "2"]) == 0
    said = capsys.readouterr().out
    assert "'5 5' is not 3 numbers from 0 to 5." in said
    assert "You ended" not in said
    assert "After 2 steps you have" in said


def test_who_waits_is_not_asked(capsys, monkeypatch):
    typed(monkeypatch, "0.3\n")
    assert run(["play", "alternating-offers", "greedy", "--game.rounds", "1", "--seat", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("you are second:") == 1
    assert "After 2 steps you have" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["replay", "coin", "random", "random", "random"], "There are 2 seats for players, and 3 were given"),
        (["replay", "coin", "random", "--out", "a.doc"], "ends in .gif, .webp, .png or .html"),
        (["replay", "coin", "random", "--steps", "0"], "steps = 0"),
        (["replay", "coin", "random", "--fps", "0"], "fps = 0"),
        (["replay", "coin"], "at least one player"),
        (["watch", "coin", "nobody-at-all"], "nobody-at-all"),
        (["watch", "coin"], "at least one player"),
        (["play", "coin"], "at least one player"),
        (["play", "coin", "random", "--seat", "2"], "seat = 2"),
        (["play", "coin", "a=", "--seat", "1"], "PLAYER or NAME=PLAYER"),
    ],
)
def test_what_does_not_work_is_one_sentence(words, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_typed_actions():
    seat = Seat("me", Discrete(2), Discrete(4, ("right", "left", "down", "up")))
    assert [read_action(seat, 0, word) for word in ("up", "UP", "3", " u ")] == [3, 3, 3, 3]
    with pytest.raises(NotAnActionError, match="right, left, down, up"):
        read_action(seat, 0, "")
    numbers = Seat("me", Discrete(2), Box((2,), 0.0, 1.0))
    assert read_action(numbers, 0, "0.5, 1").tolist() == [0.5, 1.0]
    for wrong in ("1", "0.5 2", "0.5 nan", "a b"):
        with pytest.raises(NotAnActionError, match="2 numbers from 0 to 1"):
            read_action(numbers, 0, wrong)
    masked = Seat("me", Masked(Discrete(2), 2), Discrete(2, ("pass", "take")))
    with pytest.raises(NotAnActionError, match="take is not possible now: pass"):
        read_action(masked, (0, jnp.asarray([True, False])), "take")
    assert question(seat) == "0 right, 1 left, 2 down, 3 up"


def test_keys():
    assert split_keys("\x1b[Aw \x1bq") == ["up", "w", "space", "escape", "q"]
    keys = {
        name: keys_of(comity.make_game(name).seats[0]) for name in ("coin", "commons-harvest", "two-step")
    }
    assert (keys["coin"]["up"], keys["coin"]["w"], keys["coin"]["d"]) == (3, 3, 0)
    assert keys["two-step"] == {"a": 0, "b": 1}
    assert len(set(keys["commons-harvest"].values())) == 8
    assert keys_of(comity.make_game("negotiation").seats[0]) == {}


@contextmanager
def terminal(monkeypatch):
    """A terminal with a person: what is sent are keys; what was shown can be waited for."""
    person, program = os.openpty()
    shown = bytearray()

    def watch():
        while True:
            try:
                shown.extend(os.read(person, 4096))
            except OSError:
                return

    threading.Thread(target=watch, daemon=True).start()
    stdin, stdout = (open(program, mode, closefd=False) for mode in ("r", "w"))  # noqa: SIM115
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setenv("TERM", "xterm-256color")

    def press(after, keys):
        """Sends keys once something was shown, in the background."""

        def wait():
            until = time.monotonic() + 20
            while after.encode() not in shown and time.monotonic() < until:
                time.sleep(0.02)
            os.write(person, keys)

        threading.Thread(target=wait, daemon=True).start()

    yield press, shown
    stdout.flush()
    time.sleep(0.1)  # until the last of it was read
    monkeypatch.undo()
    os.close(program)


def test_keys_in_a_terminal(monkeypatch):
    with terminal(monkeypatch) as (press, shown):
        press("step 0 of 50", b"\x1b[A")
        press("step 1 of 50", b"?d")  # the first is no action: ignored
        press("step 2 of 50", b"q")
        assert run(["play", "coin", "random"]) == 0
    assert b"After 2 steps you have" in shown


def test_watching_in_a_terminal(monkeypatch):
    with terminal(monkeypatch) as (press, shown):
        press("step 1 of 16", b" ")
        press("paused", b"\x1b[Dq")
        assert run(["watch", "prisoners-dilemma", "tit-for-tat", "--fps", "20"]) == 0
    assert b"space: pause" in shown
    assert b"\x1b[?1049l" in shown  # the terminal is as it was
