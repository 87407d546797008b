"""Each seat or team its own algorithm, in training and in leagues; third-party environments with replays."""

from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.core.agent import Agent
from comity.training import loop
from comity.training.experiment import make_experiment

REPLAY: dict[str, Any] = {
    "memory.capacity": 512, "memory.batch": 8, "memory.updates": 3, "memory.learning_starts": 16,
}  # fmt: skip
SMALL: dict[str, Any] = {"network": "mlp", "network.width": 8, "network.depth": 1}


def agent(name: str, **settings: Any) -> Agent:
    return comity.make_agent(name, **SMALL, **settings)


def trained(experiment: Any) -> tuple[Any, dict[str, np.ndarray]]:
    state = jax.jit(lambda: loop.start(experiment))()
    state, metrics = jax.jit(lambda s: loop.advance(experiment, s, experiment.iterations))(state)
    return state, {name: np.asarray(x) for name, x in metrics.items()}


@pytest.mark.long
def test_teams_of_four_algorithms_learn_side_by_side() -> None:
    """QMIX's team of two, MAPPO's team of two, DQN and JAL: four teams in one game of public goods."""
    game = comity.make_game("public-goods", players=6, horizon=8)
    agents = (agent("qmix", **REPLAY), agent("mappo"), agent("dqn", **REPLAY), agent("jal", minibatches=1))
    groups = ((0, 1), (2, 3), (4,), (5,))
    experiment = make_experiment(game, agents, groups=groups, iterations=3, batch=4, chunk=3)
    state, metrics = trained(experiment)
    names = [game.seats[team[0]].name for team in groups]
    for name in names:
        assert np.isfinite(metrics[f"{name}/loss"]).all()
    assert metrics[f"{names[0]}/updates"].tolist() == [3.0] * 3
    begun = jax.jit(lambda: loop.start(experiment))()
    for own, before, after in zip(agents, begun.learners, state.learners, strict=True):
        moved = jax.tree.map(lambda a, b: bool((a != b).any()), own.policy(before), own.policy(after))
        assert any(jax.tree.leaves(moved))


@pytest.mark.parametrize("opponents", ["self-play", "past"])
def test_dqn_against_ppo(opponents: str) -> None:
    game = comity.make_game("prisoners-dilemma", horizon=4)
    matchmaker = (
        None if opponents == "self-play" else comity.make_matchmaker("past", groups=2, every=1, capacity=3)
    )
    agents = (agent("dqn", **REPLAY, epsilon={"start": 0.5, "end": 0.5}), agent("ppo"))
    experiment = make_experiment(game, agents, matchmaker=matchmaker, iterations=4, batch=4, chunk=4)
    state, metrics = trained(experiment)
    for seat in game.seats:
        assert np.isfinite(metrics[f"{seat.name}/loss"][1:]).all()  # there is enough in the replay by then
    first = loop.players(experiment, state)[0]
    assert float(first.params.epsilon) == 0.0  # what meets others in a league does not explore


@pytest.mark.long
def test_a_league_of_all_kinds() -> None:
    game = comity.make_game("prisoners-dilemma", horizon=4)
    kinds = ("dqn", "vdn", "pqn", "jal", "coma", "maac", "a2c")
    players: dict[str, Any] = {}
    for name in kinds:
        given = REPLAY if name in ("dqn", "vdn", "maac") else {}
        experiment = make_experiment(game, agent(name, **given), iterations=2, batch=4, chunk=2)
        players[name] = loop.players(experiment, trained(experiment)[0])
    found = comity.league(game, {**players, "tit-for-tat": "tit-for-tat"}, episodes=4)
    assert found.players == (*kinds, "tit-for-tat")
    assert np.isfinite(found.mean).all()


def test_a_gymnasium_environment_with_several_updates_a_step() -> None:
    game = comity.make_game("gymnasium:CartPole-v1", workers=0)
    learner = agent("dqn", **REPLAY, n_step=2, **{"memory.length": 2})
    experiment = make_experiment(game, learner, iterations=6, batch=4, unroll=4, chunk=6)
    state, metrics = trained(experiment)
    assert metrics["updates"].tolist() == [3.0] * 6
    assert np.isfinite(metrics["loss"]).all()
    assert int(state.memories[0].stored) == 24


def test_a_team_in_a_pettingzoo_environment() -> None:
    game = comity.make_game("pettingzoo:mpe2.simple_spread_v3", workers=0)
    learner = agent("vdn", **REPLAY)
    experiment = make_experiment(game, learner, share=True, iterations=3, batch=2, unroll=10, chunk=3)
    state, metrics = trained(experiment)
    assert metrics["updates"].tolist() == [3.0] * 3
    assert np.isfinite(metrics["loss"]).all()
    assert state.memories[0].steps["reward"].shape[1] == 3
