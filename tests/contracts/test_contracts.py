"""Every game and agent in the registries holds its contract."""

import json
from typing import Any

import pytest

from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED, agent_class
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.trust import trust
from comity.games.registry import GAMES, TRANSFORMS
from comity.games.transforms import with_horizon
from comity.play.specs import (
    MATCHMAKERS,
    agent_data,
    agent_from_data,
    game_data,
    game_from_data,
    make_agent,
    make_game,
    make_matchmaker,
    matchmaker_data,
    matchmaker_from_data,
)
from comity.testing import check_agent, check_game
from tests.changed import one_change_each

# Families whose seats are unlike those of others: the rest would show nothing new of an agent.
FAMILIES = {
    "matrix": "prisoners-dilemma",
    "negotiation": "negotiation",
    "bargaining": "alternating-offers",
    "signalling": "signalling",
    "auction": "sealed-bid",
    "coin": "coin",
    "meta": "meta-game",
    "particles": "simple-spread",
    "probe": "probe-observation",
    "commons-harvest": "commons-harvest",
    "cournot": "cournot",
    "fish-war": "fish-war",
    "routing": "routing",
}
FEW_NEW = {
    "cournot",
    "fish-war",
    "routing",
    "signalling",
    "auction",
}  # like the matrix and the probes to all but their own players
REWARD = "tests.games.test_shaping:as_it_was"
OTHER_REWARD = "tests.games.test_shaping:twice_and_what_was_seen"
HARVESTERS = {"proximal-adalign", *SCRIPTED["commons-harvest"].rows()}  # who is tried in that family


@pytest.mark.parametrize("name", GAMES.rows())
def test_game(name: str) -> None:
    check_game(make_game(name))


@pytest.mark.parametrize("name", TRANSFORMS.rows())
def test_transform(name: str) -> None:
    settings: Any = {"shaped-reward": {"function": REWARD}, "time-limit": {"horizon": 5}}.get(name, {})
    trust(REWARD)
    check_game(TRANSFORMS.load(name)(game=make_game("public-goods"), **settings))


# Settings that nothing else than they are fits while the rest stays: PPO's file has all of the critic's.
ONE_VALUE = {
    "learner-game": ("players",),
    "signalling": ("test",),  # nothing is held out
    "channel": ("reach",),  # public goods have no places
    "trpo": ("shared",),
    "mappo": ("shared",),
    "a2c": ("popart",),
    "impala": ("popart",),
    "talking-a2c": ("popart",),
    "adalign": ("view", "popart"),
    "proximal-adalign": ("view", "popart"),
    "loqa": ("view", "kind", "popart"),
    "lola-dice": ("shared", "kind", "popart"),
    "pola": ("shared", "kind", "popart"),
    **dict.fromkeys(("coma", "central-pg"), ("shared", "view", "kind", "popart")),
}
GIVEN = {"actions": (4, 1)}  # values that no rule would find


def through_json(data: dict[str, Any]) -> dict[str, Any]:
    """Data as they come back from a file."""
    back: dict[str, Any] = json.loads(json.dumps(data))
    return back


@pytest.mark.parametrize("name", GAMES.rows())
def test_game_survives_a_file(name: str) -> None:
    game = make_game(name)
    for field, changed in one_change_each(game, {**GIVEN, "network": "pigou"}, ONE_VALUE.get(name, ())):
        again = game_from_data(through_json(game_data(changed)))
        assert again == changed, field
        assert again != game, field


@pytest.mark.parametrize("name", TRANSFORMS.rows())
def test_transform_survives_a_file(name: str) -> None:
    settings: Any = {"shaped-reward": {"function": REWARD}, "time-limit": {"horizon": 5}}.get(name, {})
    trust(REWARD)
    trust(OTHER_REWARD)
    game = TRANSFORMS.load(name)(game=make_game("public-goods", players=2), **settings)
    given = {"function": OTHER_REWARD, "weights": ((1.0, 0.5), (0.25, 1.0)), "links": ((0, 1),)}
    for field, changed in one_change_each(game, given, ONE_VALUE.get(name, ())):
        again = game_from_data(through_json(game_data(changed)))
        assert again == changed, field
        assert again != game, field


SLOW_TO_COMPILE = {"lola-dice", "pola", "evolution"}  # they play games while they learn: one family will do
LIKE_PPO = {"a2c", "impala", "ippo", "mappo", "trpo", "mfos"}  # they share all but their update with PPO
TALKING = {"commnet": 1, "tarmac": 1, "ic3net": 1, "talking-a2c": 1}  # PPO and A2C, whose seats talk
OFF_POLICY = {
    "dial": 1, "dqn": 3, "iql": 1, "vdn": 2, "qmix": 2, "qplex": 1, "pqn": 1, "pqn-vdn": 2,
    "jal": 2, "maac": 2,
}  # fmt: skip
JOINT_ACTIONS = {"coma": 2, "central-pg": 1}
ACTORS = dict.fromkeys(("ddpg", "td3", "sac", "maddpg", "matd3", "masac"), 1)  # they share all but targets
MOST_FAMILIES = {
    **OFF_POLICY,
    **TALKING,
    **JOINT_ACTIONS,
    **ACTORS,
    **dict.fromkeys(SLOW_TO_COMPILE, 1),
    **dict.fromkeys(LIKE_PPO, 2),
    "adalign": 3,
    "loqa": 2,
}
ONLY = {"proximal-adalign": {"matrix", "commons-harvest"}}  # it shares all but its update with adalign


