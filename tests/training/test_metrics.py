"""What a run logs: the game's own reward, episodes longer or shorter than a rollout, what it took."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.core.batch import Trajectory
from comity.core.game import Environment, PerSeat, Seat, TimeStep
from comity.core.spaces import Discrete
from comity.games.transforms import SharedReward, TimeLimit
from comity.play.specs import make_agent, make_matchmaker
from comity.training import loop
from comity.training.experiment import Experiment, make_experiment
from comity.training.metrics import mean_metrics
from comity.training.play_metrics import measure_play
from tests.training.test_runner import DILEMMA, TABULAR


class Clock(Environment):
    """The first seat is paid the time, the second loses 1 in every step."""

    horizon: int | None = 5

    @property
    def family(self) -> str:
        return "clock"

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def seats(self) -> PerSeat[Seat]:
        return tuple(Seat(name, Discrete(2), Discrete(2)) for name in ("first", "second"))

    def reset(self, key: Any) -> tuple[Any, PerSeat[Any]]:
        return jnp.int32(0), (jnp.int32(0),) * 2

    def step(self, key: Any, state: Any, actions: PerSeat[Any]) -> tuple[Any, TimeStep]:
        reward = (state.astype(jnp.float32), jnp.float32(-1.0))
        over = state + 1 >= (self.horizon or 0)
        alive = (jnp.bool_(True),) * 2
        return state + 1, TimeStep((jnp.int32(0),) * 2, reward, jnp.bool_(False), over, alive)


def rows(experiment: Experiment, chunks: int) -> list[dict[str, float]]:
    state = jax.jit(lambda: loop.start(experiment))()
    advance = jax.jit(lambda state: loop.advance(experiment, state, experiment.chunk))
    found = []
    for _ in range(chunks):
        state, metrics = advance(state)
        found.append(mean_metrics({name: np.asarray(value) for name, value in metrics.items()}))
    return found


def test_episodes_of_a_rollout_by_hand() -> None:
    reward = jnp.asarray([[1.0, 10.0, 7.0], [2.0, 20.0, 7.0], [4.0, 40.0, 7.0], [8.0, 80.0, 7.0]])
    ends = jnp.asarray([[False, True, False], [True, False, False], [False, True, False], [False] * 3])
    never = jnp.zeros_like(ends)
    step = TimeStep((), (reward, -reward), ends, never, ())
    played = Trajectory((), (), (), (), (), step, (), (), (), age=jnp.asarray([3, 0, 6]))
    before = jnp.asarray([[100.0, 0.0, 200.0], [-100.0, 0.0, 0.0]])
    found = measure_play(played, before)
    # Game 1 ends once: 100 + 1 + 2; game 2 twice: 10, and 20 + 40; game 3 goes on.
    np.testing.assert_allclose(found.ended, [103.0 + 70.0, -173.0])
    assert (float(found.episodes), float(found.length)) == (3.0, 5.0 + 1.0 + 2.0)
    np.testing.assert_allclose(found.returns, [[12.0, 80.0, 228.0], [-12.0, -80.0, -28.0]])
    np.testing.assert_allclose(found.reward, [reward.mean(), -reward.mean()])


@pytest.mark.parametrize(("unroll", "warm_up"), [(3, 0), (5, 0), (12, 0), (3, 2)])
def test_returns_and_lengths_do_not_depend_on_the_unroll(unroll: int, warm_up: int) -> None:
    experiment = make_experiment(
        Clock(), TABULAR, iterations=8, batch=2, unroll=unroll, chunk=4, warm_up=warm_up
    )
    logged = rows(experiment, chunks=2)
    for row in logged:
        assert row["episode_length"] == 5.0
        assert (row["episode_return/first"], row["episode_return/second"]) == (10.0, -5.0)
        assert row["episode_return"] == 2.5
        assert row["reward/second"] == -1.0
    assert sum(row["episodes"] for row in logged) == 2 * ((8 * unroll + warm_up) // 5 - warm_up // 5)


def test_what_no_episode_has_shown_yet_is_left_out() -> None:
    experiment = make_experiment(Clock(horizon=9), TABULAR, iterations=4, batch=2, unroll=2, chunk=2)
    first, second, third = rows(experiment, chunks=3)
    assert "episode_return" not in first
    assert "episode_length" not in second
    assert first["episodes"] == 0.0
    assert (third["episode_length"], third["episodes"]) == (9.0, 2.0)


@pytest.mark.parametrize("outer", ["plain", "timed", "twice"])
def test_the_reward_that_is_shown_is_the_games_own(outer: str) -> None:
    shared: Environment = SharedReward(game=Clock(), others=3.0)
    game = {
        "plain": shared,
        "timed": TimeLimit(game=shared, horizon=5),
        "twice": SharedReward(game=shared, others=0.5),
    }[outer]
    (row,) = rows(make_experiment(game, TABULAR, iterations=2, batch=2, chunk=2), chunks=1)
    (own,) = rows(make_experiment(Clock(), TABULAR, iterations=2, batch=2, chunk=2), chunks=1)
    assert (row["reward"], row["reward/first"], row["episode_return"]) == (0.5, 2.0, 2.5)
    # Each is paid 3 times the other's, then half the other's again: in the sum, 4 and 1.5 times as much.
    assert row["shaped_reward"] == pytest.approx(0.5 * 4.0 * (1.5 if outer == "twice" else 1.0))
    assert "shaped_reward" not in own


def test_several_learners_against_past_selves_have_each_their_reward() -> None:
    past = make_matchmaker("past", groups=1)
    experiment = make_experiment(Clock(), (TABULAR, TABULAR), matchmaker=past, iterations=2, batch=2, chunk=2)
    (row,) = rows(experiment, chunks=1)
    assert (row["reward"], row["reward/first"], row["reward/second"]) == (0.5, 2.0, -1.0)
    fixed = make_agent("always-defect", DILEMMA)
    (row,) = rows(make_experiment(DILEMMA, (TABULAR, fixed), iterations=1, batch=4, chunk=1), chunks=1)
    assert row["reward"] == row["reward/player 1"] != row["reward/player 2"]


def test_metrics_and_timing_are_joined_by_iteration(tmp_path: Path) -> None:
    run = comity.train(DILEMMA, TABULAR, iterations=6, batch=4, unroll=8, chunk=2, out=tmp_path / "run")
    assert [row["iteration"] for row in run.metrics] == [2, 4, 6]
    assert [row["steps"] for row in run.metrics] == [64, 128, 192]
    seconds = [row["seconds"] for row in run.metrics]
    assert 0 < seconds[0] < seconds[1] < seconds[2]
    assert all(row["steps_per_second"] > 0 and row["cpu_seconds"] > 0 for row in run.metrics)
    assert run.metrics[0]["steps_per_second"] == pytest.approx(64 / seconds[0], rel=0.01, abs=1.0)
