"""`comity completion SHELL`: a script that completes commands, games, agents and options."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

import tyro

from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED
from comity.cli.parser import parse_arguments
from comity.games.registry import GAMES


@dataclass
class Settings:
    """Prints a completion script: eval "$(comity completion bash)" turns it on."""

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]  # the shell


def run(name: str, arguments: list[str]) -> int:
    """Prints the script."""
    from comity.cli import COMMANDS

    shell = parse_arguments(Settings, arguments, "comity completion").shell
    commands = " ".join(COMMANDS)
    games = " ".join(GAMES.rows())
    scripted = {row for registry in (ANY_FAMILY, *SCRIPTED.values()) for row in registry.rows()}
    agents = " ".join([*AGENTS.rows(), *sorted(scripted)])
    options = {command: _options(classes) for command, classes in _SETTINGS.items()}
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands, games, agents, options))
    return 0


_SETTINGS = {
    "train": (
        "comity.cli.train_settings:ExperimentSettings",
        "comity.cli.train_settings:RunSettings",
        "comity.training.options:Options",
    ),
    "league": ("comity.cli.league:Settings",),
    "report": ("comity.cli.report:Settings",),
}


def _options(classes: tuple[str, ...]) -> str:
    import importlib

    words = []
    for target in classes:
        module, _, name = target.partition(":")
        settings = getattr(importlib.import_module(module), name)
        words += ["--" + field.name.replace("_", "-") for field in dataclasses.fields(settings)]
    return " ".join(words)


def _bash(commands: str, games: str, agents: str, options: dict[str, str]) -> str:
    cases = "\n".join(f'    {name}) words="{words}" ;;' for name, words in options.items())
    return f"""_comity() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words=""
  case "$command" in
{cases}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{commands}"
  elif [[ "$current" != -* && ( "$command" = train || "$command" = league ) ]]; then
    if [ "$COMP_CWORD" -eq 2 ]; then words="{games}"; else words="{agents}"; fi
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") $(compgen -f -- "$current") )
}}
complete -o filenames -F _comity comity"""


def _zsh(commands: str, games: str, agents: str, options: dict[str, str]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(commands, games, agents, options)


def _fish(commands: str, games: str, agents: str, options: dict[str, str]) -> str:
    lines = [f'complete -c comity -n "__fish_use_subcommand" -a "{commands}"']
    for command in ("train", "league"):
        seen = f"__fish_seen_subcommand_from {command}"
        lines.append(f'complete -c comity -n "{seen}" -a "{games} {agents}"')
    for command, words in options.items():
        lines += [
            f'complete -c comity -n "__fish_seen_subcommand_from {command}" -l {word.removeprefix("--")}'
            for word in words.split()
        ]
    return "\n".join(lines)
