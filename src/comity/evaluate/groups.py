"""Runs of one kind: those whose settings differ in nothing but the seed; and what kinds differ in."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from comity.core.errors import ComityError

Config = Mapping[str, Any]  # an experiment as plain data
MOST_IN_A_NAME = 3  # settings that a name of a kind shows


def kind_of(config: Config) -> str:
    """What two runs that differ in nothing but their seeds have in common."""
    return json.dumps({name: value for name, value in config.items() if name != "seed"}, sort_keys=True)


def game_name(config: Config) -> str:
    """The name of the game, whatever transforms are around it."""
    return str(_inner(config["game"])["name"])


def own_game(config: Config) -> Any:
    """The data of the game without what changes its rewards: in it all kinds of learners can meet."""
    game = config["game"]
    while game.get("name") in ("shared-reward", "shaped-reward") and isinstance(game.get("game"), Mapping):
        game = game["game"]
    return game


def flat_settings(config: Config) -> dict[str, Any]:
    """All settings but the seed by their dotted names: those of a transform stand under its name."""
    flat: dict[str, Any] = {}
    game = config["game"]
    while isinstance(game.get("game"), Mapping):
        transform = {name: value for name, value in game.items() if name not in ("game", "name")}
        _flatten(transform or True, f"game.{game['name']}", flat)
        game = game["game"]
    _flatten(game, "game", flat)
    agents = [agent for i, agent in enumerate(config["agents"]) if agent not in config["agents"][:i]]
    for i, agent in enumerate(agents):
        _flatten(agent, "agent" if i == 0 else f"agent{i + 1}", flat)
    for name, value in config.items():
        if name not in ("game", "agents", "seed"):
            _flatten(value, "opponents" if name == "matchmaker" else name, flat)
    return flat


def differences(configs: Sequence[Config]) -> dict[str, list[Any]]:
    """The settings that are not the same everywhere, with their values; None where there is none."""
    flat = [flat_settings(config) for config in configs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    found = {name: [settings.get(name) for settings in flat] for name in names}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values)}


def kind_names(configs: Sequence[Config]) -> list[str]:
    """A name for each kind: its agents, and where that is not enough the settings that differ."""
    agents = [
        " + ".join(dict.fromkeys(str(agent["name"]) for agent in config["agents"])) for config in configs
    ]
    names = list(agents)
    for label in dict.fromkeys(agents):
        alike = [i for i, other in enumerate(agents) if other == label]
        found = differences([configs[i] for i in alike]) if len(alike) > 1 else {}
        for place, i in enumerate(alike):
            own = [_said(name, values[place]) for name, values in found.items() if values[place] is not None]
            names[i] = ", ".join([label, *dict.fromkeys(own)][: MOST_IN_A_NAME + 1])
    return names


def group_runs(names: Sequence[str], configs: Sequence[Config]) -> dict[str, list[int]]:
    """The runs of each kind, by the name of the kind: the one that was given, or one made of its settings."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for i, (name, config) in enumerate(zip(names, configs, strict=True)):
        kinds.setdefault((name, kind_of(config)), []).append(i)
    made = kind_names([configs[runs[0]] for runs in kinds.values()])
    groups: dict[str, list[int]] = {}
    for ((given, _), runs), own in zip(kinds.items(), made, strict=True):
        several = given and sum(other == given for other, _ in kinds) > 1
        label = f"{given}, {own}" if several else given or own
        if label in groups:
            raise ComityError(f"Two kinds of runs are called {label!r}: give them names, as in first=FOLDER.")
        seeds = [configs[i].get("seed") for i in runs]
        again = next((seed for i, seed in enumerate(seeds) if seed in seeds[:i]), None)
        if again is not None:
            raise ComityError(
                f"{label} has two runs with seed {again}: name one of them, or give each a name, as in "
                "first=FOLDER."
            )
        groups[label] = runs
    return groups


def _inner(game: Any) -> Any:
    while isinstance(game.get("game"), Mapping):
        game = game["game"]
    return game


def _flatten(value: Any, name: str, into: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for inner, deeper in value.items():
            _flatten(deeper, f"{name}.{inner}", into)
    else:
        into[name] = value


def _said(name: str, value: Any) -> str:
    parts = name.split(".")
    if parts[0] == "game" and len(parts) > 1 and parts[1] in ("shared-reward", "shaped-reward"):
        return parts[1]
    return str(value) if parts[-1] == "name" else f"{parts[-1]}={value}"
