"""Completion: every option of every command, studies and the zoo, tried in the shells themselves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from comity.cli import COMMANDS
from comity.cli import run as cli
from comity.cli.completion import complete


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_CACHE", str(tmp_path / "cache"))


LINES = {
    "comity tr": "train",
    "comity train pris": "prisoners-dilemma",
    "comity train zoo:coin/ada": "zoo:coin/adalign",
    "comity train prisoners-dilemma adal": "adalign",
    "comity train prisoners-dilemma ppo --iter": "--iterations",
    "comity train prisoners-dilemma ppo --agent.network l": "lstm",
    "comity train prisoners-dilemma ppo --agent.network gtrxl --agent.network.con": "--agent.network.context",
    "comity league prisoners-dilemma tit-for-ta": "tit-for-tat",
    "comity league coin zoo:coin/loqa/": "zoo:coin/loqa/9",
    "comity reproduce ": "coin-league",
    "comity reproduce ipd --from": "--from-committed",
    "comity solve stag": "stag-hunt",
    "comity export zoo:coin/pola/": "zoo:coin/pola/2",
    "comity zoo zoo:neg": "zoo:negotiation/adalign",
    "comity doctor --": "--json",
    "comity completion f": "fish",
}


@pytest.mark.parametrize("line", LINES)
def test_what_may_follow_a_line(line: str) -> None:
    words = complete(line)[1]
    assert LINES[line] in words
    assert all(word.startswith(line.split(" ")[-1]) for word in words)


def test_every_command_has_its_options(tmp_path: Path) -> None:
    by_names = {"train", "league", "replay", "watch", "play", "sweep"}  # theirs depend on what is named
    without = {command for command in COMMANDS if "--help" not in complete(f"comity {command} --")[1]}
    assert without <= by_names
    made = sorted((tmp_path / "cache" / "completion").iterdir())
    assert len(made) == len(COMMANDS)
    assert complete("comity doctor --q")[1] == ["--quick"]  # from the cache
    assert sorted((tmp_path / "cache" / "completion").iterdir()) == made


def test_nobody_s_code_runs_and_open_quotes_do_no_harm() -> None:
    assert complete("comity train no_such_module:Game ppo --iter")[1] in ([], ["--iterations"])
    assert complete('comity train "coi') == (True, [])
    assert complete("comity nothing --") == (False, [])


@pytest.fixture
def shell_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `comity` is this very one."""
    program = tmp_path / "bin" / "comity"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m comity "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli(["completion", shell]) == 0
    return capsys.readouterr().out


def test_bash_completes(
    shell_path: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my-run").mkdir()
    text = script("bash", capsys)
    for line, expected in {
        "comity tr": "train",
        "comity league coin zoo:coin/loqa/": "coin/loqa/9",  # what comes after the colon
        "comity report my": "my-run",
    }.items():
        code = f'{text}\nCOMP_LINE="{line}"; COMP_POINT={len(line)}; _comity; echo "${{COMPREPLY[@]}}"'
        found = subprocess.run(
            ["bash", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=shell_path
        )
        assert expected in found.stdout.split(), found


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(
    shell_path: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = f"{script('fish', capsys)}\ncomplete -C 'comity zoo zoo:coin/l'"
    found = subprocess.run(["fish", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=shell_path)
    assert "zoo:coin/loqa" in found.stdout.split(), found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes(
    shell_path: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a terminal of its own: what is typed, and what a tab makes of it."""
    (tmp_path / "script").write_text(script("zsh", capsys))
    code = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; source script; zstyle ':completion:*' list-prompt ''"
zpty -w -n shell $'comity zoo zoo:nego\\t'
zpty -r shell text '*tiation/adalign*'
print -r -- "$text"
zpty -d shell
"""
    found = subprocess.run(
        ["zsh", "-f", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=shell_path, timeout=60
    )
    assert "tiation/adalign" in found.stdout, found
