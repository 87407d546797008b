"""Settings that may change during a run: arrays in its state, the same numbers, one program for many."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.registry import AGENTS
from comity.core.errors import ComityError
from comity.core.tunable import tunable_settings, with_tunable
from comity.games.transforms import with_horizon
from comity.play.specs import make_agent, make_game
from comity.training import loop
from comity.training.executors.in_process import InProcess
from comity.training.executors.vectorised import Vectorised
from comity.training.experiment import Experiment, make_experiment
from comity.training.jobs import Job

# Those whose files mark settings; the others learn by what these are made of.
QUICK = ("adalign", "proximal-adalign", "loqa", "naive")
LEARNERS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
    for name in AGENTS.rows()
    if AGENTS.load(name).learns
]
WEIGHT = "term.weight"
BATCH = {"evolution": 32}  # one game for each perturbed copy


def small(name: str, tunable: tuple[str, ...] = (), **settings: Any) -> Experiment:
    """A run of two iterations in a tiny game."""
    game = with_horizon(make_game("prisoners-dilemma"), 4)
    default = AGENTS.load(name)()
    prefix = "learner." if hasattr(default, "learner") else ""
    if prefix or hasattr(default, "network"):
        kind = "mlp" if name == "dial" else "tabular"  # it reads what is heard beside what is seen
        settings = {f"{prefix}network": kind, **settings}
    if getattr(getattr(default, "critic", None), "central", False):  # it reads more than a table can
        settings = {"critic.network": "mlp", **settings}
    agent = make_agent(name, **settings)
    return make_experiment(game, agent, iterations=2, batch=BATCH.get(name, 4), chunk=2, tunable=tunable)


def advance(experiment: Experiment) -> loop.RunState:
    """The state after all iterations."""

    @eqx.filter_jit
    def run(experiment: Experiment) -> loop.RunState:
        return loop.advance(experiment, loop.start(experiment), experiment.iterations)[0]

    state: loop.RunState = run(experiment)
    return state


def assert_close(one: Any, other: Any) -> None:
    """All numbers of two trees agree."""
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if eqx.is_inexact_array(x):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LEARNERS)
def test_arrays_learn_what_numbers_learn(name: str) -> None:
    plain = small(name)
    names = tuple(tunable_settings(plain.agents[0]))
    assert names, f"{name} marks no setting as tunable"
    tuned = dataclasses.replace(plain, tunable=names)
    after = advance(tuned)
    assert set(after.tuned[0]) == set(names)
    assert_close(after.learners, advance(plain).learners)


def test_a_number_in_the_state_stands_in_for_the_setting() -> None:
    experiment = small("adalign", (WEIGHT,))

    @jax.jit
    def run(weight: jax.Array) -> loop.RunState:
        state = loop.start(experiment)._replace(tuned=({WEIGHT: weight},))
        return loop.advance(experiment, state, 2)[0]

    by_state = run(jnp.float32(3.0))
    by_setting = advance(small("adalign", (), **{WEIGHT: 3.0}))
    assert_close(by_state.learners, by_setting.learners)
    first = jax.tree.leaves(run(jnp.float32(1.0)).learners)[0]
    assert not np.allclose(np.asarray(first), np.asarray(jax.tree.leaves(by_state.learners)[0]), atol=1e-6)


def test_runs_with_other_numbers_train_in_one_program() -> None:
    name = "optimiser.learning_rate"
    experiments = [small("a2c", (name,), **{name: rate}) for rate in (0.01, 0.1)]
    jobs = [Job(experiment, None) for experiment in experiments]
    together = Vectorised().run(jobs)
    apart = InProcess().run([Job(experiment, None) for experiment in experiments])
    for one, other in zip(together, apart, strict=True):
        assert_close(one.players, other.players)
    weights = [jax.tree.leaves(run.players[0].params)[0] for run in together]
    assert not np.allclose(np.asarray(weights[0]), np.asarray(weights[1]), atol=1e-6)


def test_only_marked_numbers_can_be_tuned() -> None:
    with pytest.raises(ComityError, match=r"epochs"):
        small("ppo", ("epochs",))
    with pytest.raises(
        ComityError, match=r"named 'optimiser.learning_rte'. Did you mean optimiser.learning_rate"
    ):
        small("ppo", ("optimiser.learning_rte",))
    off = small("ppo").agents[0]
    assert "critic.learning_rate" not in tunable_settings(off)  # 0: learned with the policy


def test_it_survives_a_file_and_is_range_checked_there() -> None:
    experiment = small("adalign", (WEIGHT,))
    data = experiment.to_data()
    assert Experiment.from_data(data) == experiment
    data["tunable"] = "all"
    with pytest.raises(ComityError, match="a list of names of settings"):
        Experiment.from_data(data)
    with pytest.raises(ComityError, match="discount"):
        small("ppo", ("discount",), discount=1.5)


def test_with_tunable_changes_nothing_else() -> None:
    agent = make_agent("adalign")
    changed = with_tunable(agent, {WEIGHT: 2.0})
    assert tunable_settings(changed) == {**tunable_settings(agent), WEIGHT: 2.0}
    assert with_tunable(changed, {WEIGHT: tunable_settings(agent)[WEIGHT]}) == agent
