"""Pages of the documentation as a reader follows them: their blocks of code, files and commands."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from comity.agents.registry import AGENTS
from comity.core.memory import MEMORIES
from comity.core.trust import TRUST
from comity.games.registry import GAMES
from comity.learn.views import VIEWS
from comity.nets.registry import NETWORKS
from comity.play.specs import MATCHMAKERS
from comity.studies.registry import STUDIES
from comity.training.executors.registry import EXECUTORS
from comity.training.hooks.registry import HOOKS
from comity.training.populations.registry import POPULATIONS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ALGORITHMS = sorted((ROOT / "docs" / "algorithms").glob("*.md"))
REGISTRIES = (
    AGENTS, MEMORIES, GAMES, VIEWS, NETWORKS, MATCHMAKERS, STUDIES, EXECUTORS, HOOKS, POPULATIONS
)  # fmt: skip
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
FENCE = re.compile(r'```(\w*)(?: title="([\w.]+)")?$')
SHELL = ("", "bash", "sh", "console")


class Block(NamedTuple):
    """A block of code: its text begins in line `line` of its page; `not_run` says why it is left out."""

    line: int
    language: str
    title: str
    text: str
    not_run: str


class Command(NamedTuple):
    """A command line of a page, without `comity`."""

    page: Path
    line: int
    arguments: list[str]

    @property
    def name(self) -> str:
        """Where it stands, for messages."""
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The blocks of code of a page."""
    found = []
    fence: re.Match[str] | None = None
    text: list[str] = []
    start, reason = 0, ""  # of the block under way
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if fence is None:
            fence = FENCE.match(line)
            assert fence or not line.startswith("```"), (
                f"{page.name}:{number}: a fence that is not understood"
            )
            start, text = number + 1, []
            if fence is None and line.strip():
                said = NOT_RUN.fullmatch(line.strip())
                reason = said[1] if said else ""
        elif line == "```":
            found.append(Block(start, fence[1], fence[2] or "", "\n".join(text) + "\n", reason))
            fence, reason = None, ""
        else:
            text.append(line)
    assert fence is None, f"{page.name}:{start}: a block without an end"
    return found


def files(page: Path) -> dict[str, str]:
    """The files that a page shows, by name."""
    return {block.title: block.text for block in blocks(page) if block.title}


def commands(page: Path) -> list[Command]:
    """The command lines of a page: lines of blocks, and short ones in the text if they are whole."""
    found = []
    inside = set()
    for block in blocks(page):
        lines = block.text.splitlines()
        inside |= set(range(block.line, block.line + len(lines)))
        if block.language not in SHELL or block.not_run:
            continue
        whole = re.sub(r"\\\n\s*", lambda match: " " * 2, block.text)  # lines that go on in the next one
        for offset, line in enumerate(whole.splitlines()):
            words = shlex.split(line.removeprefix("$ "), comments=True) if "comity " in line else []
            if words[:1] == ["comity"]:
                end = next((i for i, word in enumerate(words) if word in ("|", ">", "&&")), len(words))
                found.append(Command(page, block.line + offset, words[1:end]))
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for short in re.findall(r"`comity ([^`]+)`", line) if number not in inside else ():
            # GAME, RUN_FOLDER, only a flag, or only the name of what takes arguments: not a whole command
            if not re.search(r"\b[A-Z_]{3,}\b|\.\.\.|^\w+ -|^(train|solve|league)$", short):
                found.append(Command(page, number, shlex.split(short)))
    return found


@contextmanager
def follow(page: Path, folder: Path) -> Iterator[None]:
    """A reader's folder with the files of a page; nothing is trusted yet, and in the end all is forgotten."""
    shown = files(page)
    for name, text in shown.items():
        (folder / name).write_text(text)
    modules = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.chdir(folder)
        patch.setenv(TRUST, "")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
        for registry in REGISTRIES:
            patch.setattr(registry, "_classes", dict(registry._classes))
            patch.setattr(registry, "_installed", None)
        yield
    for name in (set(sys.modules) - modules) & {Path(file).stem for file in shown}:
        del sys.modules[name]
