"""Every block of Python in README.md and docs/ runs, and every command line there is understood.

A block that would take too long, or is a part of something, has `<!-- not run: WHY -->` above it.
"""

import importlib
import runpy
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import tyro

import comity
from comity.cli import COMMANDS
from comity.cli import run as cli
from comity.cli.train_settings import experiment_of, options_of, parse
from comity.core.errors import ComityError
from comity.training import experiment
from comity.training.experiment import Experiment
from tests.docs.pages import ALGORITHMS, PAGES, Command, blocks, commands, follow

LONGEST = 2  # iterations: a block shows how something is done, not what comes out
LARGEST = 16  # games side by side


def shortened(**sizes: Any) -> dict[str, Any]:
    """Sizes of an experiment, none larger than needed to see that it works."""
    most = {"iterations": LONGEST, "batch": LARGEST}
    return {**sizes, **{name: min(sizes.get(name, value), value) for name, value in most.items()}}


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that trains does so for a moment only."""
    make = experiment.make_experiment

    def short(*arguments: Any, **sizes: Any) -> Experiment:
        return make(*arguments, **shortened(**sizes))

    for module in (
        "comity",
        "comity.training.experiment",
        "comity.training.overrides",
        "comity.training.populations.psro",
    ):
        importlib.import_module(module)
        monkeypatch.setattr(f"{module}.make_experiment", short)
    respond = importlib.import_module("comity.training.best_response").response_experiment
    monkeypatch.setattr(
        "comity.training.best_response.response_experiment",
        lambda *arguments, **sizes: respond(*arguments, **{**sizes, "iterations": LONGEST}),
    )
    matplotlib.use("Agg")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("short_runs")
def test_python_runs(page: Path, tmp_path: Path) -> None:
    """All blocks of a page as one program, each in the lines where it stands on the page."""
    program: list[str] = []
    for block in blocks(page):
        if block.language == "python" and not block.title and not block.not_run:
            program += [""] * (block.line - 1 - len(program)) + block.text.splitlines()
    if not program:
        return
    with follow(page, tmp_path):
        script = tmp_path / f"{page.stem}_blocks.py"
        script.write_text("\n".join(program) + "\n")
        runpy.run_path(str(script))


class Understood(Exception):  # noqa: N818 - no error
    """Raised where a command has parsed its arguments and would begin."""


def understand(command: Command) -> None:
    """Parses a command line as its command does, and no more."""
    name, *arguments = command.arguments
    if name not in COMMANDS:
        assert name in ("--version", "--help", "help", "version"), name
        return
    if not arguments:  # a command that a sentence names
        return
    if name == "train" and arguments[:1] != ["--resume"] and "--help" not in arguments:
        names = []
        while arguments and not arguments[0].startswith("-"):
            names.append(arguments.pop(0))
        settings = parse(names, arguments)
        options_of(settings, experiment_of(names, settings))
        return
    assert cli(command.arguments) == 0


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(pytest.param(page, marks=pytest.mark.long) for page in ALGORITHMS)],
    ids=lambda page: page.name,
)
def test_commands_are_understood(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parse_really = tyro.cli

    def stop_after_parsing(*arguments: Any, **options: Any) -> Any:
        parsed = parse_really(*arguments, **options)
        if stops:
            raise Understood
        return parsed

    monkeypatch.setattr(tyro, "cli", stop_after_parsing)
    wrong = []
    with follow(page, tmp_path):
        for command in commands(page):
            stops = command.arguments[:1] != ["train"] or "--resume" in command.arguments
            try:
                understand(command)
            except Understood:
                pass
            except (SystemExit, ComityError, AssertionError) as error:
                said = " ".join([str(error), *capsys.readouterr()])
                optional = (
                    "is not installed" in said or "No module named" in said
                )  # a third-party environment
                if not optional and getattr(error, "code", 1) != 0:
                    wrong.append(
                        f"{command.name}: {' '.join(command.arguments)}: {' '.join(said.split())[:300]}"
                    )
    assert wrong == [], "\n".join(wrong)


def test_the_pages_have_something_to_test() -> None:
    """So that a change of how blocks are written does not turn these tests off."""
    assert sum(len(commands(page)) for page in PAGES) >= 20
    run = [
        block for page in PAGES for block in blocks(page) if block.language == "python" and not block.not_run
    ]
    assert len(run) >= 15
    assert comity.__version__
