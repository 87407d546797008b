"""Games, agents and matchmakers by name, and as plain data that can be written to a file."""

from collections.abc import Mapping
from typing import Any

from comity.agents.registry import agent_class, agent_name
from comity.core.errors import ComityError
from comity.core.registry import Registry, Row
from comity.core.settings import build, nest, to_data
from comity.core.trust import trust
from comity.core.types import Agent, Environment, Matchmaker
from comity.games.registry import GAMES, HOSTS, TRANSFORMS

MATCHMAKERS = Registry(
    "matchmaker",
    {
        "self-play": Row("comity.play.matchmaking:SelfPlay", "all learners as they are now"),
        "replay": Row("comity.play.matchmaking:AgentReplayBuffer", "past selves from an agent replay buffer"),
    },
)


def make_game(name: str, **settings: Any) -> Environment:
    """A game by its name, with settings that differ from its defaults: make_game("coin", horizon=50).

    Environments of others are named `pettingzoo:MODULE`, `gymnasium:NAME` or, for one's own,
    `MODULE:FUNCTION`; naming one runs its code.
    """
    cls, given = game_class(name)
    game: Environment = build(cls, {**given, **nest(settings)}, name, _resolve)
    return game


def game_class(name: str) -> tuple[Any, dict[str, Any]]:
    """The class behind a game's name, and the settings that the name itself stands for."""
    if ":" not in name:
        return GAMES.load(name), {}
    kind, _, rest = name.partition(":")
    source = rest if kind in HOSTS else name
    trust(source)
    return HOSTS.load(kind if kind in HOSTS else "python"), {"source": source}


def make_agent(name: str, game: Environment | None = None, /, **settings: Any) -> Agent:
    """An agent by its name, with settings that differ from its defaults.

    Scripted players are made for a game's family; without a game, for matrix games. Settings of the
    network are written as `**{"network.width": 32}`.
    """
    family = "matrix" if game is None else game.family
    agent: Agent = build(agent_class(name, family), nest(settings), name, _resolve)
    return agent


def make_matchmaker(name: str, **settings: Any) -> Matchmaker:
    """A matchmaker by its name: "self-play" or "replay"."""
    matchmaker: Matchmaker = build(MATCHMAKERS.load(name), nest(settings), name, _resolve)
    return matchmaker


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
    cls = registry.load(name)
    game: Environment = build(cls, settings, path, _resolve)
    return game


def agent_from_data(data: Any, family: str, path: str = "agent") -> Agent:
    """The agent that data stand for, in a family of games."""
    name, settings = _split(data, path)
    agent: Agent = build(agent_class(name, family), settings, path, _resolve)
    return agent


def matchmaker_from_data(data: Any, path: str = "matchmaker") -> Matchmaker:
    """The matchmaker that data stand for."""
    name, settings = _split(data, path)
    matchmaker: Matchmaker = build(MATCHMAKERS.load(name), settings, path, _resolve)
    return matchmaker


def _resolve(kind: type[Any], data: Mapping[str, Any], path: str) -> Any:
    """Builds nested settings: a game inside a transform by its name, others by the field's type."""
    if issubclass(kind, Environment):
        return game_from_data(data, path)
    return build(kind, data, path, _resolve)


def _name_of(cls: type[Any]) -> str | None:
    if issubclass(cls, Agent):
        return agent_name(cls)
    if issubclass(cls, Matchmaker):
        return MATCHMAKERS.name_of(cls)
    if issubclass(cls, Environment):
        target = f"{cls.__module__}:{cls.__qualname__}"
        others = {row.target: name for found in (TRANSFORMS, HOSTS) for name, row in found.rows().items()}
        return others.get(target) or GAMES.name_of(cls)
    return None


def _split(data: Any, path: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise ComityError(f"{path} must have a name and settings, not {data!r}.")
    return data["name"], {key: value for key, value in data.items() if key != "name"}


def _checked(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError(f"expected settings, not {type(data).__name__}")
    return data
