"""The zoo: trained players that ship with Comity, named `zoo:GAME/AGENT/SEED` as in `zoo:coin/adalign/3`."""

import json
from pathlib import Path
from typing import Any

from comity.core.errors import unknown_name

PREFIX = "zoo:"
FOLDER = Path(__file__).parent.parent / "zoo"


def zoo_names(game: str | None = None, agent: str | None = None) -> list[str]:
    """The names of all players in the zoo, or of those of one game, or of one agent in it."""
    files = sorted(
        FOLDER.glob("*/*/*.safetensors"), key=lambda path: (path.parts[-3:-1], len(path.stem), path)
    )
    names = [f"{PREFIX}{path.parts[-3]}/{path.parts[-2]}/{path.stem}" for path in files]
    wanted = PREFIX + "".join(f"{part}/" for part in (game, agent) if part is not None)
    return [name for name in names if name.startswith(wanted)]


def zoo_file(name: str) -> Path:
    """The file of a player in the zoo."""
    if name not in zoo_names():
        raise unknown_name("player in the zoo", name, zoo_names())
    return FOLDER / (name.removeprefix(PREFIX) + ".safetensors")


def recipe_names() -> list[str]:
    """The recipes of the zoo, as GAME/AGENT."""
    return sorted(f"{path.parts[-3]}/{path.parts[-2]}" for path in FOLDER.glob("*/*/experiment.json"))


def zoo_recipe(game: str, agent: str) -> Any:
    """The experiment that the zoo's players of an agent in a game come from, as JSON data."""
    name = f"{game}/{agent}"
    if name not in recipe_names():
        raise unknown_name("recipe in the zoo", name, recipe_names())
    return json.loads((FOLDER / name / "experiment.json").read_text(encoding="utf-8"))


def zoo_about(game: str, agent: str) -> dict[str, Any]:
    """What is known of an agent's players in a game: `players` (scores, cost, commit), `measures`, `note`.

    Whatever is not there, or not as it should be, is left out.
    """
    try:
        about = json.loads((FOLDER / game / agent / "about.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"players": {}}
    about = about if isinstance(about, dict) else {}
    players = about.get("players")
    known = players.items() if isinstance(players, dict) else ()
    return {**about, "players": {name: own for name, own in known if isinstance(own, dict)}}
