"""DIAL: its unit by hand, what was played is what is learned from, and errors that travel through
messages."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.communication.dial import regularise
from comity.core.agent import Context, add_group_axis
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.core.matchmaker import Occupant
from comity.games.switch_riddle import SwitchRiddle
from comity.play.rollout import reset, rollout
from comity.play.specs import make_agent, make_game
from comity.testing import check_agent
from comity.training.experiment import make_experiment
from comity.training.options import Options
from comity.training.runner import create, run

KEY = jax.random.key(0)
RIDDLE = SwitchRiddle(switch=False)
SEATS = (0, 1, 2)


def small(**settings: Any) -> Any:
    return make_agent("dial", **{"network.width": 8, **settings})


def patient(agent: Any) -> Any:
    """A new state that would rather wait than tell, so that episodes go on and messages are heard."""
    state = agent.init(KEY, RIDDLE.spec, SEATS)
    net = eqx.tree_at(lambda net: net.values.bias, state.net, jnp.array([1.0, -1.0]))
    return state._replace(net=net, slow=net)


def played(agent: Any, params: Any, batch: int = 4) -> Any:
    occupants = (Occupant(SEATS, agent, add_group_axis(params)),)
    start = reset(RIDDLE, occupants, batch, KEY)
    return team_batch(rollout(RIDDLE, occupants, start, KEY, 6)[0], SEATS)


def test_the_unit_by_hand() -> None:
    """The bit is whether the message is above 0, not 0.5, and each message has its own noise."""
    message, noise = jnp.array([-0.2, 0.0, 0.3, 2.0]), jnp.array([1.0, -1.0, 0.5, 0.0])
    assert regularise(message, jnp.float32(0.0), noise).tolist() == [0, 0, 1, 1]
    expected = 1 / (1 + np.exp(-np.array([1.8, -2.0, 1.3, 2.0])))
    np.testing.assert_allclose(regularise(message, jnp.float32(2.0), noise), expected, rtol=1e-5)


def test_messages_go_to_whom_they_should() -> None:
    said, before = jnp.array([[1.0], [0.0], [0.5]]), jnp.array([[0.2], [0.2], [0.2]])
    spoke = jnp.array([True, False, True])
    assert small().transmit(before, said, spoke).tolist() == [[0.75]] * 3
    assert small(medium="others").transmit(before, said, spoke).tolist() == [[0.5], [0.75], [1.0]]
    nobody = small().transmit(before, said, jnp.zeros(3, jnp.bool_))
    np.testing.assert_allclose(nobody, before)  # the switch stays


def test_values_along_a_rollout_are_those_of_playing() -> None:
    """Step by step as in the rollout, with the same noise; greedy actions are where values are largest."""
    agent = small(**{"epsilon.start": 0.0, "epsilon.end": 0.0})
    state = patient(agent)
    batch = played(agent, agent.behaviour(state, jnp.float32(0.0)))
    values = agent.unroll(state.net, batch)
    np.testing.assert_array_equal(values.argmax(axis=-1), batch.action)
    # And by hand for the first game, as far as its first episode goes.
    carry = jax.tree.map(lambda x: x[:, 0], batch.carry)
    for time in range(6):
        if bool(batch.resets[time, 0, 0]):
            break
        obs = jax.tree.map(lambda x, time=time: x[time, :, 0], batch.obs)
        hidden, thought = agent.think(state.net, carry, obs)
        np.testing.assert_allclose(values[time, :, 0], thought.values, rtol=1e-4, atol=1e-5)
        said = regularise(thought.message, jnp.float32(2.0), batch.extras[time, :, 0])
        speaks = np.asarray(obs[1]).sum(axis=-1) > 1
        carry = carry._replace(hidden=hidden, heard=agent.transmit(carry.heard, said, jnp.asarray(speaks)))


def test_errors_travel_through_messages() -> None:
    """The gradient of later values in what decides messages, by finite differences."""
    agent = small()
    state = patient(agent)
    batch = played(agent, agent.behaviour(state, jnp.float32(0.0)))

    def later(bias: Any) -> Any:
        net = eqx.tree_at(lambda net: net.message.bias, state.net, bias)
        values = agent.unroll(net, batch)
        return jnp.where(values > -1e8, values, 0.0)[1:].sum()

    bias = jnp.array([0.1])
    gradient = float(jax.grad(later)(bias)[0])
    slope = float(later(bias + 0.05) - later(bias - 0.05)) / 0.1
    assert abs(gradient) > 1e-4
    assert gradient == pytest.approx(slope, rel=0.05)
    first = jax.grad(lambda bias: jnp.where(
        (v := agent.unroll(eqx.tree_at(lambda net: net.message.bias, state.net, bias), batch)) > -1e8, v, 0.0
    )[0].sum())(bias)  # fmt: skip
    assert float(first[0]) == 0.0  # nothing was said before the first step


@pytest.mark.long
def test_it_holds_the_contract_and_learns() -> None:
    check_agent(small(), RIDDLE, SEATS, batch=4)
    agent = small()
    state = patient(agent)
    batch = played(agent, agent.behaviour(state, jnp.float32(0.0)))
    after, metrics = agent.update(state, batch, Context(jnp.float32(0.0)), KEY)
    assert np.isfinite(metrics["loss"])
    assert not np.array_equal(after.net.message.weight, state.net.message.weight)
    with pytest.raises(ComityError, match="discrete"):
        agent.check(make_game("probe-target").spec, (0,))


def test_targets_by_hand() -> None:
    """The loss is the mean of (r + gamma max Q' - Q)^2 over steps whose successor is known."""
    agent = small(discount=0.9)
    state = patient(agent)
    batch = played(agent, agent.behaviour(state, jnp.float32(0.0)))
    values = np.asarray(agent.unroll(state.net, batch))
    total, count = 0.0, 0
    for t, s, g in np.ndindex(batch.reward.shape):
        over = bool(batch.terminated[t, s, g])
        if t == 5 and not over:
            continue
        target = float(batch.reward[t, s, g]) + (0.0 if over else 0.9 * values[t + 1, s, g].max())
        total += (target - values[t, s, g, int(batch.action[t, s, g])]) ** 2
        count += 1
    loss = agent.update(state, batch, Context(jnp.float32(0.0)), KEY)[1]["loss"]
    assert float(loss) == pytest.approx(total / count, rel=1e-4)


@pytest.mark.slow
def test_it_solves_the_switch_riddle(tmp_path: Any) -> None:
    """For three prisoners 95% of what is earned by who sees everything."""
    experiment = make_experiment(RIDDLE, make_agent("dial"), iterations=5000, batch=32)
    found = run(create(experiment, tmp_path / "run"), Options(tensorboard=False))
    assert np.mean([row["episode_return"] for row in found.metrics[-10:]]) >= 0.95 * RIDDLE.oracle
