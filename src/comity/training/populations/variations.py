"""Settings of an experiment by name, and the grid of experiments in which some of them vary."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from comity.core.errors import ComityError, require, unknown_name
from comity.play.specs import game_data, game_from_data
from comity.training.experiment import SIZES, Experiment
from comity.training.overrides import with_channel, with_rewards
from comity.training.recipes import recipe_from_data

REWARDS = "rewards"
CHANNEL = "channel"
Point = dict[str, Any]  # a value for each setting that varies


def read_value(text: str) -> Any:
    """A value as it is typed: a number, true, false, null, or a text."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        try:
            return float(text)  # .5, which is not JSON
        except ValueError:
            return text


def grid(vary: Mapping[str, Sequence[Any]]) -> list[Point]:
    """All combinations of values, the first setting varying slowest."""
    require(bool(vary), "vary", None, "at least one setting with its values")
    for name, values in vary.items():
        require(len(values) >= 1, f"vary {name}", list(values), "one value or more")
        again = next((value for i, value in enumerate(values) if value in values[:i]), None)
        if again is not None:
            raise ComityError(f"vary {name}: the value {again} is given twice.")
    return [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]


def varied(experiment: Experiment, point: Point) -> Experiment:
    """The experiment with other values of some settings; every value is checked.

    Names are those of `comity train`: `agent.term.weight`, `agent2.discount`, `game.horizon`, `opponents`,
    `rewards`, `batch`. What was chosen by another setting (the unroll by the horizon, the chunk by the
    iterations) is chosen again.
    """
    data = experiment.to_data()
    game = experiment.game
    chosen_unroll = experiment.unroll == (game.horizon if game.horizon is not None else 32)
    for name, value in point.items():
        if name not in (REWARDS, CHANNEL):
            _set(data, name.replace("-", "_").split("."), name, value)
    if CHANNEL in point:
        data["game"] = game_data(with_channel(game_from_data(data["game"]), point[CHANNEL]))
    if REWARDS in point:
        data["game"] = game_data(with_rewards(game_from_data(data["game"]), point[REWARDS]))
    if chosen_unroll and "unroll" not in point and any(name.startswith("game.") for name in point):
        del data["unroll"]
    if "iterations" in point and "chunk" not in point:
        del data["chunk"]
    return recipe_from_data(data)


def point_name(point: Point) -> str:
    """A name for a folder: `weight=0.5`, with as much of a setting's name as tells it from the others."""
    return ",".join(
        f"{short}={_plain(value)}" for short, value in zip(short_names(point), point.values(), strict=True)
    )


def short_names(names: Mapping[str, Any]) -> list[str]:
    """The last part of each name, or the last two where that is not enough."""
    parts = [name.split(".") for name in names]
    for length in range(1, max(map(len, parts)) + 1):
        short = [".".join(words[-length:]) for words in parts]
        if len(set(short)) == len(short):
            return short
    return list(names)


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^\w.+-]+", "-", text).strip("-") or "empty"


def _set(data: dict[str, Any], words: list[str], name: str, value: Any) -> None:
    first, rest = words[0], words[1:]
    agent = re.fullmatch(r"agent(\d*)", first)
    if agent is not None and rest:
        agents = data["agents"]
        if not agent[1] and all(other == agents[0] for other in agents):
            for other in agents:  # one agent that fills several seats
                _put(other, rest, name, value)
            return
        number = int(agent[1] or 1) - 1
        require(0 <= number < len(agents), "vary", name, f"of one of the {len(agents)} agents")
        _put(agents[number], rest, name, value)
    elif first == "game" and rest:
        game = data["game"]
        while rest[0] not in game and isinstance(game.get("game"), dict):  # in a transform
            game = game["game"]
        _put(game, rest, name, value)
    elif first == "opponents":
        if rest:
            _put(data["matchmaker"], rest, name, value)
        else:
            data["matchmaker"] = value
    elif first in SIZES and not rest and first != "seed":
        data[first] = value
    elif first == "seed":
        raise ComityError("vary seed: seeds are counted by --seeds.")
    else:
        raise unknown_name("setting", name, list(setting_names(data)))


def _put(settings: dict[str, Any], words: list[str], name: str, value: Any) -> None:
    """Sets a value that is there already; of a choice by name, its name."""
    *parents, last = words
    inner: Any = settings
    for parent in parents:
        inner = inner.get(parent) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or last not in inner or last == "name":
        prefix = name.split(".")[0]
        raise unknown_name("setting", name, [f"{prefix}.{known}" for known in _names(settings)])
    if isinstance(inner[last], dict) and not isinstance(value, str):
        raise ComityError(
            f"vary {name}: {value!r} is not the name of a kind; its settings are {name}.SETTING."
        )
    inner[last] = value


def setting_names(data: Mapping[str, Any]) -> Iterator[str]:
    """The names that can vary."""
    for i, agent in enumerate(data["agents"]):
        yield from (f"agent{i + 1 if i else ''}.{name}" for name in _names(agent))
    yield from (f"game.{name}" for name in _names(data["game"]))
    yield from ("opponents", REWARDS, CHANNEL, *(size for size in SIZES if size != "seed"))


def _names(settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in settings.items():
        if name == "name":
            continue
        yield prefix + name
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{name}.")
