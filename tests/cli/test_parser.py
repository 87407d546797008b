"""What the parser refuses, as one sentence; and that every command reads its arguments by it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
import tyro

import comity
from comity.cli.parser import parse_arguments
from comity.core.errors import ComityError


@dataclass
class Size:
    width: int = 3


@dataclass
class Settings:
    source: tyro.conf.Positional[Path]
    kind: Literal["small", "large"] = "small"
    number: int = 1
    share: float | None = None
    size: Size = field(default_factory=Size)
    pair: tuple[int, int] = (1, 2)


REFUSED = {
    "": "PATH is missing: comity it --help lists all options.",
    "a --nmber 3": "There is no option --nmber. Did you mean --number?",
    "a --size.with=3": "There is no option --size.with. Did you mean --size.width?",
    "a --xyz": "There is no option --xyz: comity it --help lists all options.",
    "a b": "'b' is one argument too many: comity it --help lists all options.",
    "a --number": "--number needs a value: comity it --help lists all options.",
    "a --number x": "--number = 'x' is not possible: it must be a whole number.",
    "a --share x": "--share = 'x' is not possible: it must be a number.",
    "a --kind big": "--kind = 'big' is not possible: it must be one of large, small.",
    "a --pair 1": "--pair needs a value: comity it --help lists all options.",
}


@pytest.mark.parametrize("line", REFUSED)
@pytest.mark.parametrize("columns", ["20", "200"])
def test_refusals(
    line: str, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(ComityError) as refused:
        parse_arguments(Settings, line.split(), "comity it")
    assert str(refused.value) == REFUSED[line]
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_what_is_parsed() -> None:
    settings = parse_arguments(Settings, ["a", "--size.width", "5", "--share", ".5"], "comity it")
    assert (settings.source, settings.size.width, settings.share) == (Path("a"), 5, 0.5)


def test_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse_arguments(Settings, ["--help"], "comity it")
    assert not left.value.code
    assert "--size.width" in capsys.readouterr().out


def test_every_command_uses_it() -> None:
    """Nothing but the parser calls tyro itself, so that no command can answer with a box."""
    folder = Path(comity.__file__).parent
    callers = [path.name for path in folder.rglob("*.py") if re.search(r"\btyro\.cli\(", path.read_text())]
    assert callers == ["parser.py"]
