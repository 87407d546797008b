"""`comity export PLAYER`: a player as one file that a service runs with NumPy alone."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import tyro

from comity.cli.parser import parse_arguments

INSTRUCTIONS = """
In Python, with NumPy installed and nothing else:

  import sys; sys.path.insert(0, "{path}")
  import comity_player
  player = comity_player.load("{path}")
  player.act(obs)    # .probabilities(obs), .reset(), .copy(); deterministic=True does what is most likely

python {path} says what it sees and does."""


@dataclass
class Settings:
    """Writes a player as one file that runs with NumPy alone, after it has played beside the original.

    PLAYER is one of the zoo as in zoo:coin/adalign/3, a run folder or a player file.
    """

    player: tyro.conf.Positional[str]  # whom to export
    out: Path | None = None  # the file, or a folder for it; by default a file named after the player, here
    seat: int = 0  # of a run with several players: the one that was trained in this seat
    json: bool = False  # print JSON for a program instead of sentences


def run(name: str, arguments: list[str]) -> int:
    """Exports a player."""
    settings = parse_arguments(Settings, arguments, "comity export")
    from comity.api import load_player  # JAX takes its time to import: not before --help
    from comity.play.export import CHECKED_STEPS, SUFFIX, export_player

    player = load_player(settings.player, seat=settings.seat)
    words = Path(settings.player).stem if Path(settings.player).exists() else settings.player
    usual = re.sub(r"[^\w.-]+", "-", words.removeprefix("zoo:")).strip("-") + SUFFIX
    path = Path(usual) if settings.out is None else settings.out
    if path.is_dir():
        path = path / usual
    difference = export_player(player, path)
    size = path.stat().st_size
    if settings.json:
        print(json.dumps({"file": str(path), "bytes": size, "largest_difference": difference}))
        return 0
    print(
        f"{path}: {size / 1000:.0f} kB; beside the original over {CHECKED_STEPS} steps it differs by at most "
        f"{difference:.1g}."
    )
    print(INSTRUCTIONS.format(path=path))
    return 0