def suitable(name: str, everywhere: bool = False) -> list[Environment]:
    """Small games that an agent plays: some of those where others like it are tried, or all."""
    games = []
    for family, first in FAMILIES.items():
        if family == "commons-harvest" and name not in HARVESTERS:
            continue
        if family in FEW_NEW and name not in SCRIPTED[family]:
            continue
        if not everywhere and family not in ONLY.get(name, FAMILIES):
            continue
        game = make_game(first)
        try:
            agent = agent_class(name, family)()
            agent.check(game.spec, tuple(range(len(game.seats))))
        except ComityError:
            continue
        games.append(with_horizon(game, min(4, game.horizon)) if game.horizon else game)
    return games if everywhere else games[: MOST_FAMILIES.get(name)]


ALL_AGENTS = sorted({*AGENTS.rows(), *ANY_FAMILY.rows(), *(n for r in SCRIPTED.values() for n in r.rows())})


# Of learners, those with the most parts are tried each time; the others share these parts, and take longer.
LONG = {*LIKE_PPO, *OFF_POLICY, *ACTORS, *JOINT_ACTIONS, *TALKING, *SLOW_TO_COMPILE} - {"a2c", "dqn"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in ALL_AGENTS]
)
def test_agent(name: str) -> None:
    games = suitable(name)
    assert games, f"{name} plays in no game"
    for game in games:
        check_agent(agent_class(name, game.family)(), game)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adalign", "proximal-adalign", "loqa", "mappo"])
def test_agent_everywhere(name: str) -> None:
    for game in suitable(name, everywhere=True):
        check_agent(agent_class(name, game.family)(), game)


SHAPING = [name for name in AGENTS.rows() if hasattr(AGENTS.load(name)(), "learner")]
NEURAL = [name for name in AGENTS.rows() if name in SHAPING or hasattr(AGENTS.load(name)(), "network")]


# Policy and critic learn in different ways, or see different things.
NEVER_SHARED = {"trpo", "mappo", *JOINT_ACTIONS}


# Each remembers in its own way; the others are one of these under other names, or with other targets.
RECURRENT = {
    "a2c", "mappo", "trpo", "proximal-adalign", "impala", "talking-a2c", "dqn", "qmix", "pqn", "sac",
    "maddpg", "coma", "maac",
}  # fmt: skip


def shows_something_new(name: str, kind: str) -> bool:
    """Whether a learner with a network is tried each time; the other pairs are slow tests."""
    if kind == "gtrxl":  # slow to compile, and a torso like the others
        return name == "ppo"
    if name in ACTORS:
        return (name, kind) == ("masac", "gru")
    return name in ("ppo", "adalign", "loqa") or (kind == "gru" and name in RECURRENT)


PAIRS = [(name, kind) for name in NEURAL if name not in SLOW_TO_COMPILE for kind in ("tabular", "mlp", "gru")]
PAIRS.remove(("dial", "tabular"))  # it reads what is heard beside what is seen
PAIRS += [("ppo", "gtrxl"), ("proximal-adalign", "gtrxl")]
KINDS = [p if shows_something_new(*p) else pytest.param(*p, marks=pytest.mark.slow) for p in PAIRS]


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_learner_with_every_network(name: str, kind: Any) -> None:
    prefix = "learner." if name in SHAPING else ""
    width = {} if kind == "tabular" else {"width": 8}
    settings: dict[str, Any] = {}
    critics = () if name in OFF_POLICY else ("critic.network",)
    for part in ("network", *critics):
        settings |= {f"{prefix}{part}": kind, **{f"{prefix}{part}.{n}": x for n, x in width.items()}}
    if name in {*JOINT_ACTIONS, "mappo"} and kind == "tabular":  # what such a critic sees is no one choice
        settings = {"network": kind, "critic.network": "mlp", "critic.network.width": 8}
    if name in ACTORS and kind == "tabular":  # no table has a row for every action of everybody
        settings |= {"critic.network": "mlp", "critic.network.width": 8}
    if critics and name not in ACTORS:
        settings[f"{prefix}critic.shared"] = kind == "gru" and name not in NEVER_SHARED
    agent = make_agent(name, **settings)
    check_agent(agent, make_game("public-goods", players=3, horizon=4), seats=(0, 1))


DISCRETE_ONLY = {"loqa", "lola-dice", "pola", *OFF_POLICY, *JOINT_ACTIONS}


CONTINUOUS = [name for name in NEURAL if name not in DISCRETE_ONLY]
LIKE_OTHERS = {"ddpg", "maddpg", "matd3"}  # TD3, SAC and MASAC have all of their parts


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LIKE_OTHERS else n for n in CONTINUOUS]
)
def test_learner_with_continuous_actions(name: str) -> None:
    check_agent(AGENTS.load(name)(), make_game("probe-target"))


@pytest.mark.parametrize("name", ALL_AGENTS)
def test_agent_survives_a_file(name: str) -> None:
    game = suitable(name)[0]
    agent = agent_class(name, game.family)()
    assert agent_from_data(agent_data(agent), game.family) == agent
    for field, changed in one_change_each(agent, GIVEN, ONE_VALUE.get(name, ())):
        again = agent_from_data(through_json(agent_data(changed)), game.family)
        assert again == changed, field
        assert again != agent, field


@pytest.mark.parametrize("name", MATCHMAKERS.rows())
def test_matchmaker_survives_a_file(name: str) -> None:
    matchmaker = make_matchmaker(name)
    assert matchmaker_from_data(matchmaker_data(matchmaker)) == matchmaker
    for field, changed in one_change_each(matchmaker, {"shares": (0.5,)}):
        again = matchmaker_from_data(through_json(matchmaker_data(changed)))
        assert again == changed, field
        assert again != matchmaker, field
