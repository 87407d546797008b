"""Arguments read by tyro; what it refuses becomes one sentence that names the option and what would work.

tyro prints a box over several lines and leaves the program. The sentence is made of the words in that box
and of the options that its help lists.
"""

import ast
import contextlib
import io
import os
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import tyro
from tyro import _docstrings

from comity.core.errors import ComityError, bad_value, near_names

Settings = TypeVar("Settings")
WIDE = "100000"  # columns: no line of a box is broken
RULE = "\f"  # a line between two parts of a box
READS_HELP = "get_field_docstring"  # in tyro: the text above or behind a field, from its source
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
MUST_BE = {
    "invalid literal for int()": "a whole number",
    "could not convert string to float": "a number",
    "not enough arguments for int": "a whole number",
}


def parse_arguments(settings: type[Settings], arguments: list[str], program: str, **options: Any) -> Settings:
    """The settings that arguments give; `program` is what the help calls the command."""
    refused = io.StringIO()
    asked = {"-h", "--help"} & set(arguments)
    config = tuple(options.pop("config", ()))
    try:
        with contextlib.redirect_stderr(refused), contextlib.nullcontext() if asked else _without_help():
            parsed: Settings = tyro.cli(settings, args=arguments, prog=program, config=config, **options)
            return parsed
    except SystemExit as left:
        if left.code in (None, 0):
            raise
    refused, listed = io.StringIO(), io.StringIO()
    with _wide(), contextlib.redirect_stderr(refused), contextlib.suppress(SystemExit):
        tyro.cli(settings, args=arguments, prog=program, config=config, **options)
    with _wide(), contextlib.redirect_stdout(listed), contextlib.suppress(SystemExit):
        tyro.cli(settings, args=["--help"], prog=program, config=config, **options)
    known = set(re.findall(r"--[a-z][\w.-]*", COLOURS.sub("", listed.getvalue())))
    raise ComityError(_sentence(COLOURS.sub("", refused.getvalue()), known, program))


@contextlib.contextmanager
def _without_help() -> Iterator[None]:
    """Help texts are comments, and reading the source for them is slow: only who asks waits.

    tyro's own switch does not reach nested settings. In a version that reads it elsewhere this does nothing.
    """
    read = getattr(_docstrings, READS_HELP, None)
    setattr(_docstrings, READS_HELP, lambda *field: None)
    try:
        yield
    finally:
        setattr(_docstrings, READS_HELP, read)


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDE
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _sentence(box: str, known: set[str], program: str) -> str:
    """What a box says, as one sentence."""
    lines = [line.strip("│|╭╮╰╯+ ") for line in box.splitlines() if line.strip()]
    ruled = "\n".join(line if line.strip("─-") else RULE for line in lines[1:])  # without the title
    text = " ".join(ruled.removeprefix(RULE).partition(RULE)[0].split())
    more = f"{program} --help lists all options."
    if found := re.match(r"Unrecognized options: (.*)", text):
        return _unknown(found[1].split(", "), known, more)
    if found := re.match(r"Missing value for argument '(.*?)'", text):
        return f"{found[1]} needs a value: {more}"
    if found := re.match(r"invalid choice (.*) for argument '(.*?)'. Expected one of (\(.*\)).?$", text):
        choices = sorted(str(choice) for choice in ast.literal_eval(found[3]) if choice != "None")
        return str(bad_value(found[2], found[1].strip("'"), f"one of {', '.join(choices)}"))
    if found := re.match(r"Missing from .*?: (\S+)", text):
        return f"{found[1]} is missing: {more}"
    if found := re.match(r"Error parsing (\S+): (.*)", text):
        return _bad(found[1], found[2])
    return f"{text} ({more})"


def _unknown(words: list[str], known: set[str], more: str) -> str:
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    if not flags:
        return f"{words[0]!r} is one argument too many: {more}"
    near = near_names(flags[0].replace("_", "-"), known)
    if not near:
        return f"There is no option {flags[0]}: {more}"
    return f"There is no option {flags[0]}. Did you mean {' or '.join(near)}?"


def _bad(flag: str, message: str) -> str:
    for start, allowed in MUST_BE.items():
        if start in message:
            value = re.search(r"'([^']*)'", message)
            return str(bad_value(flag, value[1] if value else "", allowed))
    return f"{flag} is not possible: {message.rstrip('.')}."
