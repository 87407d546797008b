"""Every game and agent in the registries holds its contract."""

import dataclasses
from typing import Any

import pytest

from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED, agent_class
from comity.core.errors import ComityError
from comity.core.trust import trust
from comity.core.types import Environment
from comity.games.registry import GAMES, TRANSFORMS
from comity.games.transforms import with_horizon
from comity.play.specs import agent_data, agent_from_data, game_data, game_from_data, make_game
from comity.testing import check_agent, check_game

# Families whose seats are unlike those of others: the rest would show nothing new of an agent.
FAMILIES = {
    "matrix": "prisoners-dilemma",
    "negotiation": "negotiation",
    "coin": "coin",
    "meta": "meta-game",
    "particles": "simple-spread",
    "probe": "probe-observation",
    "commons-harvest": "commons-harvest",
}
REWARD = "tests.games.test_shaping:as_it_was"
HARVESTERS = {"proximal-adalign", *SCRIPTED["commons-harvest"].rows()}  # who is tried in that family


@pytest.mark.parametrize("name", GAMES.rows())
def test_game(name: str) -> None:
    check_game(make_game(name))


@pytest.mark.parametrize("name", TRANSFORMS.rows())
def test_transform(name: str) -> None:
    settings = {"shaped-reward": {"function": REWARD}}.get(name, {})
    trust(REWARD)
    check_game(TRANSFORMS.load(name)(game=make_game("public-goods"), **settings))


@pytest.mark.parametrize("name", GAMES.rows())
def test_game_survives_a_file(name: str) -> None:
    game = TRANSFORMS.load("shared-reward")(game=make_game(name))
    assert game_from_data(game_data(game)) == game


SLOW_TO_COMPILE = {"lola-dice", "pola", "evolution"}  # they play games while they learn: one family will do
LIKE_PPO = {"a2c", "ippo", "mappo", "trpo", "mfos"}  # they share all but their update with PPO
MOST_FAMILIES = {**dict.fromkeys(SLOW_TO_COMPILE, 1), **dict.fromkeys(LIKE_PPO, 2), "adalign": 3, "loqa": 2}
ONLY = {"proximal-adalign": {"matrix", "commons-harvest"}}  # it shares all but its update with adalign


def suitable(name: str, everywhere: bool = False) -> list[Environment]:
    """Small games that an agent plays: some of those where others like it are tried, or all."""
    games = []
    for family, first in FAMILIES.items():
        if family == "commons-harvest" and name not in HARVESTERS:
            continue
        if not everywhere and family not in ONLY.get(name, FAMILIES):
            continue
        game = make_game(first)
        try:
            agent = agent_class(name, family)()
            for seat in game.seats:
                agent.check(seat)
        except ComityError:
            continue
        games.append(with_horizon(game, 4) if game.horizon else game)
    return games if everywhere else games[: MOST_FAMILIES.get(name)]


ALL_AGENTS = sorted({*AGENTS.rows(), *ANY_FAMILY.rows(), *(n for r in SCRIPTED.values() for n in r.rows())})


@pytest.mark.parametrize("name", ALL_AGENTS)
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


NEURAL = [name for name in AGENTS.rows() if hasattr(AGENTS.load(name)(), "network")]


NEVER_SHARED = {"trpo"}  # its policy and its critic learn in different ways


SETTINGS_OF_PPO = {"ippo", "mfos"}  # PPO under other names, with other defaults


def shows_something_new(name: str, kind: str) -> bool:
    """Whether a learner with a network is tried each time; the other pairs are slow tests."""
    if kind == "gtrxl":  # slow to compile, and a torso like the others
        return name == "ppo"
    return name in ("ppo", "adalign", "loqa") or (kind == "gru" and name not in SETTINGS_OF_PPO)


PAIRS = [(name, kind) for name in NEURAL if name not in SLOW_TO_COMPILE for kind in ("tabular", "mlp", "gru")]
PAIRS += [("ppo", "gtrxl"), ("proximal-adalign", "gtrxl")]
KINDS = [p if shows_something_new(*p) else pytest.param(*p, marks=pytest.mark.slow) for p in PAIRS]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_learner_with_every_network(name: str, kind: Any) -> None:
    cls = AGENTS.load(name)
    shared = kind == "gru" and name not in NEVER_SHARED
    network = dataclasses.replace(cls().network, kind=kind, width=8, shared=shared)
    check_agent(cls(network=network), make_game("public-goods", players=3, horizon=4), seats=(0, 1))


DISCRETE_ONLY = {"loqa", "lola-dice", "pola"}


@pytest.mark.parametrize("name", [name for name in NEURAL if name not in DISCRETE_ONLY])
def test_learner_with_continuous_actions(name: str) -> None:
    check_agent(AGENTS.load(name)(), make_game("probe-target"))


@pytest.mark.parametrize("name", ALL_AGENTS)
def test_agent_survives_a_file(name: str) -> None:
    game = suitable(name)[0]
    agent = agent_class(name, game.family)()
    assert agent_from_data(agent_data(agent), game.family) == agent
