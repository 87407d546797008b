"""How rates fall, by the name of the shape; and when learning starts."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.ppo import PPO
from comity.core.agent import Context
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.learn.advantages import normalised
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam, apply_gradients
from comity.learn.schedules import Decay, Shape
from comity.nets import GRU, MLP, Inputs
from comity.play.specs import make_game
from tests.agents.shaped import NOW, largest, played

SEEN = MLP(width=4, inputs=Inputs(normalise=True))
GOODS = make_game("public-goods", players=3, horizon=5)


@pytest.mark.parametrize(
    ("shape", "half", "quarter"),
    [
        ("linear", 0.55, 0.775),
        ("cosine", 0.55, 1.0 - 0.9 * (1.0 - np.cos(np.pi / 4)) / 2),
        ("exponential", 0.1**0.5, 0.1**0.25),
        ("step", 0.1, 0.1),
    ],
)
def test_rates_fall_as_the_shape_says(shape: Shape, half: float, quarter: float) -> None:
    schedule = Decay(decay_from=0.5, shape=shape)
    found = [float(schedule.at(0.1, jnp.float32(x))) for x in (0.2, 0.5, 0.625, 0.75, 1.0)]
    np.testing.assert_allclose(found, [1.0, 1.0, quarter, half, 0.1], atol=1e-6)


def test_what_cannot_fall_to_nothing_by_a_factor_is_refused() -> None:
    with pytest.raises(ComityError, match="final_entropy"):
        Decay(shape="exponential", final_entropy=0.0)


def test_nothing_is_learned_before_learning_starts() -> None:
    agent = PPO(network=SEEN, schedule=Decay(learning_starts=0.5), minibatches=1)
    found = played(GOODS, agent, batch=4)
    batch = team_batch(found.joint, (0, 1))
    update = jax.jit(lambda now: agent.update(found.state, batch, Context(now), jax.random.key(0))[0])
    early, late = update(jnp.float32(0.49)), update(jnp.float32(0.5))
    assert float(early.policy.torso.normaliser.count) == float(late.policy.torso.normaliser.count) > 0
    before = found.state.policy.head.linear.weight
    np.testing.assert_array_equal(early.policy.head.linear.weight, before)
    assert largest(late.policy.head.linear.weight - before) > 0
    assert (int(early.optimiser[1][0].count), int(late.optimiser[1][0].count)) == (0, 2)


def test_gradients_are_not_limited_where_the_limit_is_0() -> None:
    gradient = {"x": jnp.full(3, 100.0)}
    for limit, norm in ((0.0, 100.0 * 3**0.5), (1.0, 1.0)):
        optimiser = Adam(max_grad_norm=limit, epsilon=1e6).build()  # then Adam's step is all but linear
        zero = jax.tree.map(jnp.zeros_like, gradient)
        moved, _ = apply_gradients(optimiser, gradient, optimiser.init(zero), zero, jnp.float32(1.0))
        np.testing.assert_allclose(jnp.linalg.norm(moved["x"]), 1e-3 * norm / 1e6, rtol=1e-3)


def test_an_unbiased_spread_is_that_of_torch() -> None:
    values = jnp.asarray([[[1.0, 2.0, 4.0, 100.0]]])
    weight = jnp.asarray([[[1.0, 1.0, 1.0, 0.0]]])  # the last one does not count
    found = normalised(values, weight, "unbiased")[0, 0, :3]
    np.testing.assert_allclose(found, (np.array([1, 2, 4]) - 7 / 3) / np.std([1, 2, 4], ddof=1), rtol=1e-5)


def test_a_clipped_loss_needs_a_limit() -> None:
    with pytest.raises(ComityError, match="value_clip"):
        Critic(loss="clipped")


@pytest.mark.long
def test_single_steps_need_learners_without_memory() -> None:
    for network in (GRU(width=4), MLP(width=4, inputs=Inputs(clock=True))):
        agent = PPO(network=network, minibatch_order="steps")
        found = played(GOODS, agent, batch=4)
        batch = team_batch(found.joint, (0, 1))
        with pytest.raises(ComityError, match="minibatch_order"):
            jax.eval_shape(partial(agent.update, key=jax.random.key(0)), found.state, batch, NOW)


@pytest.mark.long
@pytest.mark.parametrize("agent", [PPO(network=MLP(width=4)), A2C(network=MLP(width=4))], ids=["ppo", "a2c"])
def test_learners_log_what_users_look_for(agent: PPO | A2C) -> None:
    agent_metrics = {"learning_rate", "policy_loss", "value_loss", "entropy", "gradient_norm"}
    wanted = agent_metrics | ({"clip_fraction", "kl"} if isinstance(agent, PPO) else set())
    for name, spread in (("public-goods", False), ("negotiation", True)):
        game = make_game(name, horizon=5)
        found = played(game, agent, batch=4)
        batch = team_batch(found.joint, (0, 1))
        metrics = jax.jit(partial(agent.update, key=jax.random.key(0)))(found.state, batch, NOW)[1]
        assert wanted <= set(metrics)
        assert ("std" in metrics) == spread
        assert float(metrics["learning_rate"]) == pytest.approx(agent.optimiser.learning_rate)
        if spread:
            assert abs(metrics["std"] - found.state.policy.std) < 0.01
