"""Games, agents and matchmakers by name, and as plain data that can be written to a file."""

from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx

from comity.agents.registry import agent_class, agent_name
from comity.core.agent import Agent
from comity.core.errors import ComityError, require
from comity.core.game import Environment
from comity.core.matchmaker import Matchmaker
from comity.core.registry import Registry, Row
from comity.core.settings import build, nest, to_data
from comity.core.trust import name_or_path, trust
from comity.games.registry import GAMES, HOSTS, TRANSFORMS
from comity.play.plug_ins import checked_class, is_class_of, trust_path

Configured = TypeVar("Configured", bound=eqx.Module)

_OPPONENTS = "comity.play.opponents"

MATCHMAKERS = Registry(
    "matchmaker",
    {
        "self-play": Row("comity.play.matchmaking:SelfPlay", "all learners as they are now"),
        "past": Row("comity.play.matchmaking:PastSelves", "past selves, drawn from a buffer"),
        "strongest": Row(f"{_OPPONENTS}.strongest:Strongest", "past selves with the highest ratings"),
        "prioritised": Row(f"{_OPPONENTS}.prioritised:Prioritised", "past selves that are hard to beat"),
        "diverse": Row(f"{_OPPONENTS}.diverse:Diverse", "past selves that behave differently"),
        "fixed": Row(f"{_OPPONENTS}.fixed:FixedPlayers", "named players that do not learn"),
    },
    "comity.matchmakers",
)


def make_game(name: str, **settings: Any) -> Environment:
    """A game by its name, with settings that differ from its defaults: make_game("coin", horizon=50).

    A game of one's own is named `MODULE:CLASS`; third-party environments are named `pettingzoo:MODULE`,
    `gymnasium:NAME` or, for one's own, `MODULE:FUNCTION`. Naming one runs its code.
    """
    cls, given = game_class(name)
    game: Environment = build(cls, {**given, **nest(settings)}, name, _resolve)
    return game


def game_class(name: str) -> tuple[Any, dict[str, Any]]:
    """The class behind a game's name, and the settings that the name itself stands for."""
    kind, separator, rest = name.partition(":")
    if not separator:
        return checked_class(GAMES.load(name), Environment, "game", name), {}
    if kind in HOSTS:
        trust(rest)
        return HOSTS.load(kind), {"source": rest}
    trust(name)
    if is_class_of(name, Environment):
        return GAMES.load(name), {}
    return HOSTS.load("python"), {"source": name}


def make_agent(name: str, game: Environment | None = None, /, **settings: Any) -> Agent:
    """An agent by its name, with settings that differ from its defaults.

    Scripted players are made for a game's family; without a game, for matrix games. A network is chosen by
    its name, and its settings have dotted names: `network="mlp", **{"network.width": 32}`.
    """
    family = "matrix" if game is None else game.family
    agent: Agent = build(named_agent_class(name, family), nest(settings), name, _resolve)
    return agent


def named_agent_class(name: str, family: str) -> type[Any]:
    """The class behind an agent's name that the user gave, which may be `MODULE:CLASS`."""
    trust_path(name)
    return checked_class(agent_class(name, family), Agent, "agent", name)


def make_matchmaker(name: str, **settings: Any) -> Matchmaker:
    """A matchmaker by its name: "self-play", "past" or, for one's own, `MODULE:CLASS`."""
    matchmaker: Matchmaker = build(matchmaker_class(name), nest(settings), name, _resolve)
    return matchmaker


def matchmaker_class(name: str) -> type[Any]:
    """The class behind a matchmaker's name that the user gave."""
    trust_path(name)
    return checked_class(MATCHMAKERS.load(name), Matchmaker, "matchmaker", name)


def with_settings(whole: Configured, changes: Mapping[str, Any], path: str) -> Configured:
    """The same game, agent or matchmaker with some settings changed, by their dotted names."""
    if not changes:
        return whole
    changed: Configured = build(type(whole), nest(changes), path, _resolve, whole)
    return changed


def game_data(game: Environment) -> dict[str, Any]:
    """A game as data: its name and its settings."""
    return _checked(to_data(game, _name_of))


def agent_data(agent: Agent) -> dict[str, Any]:
    """An agent as data: its name and its settings."""
    return _checked(to_data(agent, _name_of))


def matchmaker_data(matchmaker: Matchmaker) -> dict[str, Any]:
    """A matchmaker as data: its name and its settings."""
    return _checked(to_data(matchmaker, _name_of))


def game_from_data(data: Any, path: str = "game") -> Environment:
    """The game that data stand for."""
    name, settings = _split(data, path)
    registry = next((found for found in (TRANSFORMS, HOSTS) if name in found), GAMES)
    cls = checked_class(registry.load(name), Environment, "game", name)
    game: Environment = build(cls, settings, path, _resolve)
    return game


def agent_from_data(data: Any, family: str, path: str = "agent") -> Agent:
    """The agent that data stand for, in a family of games."""
    name, settings = _split(data, path)
    cls = checked_class(agent_class(name, family), Agent, "agent", name)
    agent: Agent = build(cls, settings, path, _resolve)
    return agent


def matchmaker_from_data(data: Any, path: str = "matchmaker") -> Matchmaker:
    """The matchmaker that data stand for."""
    name, settings = _split(data, path)
    cls = checked_class(MATCHMAKERS.load(name), Matchmaker, "matchmaker", name)
    matchmaker: Matchmaker = build(cls, settings, path, _resolve)
    return matchmaker


def _resolve(kind: type[Any], data: Mapping[str, Any], path: str, default: Any) -> Any:
    """Builds nested settings: a game inside a transform by its name, others by their class."""
    if issubclass(kind, Environment):
        return game_from_data(data, path)
    if issubclass(kind, Agent) and "name" in data:  # a learner inside another agent is of one class
        name, data = _split(data, path)
        require(name == agent_name(kind), f"{path}.name", name, agent_name(kind))
    return build(kind, data, path, _resolve, default)


def _name_of(cls: type[Any]) -> str | None:
    if issubclass(cls, Agent):
        return name_or_path(agent_name, cls)
    if issubclass(cls, Matchmaker):
        return name_or_path(MATCHMAKERS.name_of, cls)
    if issubclass(cls, Environment):
        target = f"{cls.__module__}:{cls.__qualname__}"
        others = {row.target: name for found in (TRANSFORMS, HOSTS) for name, row in found.rows().items()}
        return others.get(target) or name_or_path(GAMES.name_of, cls)
    return None


def _split(data: Any, path: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise ComityError(f"{path} must have a name and settings, not {data!r}.")
    return data["name"], {key: value for key, value in data.items() if key != "name"}


def _checked(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError(f"expected settings, not {type(data).__name__}")
    return data
