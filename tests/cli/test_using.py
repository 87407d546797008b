"""`comity export`, `comity zoo` and `comity doctor`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from comity.cli import run as cli
from comity.cli.doctor import examine
from comity.play import zoo
from comity.play.numpy_player import load
from comity.play.zoo import recipe_names, zoo_names


def test_export_writes_a_file_named_after_the_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli(["export", "zoo:prisoners-dilemma/adalign/3"]) == 0
    assert "it differs by at most" in capsys.readouterr().out
    assert load("prisoners-dilemma-adalign-3.pyz").act(0) in (0, 1)
    (tmp_path / "folder").mkdir()
    assert cli(["export", "zoo:prisoners-dilemma/adalign/3", "--out", "folder", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["file"] == "folder/prisoners-dilemma-adalign-3.pyz"
    assert Path(said["file"]).stat().st_size == said["bytes"]
    assert cli(["export", "tit-for-tat"]) == 2
    assert cli(["export", "zoo:nothing/here/0"]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "prisoners-dilemma-adalign-3.pyz"]


def test_the_zoo_is_listed_with_scores_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["zoo"]) == 0
    lines = {
        line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("zoo:")
    }
    assert list(lines) == [f"zoo:{name}" for name in recipe_names()]
    assert "400  self 0.344" in lines["zoo:coin/adalign"]
    assert cli(["zoo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(own["name"] for entry in found for own in entry["players"]) == sorted(zoo_names())


def test_a_name_of_the_zoo_says_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["zoo", "zoo:coin/adalign/3"]) == 0
    said = capsys.readouterr().out
    assert "zoo:coin/adalign/3 " in said
    assert "zoo:coin/adalign/4" not in said
    assert "comity train zoo:coin/adalign --seed 3" in said
    assert cli(["zoo", "coin"]) == 0
    assert "zoo:negotiation" not in capsys.readouterr().out
    assert cli(["zoo", "coyn"]) == 2
    assert "Did you mean coin" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "no JSON", "[1]", '{"players": [1]}', '{"players": {"0": 3}}'])
def test_what_is_not_known_of_the_zoo_is_left_out(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "coin" / "mine"
    folder.mkdir(parents=True)
    (folder / "experiment.json").write_text('{"iterations": 7}')
    (folder / "0.safetensors").touch()
    if content is not None:
        (folder / "about.json").write_text(content)
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    assert cli(["zoo"]) == 0
    assert "zoo:coin/mine: 7 iterations; to train: not known." in capsys.readouterr().out


def test_the_doctor_finds_all_well(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMITY_CACHE", str(tmp_path / "cache"))
    assert cli(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == []
    assert found["versions"]["jax"]
    assert found["devices"] == ["cpu (cpu)"]
    assert found["cache"]["folder"] == str(tmp_path / "cache")
    assert found["machine"]["memory_bytes"] > found["machine"]["free_memory_bytes"] > 0
    assert 0 < found["test"]["seconds"] < 60
    assert cli(["doctor", "--quick"]) == 0
    assert "All is well." in capsys.readouterr().out


def test_the_doctor_says_what_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("COMITY_CACHE", str(tmp_path / "file" / "cache"))
    (problem,) = examine(quick=True)["problems"]
    assert problem.startswith("cache: ")
    assert cli(["doctor", "--quick"]) == 1
    assert "PROBLEM  cache: " in capsys.readouterr().out


def test_a_device_that_is_not_there_is_a_problem_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "comity", "doctor", "--quick"],
        env={**os.environ, "JAX_PLATFORMS": "cuda"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("PROBLEM  devices: ")]
    assert "Traceback" not in done.stderr
