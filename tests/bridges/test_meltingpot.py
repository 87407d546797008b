"""Melting Pot's substrates as games, on a stand-in of the real one's form that shows recorded images."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import comity
from comity.api import scripted_player
from comity.bridges.meltingpot import Substrate
from comity.bridges.meltingpot_policy import ComityPolicy
from comity.core.errors import ComityError
from comity.core.spaces import Box, Discrete
from comity.play.match import play
from comity.testing.contracts import make_player
from comity.training.experiment import make_experiment
from comity.training.loop import advance, start

RECORDED = np.load(Path(__file__).parent.parent / "data" / "harvest" / "harvest_observations.npz")["rgb"]
SPEC = {"RGB": SimpleNamespace(shape=(88, 88, 3), dtype=np.uint8),
        "READY_TO_SHOOT": SimpleNamespace(shape=(), dtype=np.float64),
        "COLLECTIVE_REWARD": SimpleNamespace(shape=(), dtype=np.float64)}  # fmt: skip


class Step(NamedTuple):
    """A time step as dm_env has it."""

    kind: str
    reward: Any
    discount: Any
    observation: Any

    def first(self) -> bool:
        return self.kind == "first"

    def last(self) -> bool:
        return self.kind == "last"


class Recorded:
    """Shows the recorded moments one after another and pays whoever zaps; the last one ends the episode."""

    def __init__(self, players: int) -> None:
        self.players, self.time = players, 0

    def observation_spec(self) -> list[dict[str, Any]]:
        return [SPEC] * self.players

    def action_spec(self) -> list[Any]:
        return [SimpleNamespace(num_values=8)] * self.players

    def reset(self) -> Step:
        self.time = 0
        return Step("first", None, None, self._look())

    def step(self, action: list[int]) -> Step:
        assert len(action) == self.players
        self.time += 1
        last = self.time == len(RECORDED) - 1
        paid = [np.float64(x == 7) for x in action]
        return Step("last" if last else "mid", paid, 0.0 if last else 1.0, self._look())

    def close(self) -> None:
        self.time = -1

    def _look(self) -> list[dict[str, Any]]:
        numbers = {"READY_TO_SHOOT": np.float64(1.0), "COLLECTIVE_REWARD": np.float64(0.0)}
        return [{"RGB": RECORDED[self.time, i], **numbers} for i in range(self.players)]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = ModuleType("meltingpot"), ModuleType("meltingpot.substrate")
    package.__spec__ = SimpleNamespace(name="meltingpot")  # type: ignore[assignment]
    roles = ("default",) * 7
    module.SUBSTRATES = frozenset({"commons_harvest__open"})  # type: ignore[attr-defined]
    module.get_config = lambda name: SimpleNamespace(default_player_roles=roles)  # type: ignore[attr-defined]
    module.build = lambda name, roles: Recorded(len(roles))  # type: ignore[attr-defined]
    package.substrate = module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "meltingpot", package)
    monkeypatch.setitem(sys.modules, "meltingpot.substrate", module)


NAME = "meltingpot:commons_harvest__open"
SMALL: dict[str, Any] = {
    "network.width": 8,
    "network.encoder": "convolutional",
    "network.encoder.filters": (2,),
    "network.encoder.step_size": 3,
}


def test_without_melting_pot_the_message_says_what_to_do() -> None:
    with pytest.raises(ComityError, match="pip install dm-meltingpot"):
        Substrate("commons_harvest__open")


def test_a_substrate_is_a_game(installed: None) -> None:
    game = comity.make_game(NAME, workers=0)
    assert len(game.seats) == 7
    assert game.seats[0].observation == Box((3, 88, 88), 0.0, 255.0)
    assert game.seats[0].action == Discrete(8)
    assert game.symmetric
    players = tuple(scripted_player("random", game, seat) for seat in range(7))
    played = play(game, players, jax.random.key(0), 2, 7)
    for seat in range(7):
        shown = np.asarray(played.obs[seat])[:, 0]
        expected = RECORDED[[0, 1, 2, 3, 4, 0, 1], seat].transpose(0, 3, 1, 2)
        np.testing.assert_array_equal(shown, expected)
        zapped = np.asarray(played.action[seat])[:, 0] == 7
        np.testing.assert_array_equal(np.asarray(played.step.reward[seat])[:, 0], zapped)
    assert np.asarray(played.step.terminated)[:, 0].tolist() == [False] * 4 + [True] + [False] * 2
    assert not np.asarray(played.step.truncated).any()
    np.testing.assert_array_equal(np.asarray(played.step.obs[0])[4, 0], RECORDED[5, 0].transpose(2, 0, 1))


def test_roles_and_what_is_seen_are_arguments(installed: None) -> None:
    arguments = ('roles=["default", "default"]', 'observe=["RGB", "READY_TO_SHOOT"]')
    game = comity.make_game(NAME, workers=0, arguments=arguments)
    assert len(game.seats) == 2
    assert game.seats[0].observation == (Box((1,)), Box((3, 88, 88), 0.0, 255.0))  # in the order of names
    with pytest.raises(ComityError, match="INVENTORY"):
        len(comity.make_game(NAME, workers=0, arguments=('observe=["INVENTORY"]',)).seats)
    with pytest.raises(ComityError, match="commons_harvest__opne"):
        len(comity.make_game("meltingpot:commons_harvest__opne", workers=0).seats)


def test_an_agent_learns_in_a_substrate(installed: None) -> None:
    game = comity.make_game(NAME, workers=0, arguments=('roles=["default", "default"]',))
    agent = comity.make_agent("ppo", **SMALL, **{"network": "mlp"})
    experiment = make_experiment(game, agent, batch=2, unroll=4)
    _, metrics = advance(experiment, start(experiment), 1)
    assert np.isfinite(metrics["loss"]).all()


def test_a_player_is_a_policy(installed: None) -> None:
    game = comity.make_game("commons-harvest-open", observe="pixels")
    settings: dict[str, Any] = {
        "network": "gru",
        "network.width": 8,
        "network.encoder": "convolutional",
        "network.encoder.filters": (2,),
        "network.encoder.step_size": 3,
    }
    player = make_player(comity.make_agent("ppo", **settings), game)
    with ComityPolicy(player, game.seats[0].observation, seed=3) as policy:
        env = Recorded(7)
        done = []
        for _ in range(2):
            step, state = env.reset(), policy.initial_state()
            actions = []
            for _ in range(4):
                action, state = policy.step(step._replace(observation=step.observation[0]), state)
                actions.append(action)
                step = env.step([action] + [0] * 6)
            done.append(actions)
        assert done[0] == done[1]
        assert all(0 <= action < 8 for action in done[0])
        fresh = policy.step(step._replace(kind="first", observation=step.observation[0]), state)[1].memory
        begun = policy.step(step._replace(observation=step.observation[0]), policy.initial_state())[1].memory
        for a, b in zip(jax.tree.leaves(fresh), jax.tree.leaves(begun), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        with pytest.raises(ComityError, match="no RGB"):
            policy.step(step._replace(observation={"DEPTH": 0}), state)
    with pytest.raises(ComityError, match="sees pixels"):
        ComityPolicy(player, comity.make_game("commons-harvest-open").seats[0].observation)
