"""Experiments with some settings changed, by the names that the command line gives them."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from comity.core.agent import Agent
from comity.core.errors import ComityError, bad_value, unknown_name
from comity.core.game import Environment
from comity.core.matchmaker import Matchmaker
from comity.core.trust import trust
from comity.games.registry import TRANSFORMS
from comity.games.transforms import Channel, ShapedReward, SharedReward
from comity.games.transforms.messages import MESSAGES
from comity.play.specs import game_data, game_from_data, make_matchmaker, with_settings
from comity.training.experiment import SIZES, Experiment, make_experiment
from comity.training.named import parse_spec

OTHERS = ("tunable", "share", "groups", "matchmaker", "opponents", "rewards", "channel", "transforms")


def agent_label(number: int) -> str:
    """What the settings of an agent begin with: agent, agent2, agent3 and so on."""
    return "agent" if number == 0 else f"agent{number + 1}"


def changed_experiment(
    game: Environment, agents: tuple[Agent, ...], recipe: Experiment | None, changes: Mapping[str, Any]
) -> Experiment:
    """An experiment of a game and agents, or of a recipe, with changes.

    These are sizes (`batch`), `share` or `groups`, a `matchmaker`, `transforms`, a `channel`, `rewards`, and
    settings with dots in their names: `game.size`, `agent.term.weight` (`agent2.` of a second agent),
    `opponents.groups`.
    """
    own, plain = _by_part(changes)
    known = ("game", "opponents", *(agent_label(i) for i in range(len(agents))))
    for name in (*own, *plain):
        if name not in (known if name in own else (*SIZES, *OTHERS)):
            raise unknown_name(
                "setting of an experiment", name, (*SIZES, *OTHERS, *(f"{k}.SETTING" for k in known))
            )
    game = with_settings(game, own.get("game", {}), "game")
    for transform in plain.get("transforms", ()):
        game = with_transform(game, transform)
    if "channel" in plain:
        game = with_channel(game, plain["channel"])
    if "rewards" in plain:
        game = with_rewards(game, plain["rewards"])
    agents = tuple(
        with_settings(agent, own.get(agent_label(i), {}), agent_label(i)) for i, agent in enumerate(agents)
    )
    sizes = {} if recipe is None else {name: getattr(recipe, name) for name in (*SIZES, "tunable")}
    sizes |= {name: value for name, value in plain.items() if name in (*SIZES, "tunable", "share", "groups")}
    if recipe is not None and "share" not in sizes and "groups" not in sizes:
        if len(game.seats) == len(recipe.game.seats):
            sizes["groups"] = recipe.seating
    elif "share" in sizes and len(set(agents)) == 1:
        agents = agents[:1]
    matchmaker = _matchmaker(plain, own.get("opponents", {}), recipe)
    if matchmaker is not None and "batch" in sizes:
        matchmaker = fitting_matchmaker(matchmaker, recipe, sizes["batch"])
    return make_experiment(game, agents, matchmaker=matchmaker, **sizes)


def fitting_matchmaker(matchmaker: Matchmaker, recipe: Experiment | None, batch: int) -> Matchmaker:
    """The recipe's matchmaker with as many groups as a smaller batch can be cut into."""
    groups = getattr(matchmaker, "groups", None)
    if recipe is None or matchmaker != recipe.matchmaker or groups is None or batch % groups == 0:
        return matchmaker
    fitting: Matchmaker = dataclasses.replace(matchmaker, groups=math.gcd(groups, batch))  # type: ignore[call-arg]
    return fitting


def with_rewards(game: Environment, rewards: str | float) -> Environment:
    """The game in which a seat learns from its `own` rewards, the `sum` of all, or what a function gives.

    A number is what another seat's reward counts: 0 is `own`, 1 is `sum`. The function is the user's own,
    MODULE:FUNCTION, and may run because its name was typed.
    """
    while isinstance(game, SharedReward | ShapedReward):
        game = game.game
    if rewards == "own":
        return game
    if rewards == "sum":
        return SharedReward(game=game, others=1.0)
    if isinstance(rewards, str) and ":" in rewards:
        trust(rewards)
        return ShapedReward(game=game, function=rewards)
    try:
        others = math.nan if isinstance(rewards, bool) else float(rewards)
    except (TypeError, ValueError, OverflowError):
        others = math.nan
    if not math.isfinite(others):
        raise bad_value("rewards", rewards, "own, sum, a finite number or MODULE:FUNCTION")
    return SharedReward(game=game, others=others)


def with_transform(game: Environment, transform: str) -> Environment:
    """The game inside a transform, by its name and settings: `gifting,amount=0.5`."""
    name, settings = parse_spec(transform, "transform", "gifting,amount=0.5")
    if name not in TRANSFORMS:
        raise unknown_name("transform", name, TRANSFORMS.rows())
    changed: Environment = game_from_data({"name": name, "game": game_data(game), **settings})
    return changed


def with_channel(game: Environment, channel: str) -> Environment:
    """The game in which seats talk: `symbols` or `vector` with settings, or `none`.

    Settings are those of the message and of the channel, as in `symbols,vocabulary=4,noise=0.1,to=addressed`.
    """
    while isinstance(game, Channel):
        game = game.game
    if channel == "none":
        return game
    name, settings = parse_spec(channel, "channel", "symbols,vocabulary=4,noise=0.1")
    if ":" in name:
        trust(name)
    kind = MESSAGES.load(name)
    own = {field.name for field in dataclasses.fields(kind)}
    message = {"name": name, **{key: value for key, value in settings.items() if key in own}}
    rest = {key: value for key, value in settings.items() if key not in own}
    known = {field.name for field in dataclasses.fields(Channel)} - {"game", "message"}
    for key in rest:
        if key not in known:
            raise unknown_name("setting of the channel", key, own | known)
    talking: Environment = game_from_data(
        {"name": "channel", "game": game_data(game), "message": message, **rest}
    )
    return talking


def _by_part(changes: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Settings with dots by what stands before the first one, and the others."""
    own: dict[str, dict[str, Any]] = {}
    plain = {}
    for name, value in changes.items():
        part, dot, rest = name.partition(".")
        if dot:
            own.setdefault(part, {})[rest] = value
        else:
            plain[name] = value
    return own, plain


def _matchmaker(
    plain: Mapping[str, Any], settings: Mapping[str, Any], recipe: Experiment | None
) -> Matchmaker | None:
    given: Matchmaker | None = plain.get("matchmaker")
    if "opponents" in plain:
        if given is not None:
            raise ComityError("matchmaker and opponents say the same: give one of them.")
        return make_matchmaker(plain["opponents"], **settings)
    base = recipe.matchmaker if given is None and recipe is not None else given
    if base is None and settings:
        raise ComityError("Settings of opponents need their name: opponents='past'.")
    return base if base is None else with_settings(base, settings, "opponents")
