"""Third-party environments as games: what is seen, who is there, seeds, workers, and what goes wrong."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.api import scripted_player
from comity.core.batch import Trajectory
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.spaces import Box, Discrete, Masked
from comity.core.trust import TRUST
from comity.games.transforms import SharedReward, TimeLimit, with_horizon
from comity.play.match import play
from comity.training import loop, runner
from comity.training.experiment import make_experiment
from comity.training.options import Options

CORRIDOR = "tests.bridges.environments:make_corridor"


def corridor(workers: int = 0, **settings: Any) -> Environment:
    return comity.make_game(CORRIDOR, workers=workers, **settings)


def random_play(game: Environment, steps: int = 9, games: int = 4, seed: int = 0) -> Trajectory:
    players = tuple(scripted_player("random", game, seat) for seat in range(len(game.seats)))
    return play(game, players, jax.random.key(seed), games, steps)


def test_spaces_become_comitys() -> None:
    a, b, c = corridor().seats
    assert [seat.name for seat in (a, b, c)] == ["a", "b", "c"]
    assert a.observation == Masked(Box((2,), -1.0, 1.0), 3)
    assert a.action == Discrete(3)
    assert b.observation == (Box((1,), 0.0, 1.0), Discrete(20))
    assert b.action == (Discrete(2), Discrete(4))
    assert c.observation == Box((3, 4, 5), 0.0, 255.0)  # colours first
    assert c.action == Box((2,), -1.0, 1.0)  # scaled to its own bounds by the environment's side
    assert not corridor().symmetric


def test_who_leaves_who_joins_and_what_is_cut() -> None:
    joint = random_play(corridor())
    alive = np.stack([np.asarray(x)[:, 0] for x in joint.alive])
    assert alive[0].tolist() == [True, True, False, False, False, False, True, True, False]
    assert alive[1].all()
    assert alive[2].tolist() == [False, False, False, True, True, True, False, False, False]
    after = np.stack([np.asarray(x)[:, 0] for x in joint.step.alive])
    assert after[0].tolist() == [True, False, False, False, False, False, True, False, False]
    assert after[2].tolist() == [False, False, True, True, True, True, False, False, True]
    assert np.asarray(joint.step.truncated)[:, 0].tolist() == [False] * 5 + [True] + [False] * 3
    assert not np.asarray(joint.step.terminated).any()
    assert np.asarray(joint.step.reward[1])[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3]
    # The successor of the last step is the old episode's, the next observation the new one's.
    assert np.asarray(joint.step.obs[1][1])[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3]
    assert np.asarray(joint.obs[1][1])[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert np.asarray(joint.obs[2])[3, 0, 0, 0, 0] == 3.0


def test_masks_are_kept_by_random_players() -> None:
    joint = random_play(corridor(), games=32)
    assert set(np.asarray(joint.action[0])[np.asarray(joint.alive[0])].tolist()) == {1, 2}


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("ppo", "trpo", "a2c")]


@pytest.mark.long
@pytest.mark.parametrize("name", ["mappo", *OTHERS])
def test_masks_are_kept_by_learning_players(name: str) -> None:
    agent = comity.make_agent(name, **{"network": "mlp", "network.width": 8})
    experiment = make_experiment(corridor(), agent, iterations=2, batch=4, unroll=6, chunk=2)
    state = jax.jit(lambda: loop.start(experiment))()
    _, metrics = jax.jit(lambda s: loop.advance(experiment, s, 2))(state)
    assert np.isfinite(np.asarray(metrics["reward/a"])).all()


def test_workers_play_the_same_games_as_this_process() -> None:
    here, there = (random_play(corridor(workers=workers), games=5) for workers in (0, 2))
    for a, b in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        np.testing.assert_array_equal(a, b)
    other = random_play(corridor(), games=5, seed=1)
    assert not np.array_equal(other.obs[1][0], here.obs[1][0])


def test_transforms_work_around_it() -> None:
    joint = random_play(TimeLimit(game=SharedReward(game=corridor()), horizon=4), steps=8)
    assert np.asarray(joint.step.truncated)[:, 0].tolist() == [False, False, False, True] * 2
    assert np.asarray(joint.obs[1][1])[:, 0].tolist() == [0, 1, 2, 3] * 2
    total = sum(np.asarray(r)[0, 0] for r in random_play(corridor(), steps=8).step.reward)
    assert np.asarray(joint.step.reward[2])[0, 0] == total


def test_gymnasium_is_the_game_with_one_seat() -> None:
    game = comity.make_game("gymnasium:CartPole-v1", workers=0)
    joint = random_play(game, steps=60)
    assert np.asarray(joint.step.terminated).any()
    assert not np.asarray(joint.step.truncated).any()
    assert len(game.seats) == 1
    assert game.symmetric


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("shape", r"what b sees\[seed\] has the shape \(2,\), but its space says \(1,\)"),
        ("reward", "paid b a reward of nan"),
        ("agent", "unknown agent 'ghost'"),
        ("crash", "ValueError: a bug of the environment"),
    ],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_an_environment_that_breaks_its_contract_is_named(wrong: str, says: str, workers: int) -> None:
    game = corridor(workers, arguments=(f"wrong={wrong}",))
    with pytest.raises(ComityError, match=says):
        random_play(game)


def test_a_worker_that_dies_ends_the_run_and_keeps_its_checkpoint(tmp_path: Path) -> None:
    agents = tuple(comity.make_agent("random") for _ in range(2))
    ppo = comity.make_agent("ppo", **{"network": "mlp", "network.width": 4})
    game = corridor(1, arguments=("length=6",))
    experiment = make_experiment(game, (agents[0], ppo, agents[1]), iterations=4, batch=2, unroll=3, chunk=1)
    folder = runner.create(experiment, tmp_path / "run")

    def kill(iteration: int, metrics: dict[str, float]) -> None:
        if iteration == 2:
            for process in game.pool.workers():  # type: ignore[attr-defined]
                process.kill()

    with pytest.raises(ComityError, match="died"):
        runner.run(folder, Options(checkpoint_seconds=0.0), kill)
    assert [int(path.stem) for path in folder.checkpoints()][-1] == 2
    runner.run(folder, Options(checkpoint_seconds=0.0))
    whole = runner.create(experiment, tmp_path / "whole")
    runner.run(whole, Options())
    assert folder.metrics() == whole.metrics()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pettingzoo:mpe2.simple_spraed_v3", "cannot be imported"),
        ("gymnasium:CartPole-v99", "no environment"),
        ("tests.bridges.environments:nothing", "has no nothing"),
        ("tests.bridges.environments:make_nothing", "neither a PettingZoo nor a Gymnasium"),
        ("tests.bridges.environments:make_odd_space", "Text space, which is not supported"),
    ],
)
def test_what_is_no_environment_is_refused(name: str, says: str) -> None:
    with pytest.raises(ComityError, match=says):
        _ = comity.make_game(name).seats


def test_files_cannot_name_code_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from comity.play.specs import game_from_data

    monkeypatch.delenv(TRUST, raising=False)
    data = {"name": "python", "source": "os:getcwd"}
    with pytest.raises(ComityError, match="COMITY_TRUST"):
        _ = game_from_data(data).seats
    with pytest.raises(ComityError, match="COMITY_TRUST"):
        _ = game_from_data({"name": "pettingzoo", "source": "mpe2.simple_spread_v3:parallel_env"}).seats
    assert len(game_from_data({"name": "pettingzoo", "source": "mpe2.simple_spread_v3"}).seats) == 3


def test_arguments_reach_the_environment() -> None:
    game = comity.make_game("pettingzoo:mpe2.simple_spread_v3", arguments=("N=2",), workers=0)
    assert len(game.seats) == 2
    with pytest.raises(ComityError, match="unexpected keyword"):
        _ = comity.make_game("pettingzoo:mpe2.simple_spread_v3", arguments=("M=2",), workers=0).seats
    with pytest.raises(ComityError, match="name=value"):
        comity.make_game("pettingzoo:mpe2.simple_spread_v3", arguments=("N",))


def test_another_horizon_is_a_time_limit() -> None:
    game = with_horizon(corridor(), 3)
    assert isinstance(game, TimeLimit)
    joint = random_play(game, steps=6)
    assert np.asarray(joint.step.truncated)[:, 0].tolist() == [False, False, True] * 2
    assert corridor(length=6).horizon == 6
