"""Experiments by name or from a file: recipes of the zoo, and what users write themselves as JSON or TOML."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comity.core.errors import ComityError, require, unknown_name
from comity.core.files import read_json
from comity.play.specs import agent_from_data, game_data, game_from_data, matchmaker_from_data
from comity.play.zoo import PREFIX, recipe_names, zoo_recipe
from comity.training.experiment import (
    SIZES,
    Experiment,
    check_sizes,
    checked_names,
    checked_seating,
    make_experiment,
)

SUFFIXES = (".json", ".toml")
FIELDS = ("game", "agent", "agents", "seating", "matchmaker", "tunable", *SIZES)


def is_recipe(source: str) -> bool:
    """Whether a word on the command line names an experiment, not a game."""
    return source.startswith(PREFIX) or source.endswith(SUFFIXES)


def read_recipe(source: str | Path) -> Experiment:
    """The experiment that `zoo:GAME/AGENT` or a file stands for; the file of a run folder is one too."""
    name = str(source)
    if name.startswith(PREFIX):
        game, _, agent = name.removeprefix(PREFIX).partition("/")
        return Experiment.from_data(zoo_recipe(game, agent))
    path = Path(source)
    try:
        return recipe_from_data(_read(path))
    except ComityError as error:
        raise ComityError(f"{path}: {error}") from None


def default_recipe(game: str, agent: str) -> Experiment | None:
    """The zoo's recipe for an agent in a game, whose settings are the defaults there, if it has one."""
    if f"{game}/{agent}" not in recipe_names():
        return None
    recipe = read_recipe(f"{PREFIX}{game}/{agent}")
    return recipe if game_data(recipe.game)["name"] == game else None  # not of a game around it


def recipe_from_data(data: Any) -> Experiment:
    """An experiment of which only the game and an agent must be given; the rest is chosen well.

    A game, an agent or a matchmaker without settings may be just its name.
    """
    if not isinstance(data, Mapping):
        raise ComityError("An experiment must be an object with a game, an agent and so on.")
    for name in data:
        if name not in FIELDS:
            raise unknown_name("setting of an experiment", name, FIELDS)
    check_sizes(data)
    if "game" not in data or ("agent" in data) == ("agents" in data):
        raise ComityError("An experiment needs a game, and either an agent or a list of agents.")
    game = game_from_data(_named(data["game"]))
    several = data["agents"] if "agents" in data else [data["agent"]]
    require(isinstance(several, list) and bool(several), "agents", several, "a list of agents")
    agents = tuple(
        agent_from_data(_named(agent), game.family, f"agents[{i}]") for i, agent in enumerate(several)
    )
    matchmaker = data.get("matchmaker")
    return make_experiment(
        game,
        agents,
        groups=checked_seating(data["seating"]) if "seating" in data else (),
        matchmaker=None if matchmaker is None else matchmaker_from_data(_named(matchmaker)),
        tunable=checked_names(data.get("tunable", [])),
        **{name: data[name] for name in SIZES if data.get(name) is not None},
    )


def _read(path: Path) -> Any:
    if path.suffix != ".toml":
        return read_json(path, "an experiment")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ComityError(f"It cannot be read as TOML: {error}") from None


def _named(data: Any) -> Any:
    return {"name": data} if isinstance(data, str) else data
