"""`comity completion SHELL`: a script that completes commands, names and every option of every command.

The scripts ask `comity completion words LINE` what may follow a line. Options come from the command's own
help, so that those of a game, an agent and the networks named on the line are there too. Helps are slow to
make, since they import what they describe: what they list is kept in the cache for a day.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import tyro

from comity import __version__
from comity.cli.parser import parse_arguments
from comity.core.cache import cache_folder, cache_is_on

DAY = 86_400  # seconds
SHELLS = ("bash", "zsh", "fish")
OPTION = re.compile(r"(--[a-z][\w.-]*)(?:[ =]\{([^}]*)\})?")
FILES, NAMES = "files", "names"  # what the first line of an answer says: whether files fit too


@dataclass
class Settings:
    """Prints a completion script: eval "$(comity completion bash)" turns it on."""

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]  # the shell


def run(name: str, arguments: list[str]) -> int:
    """Prints the script, or for the scripts what may follow a line."""
    if arguments[:1] == ["words"] and len(arguments) == 2:
        files, words = complete(arguments[1])
        print("\n".join([FILES if files else NAMES, *words]))
        return 0
    print(SCRIPTS[parse_arguments(Settings, arguments, "comity completion").shell])
    return 0


def complete(line: str) -> tuple[bool, list[str]]:
    """Whether files may come next on a line, and which words that begin with what is typed of it."""
    from comity.cli import COMMANDS

    try:
        words = shlex.split(line)[1:]
    except ValueError:  # a quote is open
        return True, []
    current = "" if not words or line[-1:].isspace() else words.pop()
    if not words:
        return False, _matching(COMMANDS, current)
    command, *before = words
    if current.startswith("-"):
        return False, _matching(_options(command, before), current)
    flag = before[-1] if before and before[-1].startswith("--") else ""
    values = _options(command, before).get(flag, []) if flag else []
    if values:
        return False, _matching(values, current)
    return command not in ("zoo", "completion"), _matching(_names(command, before), current)


def _matching(words: Iterable[str], current: str) -> list[str]:
    return [word for word in dict.fromkeys(words) if word.startswith(current)]


def _names(command: str, before: list[str]) -> list[str]:
    """The names that may stand at a place of a command."""
    from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED
    from comity.games.registry import GAMES
    from comity.play.zoo import PREFIX, recipe_names, zoo_names
    from comity.studies.registry import STUDIES

    recipes = [f"{PREFIX}{name}" for name in recipe_names()]
    scripted = [name for rows in (ANY_FAMILY, *SCRIPTED.values()) for name in rows.rows()]
    games = list(GAMES.rows())
    if command in ("train", "sweep"):
        return [*games, *recipes] if not before else list(AGENTS.rows())
    if command in ("league", "replay", "watch", "play", "episodes"):
        return [*scripted, *zoo_names()] if before else games
    if command == "solve":
        return list(_kept(["solve", "NAME"], _named_games))
    known = {
        "reproduce": list(STUDIES.rows()),
        "zoo": [*recipes, *zoo_names()],
        "export": zoo_names(),
        "completion": list(SHELLS),
    }
    return known.get(command, [])


def _options(command: str, before: list[str]) -> dict[str, list[str]]:
    """The options of a command after some words, each with the values that its help lists."""
    words = [command, *_telling(before)]
    return _kept(words, lambda: _read_help(words) or _read_help([command]))


def _named_games() -> dict[str, list[str]]:
    from comity.theory.normal_form.named_games import NAMED_GAMES

    return {name: [] for name in NAMED_GAMES}


def _kept(words: list[str], make: Callable[[], dict[str, list[str]]]) -> dict[str, list[str]]:
    """What was made for some words within the last day, else what is made now."""
    key = hashlib.sha256("\0".join([__version__, *words]).encode()).hexdigest()[:24]
    path = cache_folder() / "completion" / f"{key}.json"
    try:
        if time.time() - path.stat().st_mtime < DAY:
            found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
            return found
    except (OSError, ValueError):
        pass
    found = make()
    if cache_is_on():
        with contextlib.suppress(OSError):  # then it is slow again the next time
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(f".{os.getpid()}").write_text(json.dumps(found), encoding="utf-8")
            path.with_suffix(f".{os.getpid()}").replace(path)
    return found


def _telling(before: list[str]) -> list[str]:
    """The words that decide which options there are: names, and options whose value is a name.

    Import paths are left out: pressing a key should run nobody's code.
    """
    leading = next((i for i, word in enumerate(before) if word.startswith("-")), len(before))
    words = [word for word in before[:leading] if ":" not in word or word.startswith("zoo:")]
    for flag, value in zip(before[leading:], before[leading + 1 :], strict=False):
        if flag.startswith("--") and re.fullmatch(r"[a-z][a-z0-9-]*", value):
            words += [flag, value]
    return words


def _read_help(words: list[str]) -> dict[str, list[str]]:
    """The options in the help of a command."""
    from comity.cli import COMMANDS
    from comity.cli import run as run_command

    if words[0] not in COMMANDS:
        return {}
    text, columns = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"  # no line of the help is broken
    try:
        streams = contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO())
        with streams[0], streams[1], contextlib.suppress(SystemExit):
            run_command([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
    options: dict[str, list[str]] = {}
    for flag, values in OPTION.findall(plain):
        options[flag] = options.get(flag) or [
            value for value in values.split(",") if value not in ("", "None")
        ]
    return options


BASH = r"""_comity() {
  local line="${COMP_LINE:0:COMP_POINT}" IFS=$'\n' current found
  current="${line##* }"
  found=( $(comity completion words "$line" 2>/dev/null) )
  COMPREPLY=( "${found[@]:1}" )
  if [ "${found[0]}" = files ]; then COMPREPLY+=( $(compgen -f -- "$current") ); fi
  # For bash a colon begins a new word, and only that word is replaced.
  if [[ "$current" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    COMPREPLY=( "${COMPREPLY[@]#"${current%:*}:"}" )
  fi
}
complete -o filenames -F _comity comity"""

ZSH = r"""(( $+functions[compdef] )) || { autoload -U compinit && compinit }
_comity() {
  local -a found
  found=("${(@f)$(comity completion words "$LBUFFER" 2>/dev/null)}")
  local kind=$found[1]
  shift found
  (( $#found )) && compadd -- $found
  [[ $kind == files ]] && _files
}
compdef _comity comity"""

FISH = r"""function __comity
    set -l found (comity completion words (commandline -cp) 2>/dev/null)
    printf '%s\n' $found[2..-1]
    test "$found[1]" = files; and __fish_complete_path (commandline -ct)
end
complete -c comity -f -a '(__comity)'"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
