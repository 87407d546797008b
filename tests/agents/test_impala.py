"""IMPALA: without lag it is A2C; with lag an older policy plays, and V-trace makes up for it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.impala import IMPALA
from comity.core.agent import Context
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.nets import MLP
from comity.play.specs import make_game
from comity.returns.vtrace import vtrace
from comity.training.experiment import make_experiment
from comity.training.loop import iterate, start
from tests.agents.test_gradient import played

SMALL = MLP(width=8)
CRITIC = Critic(network=SMALL, learning_rate=1e-2, td_lambda=0.8)
SETTINGS: dict[str, Any] = {"network": SMALL, "critic": CRITIC, "gae_lambda": 0.6, "discount": 0.9}


def assert_trees_close(one: object, other: object, rtol: float = 1e-4) -> None:
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("game", ["prisoners-dilemma", "alternating-offers"])
def test_without_lag_it_is_a2c(game: str) -> None:
    """Also in a game of turns, and with other lambdas for targets and advantages."""
    found = []
    for kind in (A2C, IMPALA):
        agent = kind(**SETTINGS)
        state, joint = played(agent, make_game(game))
        batch = team_batch(joint, (0, 1))
        found.append(
            jax.jit(lambda s, b, a=agent: a.update(s, b, Context(jnp.float32(0)), jax.random.key(3)))(
                state, batch
            )
        )
    (a2c, mine), (impala, also) = found
    assert_trees_close((a2c.policy, a2c.critic), (impala.policy, impala.critic))
    for name, value in mine.items():
        np.testing.assert_allclose(also[name], value, rtol=1e-3, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(also["ratio"], 1.0, rtol=1e-5)


def test_what_plays_is_the_policy_of_some_updates_ago() -> None:
    agent = IMPALA(**SETTINGS, lag=2, optimiser=Adam(learning_rate=0.05))
    experiment = make_experiment(make_game("prisoners-dilemma", horizon=4), agent, iterations=8, batch=4)
    step = jax.jit(lambda state: iterate(experiment, state))
    state = start(experiment)
    policies, ratios = [], []
    for _ in range(5):
        (learner,) = state.learners
        policies.append(learner.policy)
        plays = agent.behaviour(learner, jnp.float32(0.0)).policy
        assert_trees_close(plays, policies[max(len(policies) - 3, 0)], rtol=0)
        state, metrics = step(state)
        ratios.append(float(metrics["ratio"]))
        assert float(metrics["staleness"]) == 2
    assert ratios[0] == pytest.approx(1.0, abs=1e-5)
    assert abs(ratios[2] - 1.0) > 1e-4  # two updates later the policies differ


def test_it_measures_v_trace_of_the_stored_log_probabilities() -> None:
    agent = IMPALA(**SETTINGS, rho_clip=2.0, c_clip=0.5)
    state, joint = played(agent, make_game("prisoners-dilemma"))
    batch = team_batch(joint, (0, 1))
    read = agent.critic_batch(state, batch)
    values = agent.values(state.critic, state.policy, read)
    ratio = jnp.exp(jax.random.normal(jax.random.key(5), batch.reward.shape))
    found = agent.trace(values, read, batch, ratio, 0.7)
    for seat, game in ((0, 3), (1, 7)):
        expected = vtrace(
            batch.reward[:, seat, game], values.value[:, seat, game, 0], values.next_value[:, seat, game, 0],
            batch.terminated[:, seat, game], batch.ended[:, seat, game], ratio[:, seat, game],
            0.9, 0.7, 2.0, 0.5,
        )  # fmt: skip
        np.testing.assert_allclose(found.target[:, seat, game], expected.target, rtol=1e-5)
        np.testing.assert_allclose(found.advantage[:, seat, game], expected.advantage, rtol=1e-5, atol=1e-6)
    plain = IMPALA(**SETTINGS, corrected=False).trace(values, read, batch, ratio, 0.7)
    assert not np.allclose(plain.target, found.target)


def test_settings_that_cannot_be() -> None:
    for settings, words in (
        ({"lag": -1}, "lag = -1 is not possible"),
        ({"rho_clip": 0.0}, "rho_clip = 0.0 is not possible"),
        ({"c_clip": 2.0}, "c_clip = 2.0 is not possible: it must be at most rho_clip"),
        ({"normalise_advantages": "minibatch"}, "normalise_advantages"),
    ):
        with pytest.raises(ComityError, match=words):
            IMPALA(**settings)
    with pytest.raises(ComityError, match=r"critic\.kind = 'action-value' is not possible"):
        IMPALA(critic=Critic(kind="action-value")).check(make_game("prisoners-dilemma").spec, (0, 1))
