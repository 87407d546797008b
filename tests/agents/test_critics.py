"""What critics say step by step: units, clocks, memories, afterstates and their losses."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, PyTree

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.ppo import PPO
from comity.agents.shaping.adalign import AdvantageAlignment
from comity.agents.shaping.opponent_values import OwnView
from comity.core.batch import Trajectory, team_batch
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticValues, critic_values
from comity.learn.critics import Critic
from comity.learn.statistics import ReturnNorm, ReturnStatistics
from comity.nets import GRU, MLP, Inputs
from comity.nets.linear import Linear
from comity.play.specs import make_game
from tests.agents.shaped import (
    NOW,
    TABLE,
    Played,
    critic_loss_of,
    find,
    plain,
    plain_critic,
    plain_learner,
    played,
    quick_jit,
    shaken_critic,
)

DILEMMA = make_game("prisoners-dilemma").spec


@pytest.fixture(scope="module")
def dilemma() -> Played:
    return played(make_game("prisoners-dilemma", horizon=4), plain())


def says(settings: Critic, net: CriticNet, joint: Trajectory, seat: int) -> CriticValues:
    """What a critic with an empty memory says along one seat."""
    assert net.torso is not None
    torso = net.torso

    def say(joint: Trajectory) -> CriticValues:
        return critic_values(net, torso, settings.batch(team_batch(joint, (seat,)), None))

    found: CriticValues = quick_jit(say)(joint)
    return found


def test_values_in_other_units_are_the_same_values() -> None:
    one, ten = (
        Critic(network=TABLE, norm=ReturnNorm(unit=unit)).build(DILEMMA, (0,), jax.random.key(0), GRU(), 5)
        for unit in (1.0, 10.0)
    )
    features = jnp.eye(5)
    np.testing.assert_allclose(ten.read(features), 10.0 * one.read(features))


def test_a_critic_that_sees_the_time_knows_how_old_an_episode_is(dilemma: Played) -> None:
    settings = Critic(network=MLP(width=8, inputs=Inputs(clock=True)))
    net = shaken_critic(settings.build(DILEMMA, (0,), jax.random.key(0), GRU(), 5), 1)
    young, old = (
        says(settings, net, joint, 0).value[:, 0, :, 0]
        for joint in (dilemma.joint, dilemma.joint._replace(age=dilemma.joint.age + 500))
    )
    ended = np.asarray(dilemma.joint.step.truncated)
    first = np.cumsum(ended, axis=0) - ended == 0  # later episodes begin within the rollout
    assert np.all(np.abs(young - old)[first] > 1e-4)
    np.testing.assert_array_equal(young[~first], old[~first])


def looker(critic: CriticNet) -> Callable[..., Any]:
    """One step of a critic's memory, and the value that it sees."""

    def look(memory: PyTree, obs: Array) -> tuple[PyTree, Array]:
        assert critic.torso is not None
        memory, features = critic.torso.step(memory, obs)
        return memory, critic.read(features)[0, 0]

    return quick_jit(look)


def test_the_critics_memory_starts_anew_with_an_episode_and_looks_beyond_its_end(dilemma: Played) -> None:
    """A recurrent critic, step by step."""
    joint = dilemma.joint
    settings = Critic(network=GRU(width=4))
    net = shaken_critic(settings.build(DILEMMA, (0,), jax.random.key(0), GRU(), 5), 7)
    found = says(settings, net, joint, 1)
    look = looker(net)
    memory = net.torso.initial_carry()
    value, following = [], []
    for t in range(7):
        memory, now = look(memory, joint.obs[1][t, 0])
        value.append(float(now))
        following.append(float(look(memory, joint.step.obs[1][t, 0])[1]))
        if bool(joint.step.truncated[t, 0]):
            memory = net.torso.initial_carry()
    np.testing.assert_allclose(found.value[:, 0, 0, 0], value, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.next_value[:, 0, 0, 0], following, rtol=1e-4, atol=1e-5)


# ---- Afterstates ---------------------------------------------------------------------------------------


def haggler(gae_lambda: float = 0.8, opponent_values: OwnView | None = None) -> AdvantageAlignment:
    critic = plain_critic(network=GRU(width=4), kind="afterstate", td_lambda=0.7)
    learner = plain_learner(A2C, network=MLP(width=8), critic=critic, gae_lambda=gae_lambda)
    return plain(learner, opponent_values or OwnView())


@pytest.mark.long
def test_an_afterstate_is_valued_before_chance_draws() -> None:
    """Step by step: what the critic says of the next round with its values hidden, and the losses of both."""
    game = make_game("negotiation", horizon=4)
    agent = haggler()
    joint, state = played(game, agent)
    critic, drawn = state.critic, np.array(game.seats[0].resampled)
    torso = critic.torso
    assert torso is not None
    assert drawn.tolist() == [False] * 3 + [True] * 3 + [False] * 3 + [True] * 3 + [False] * 3
    found = says(agent.learner.critic, critic, joint, 0)

    look = looker(critic)
    ended, reward = np.asarray(joint.step.truncated), np.asarray(joint.step.reward[0])
    value, following = np.zeros(ended.shape), np.zeros(ended.shape)
    for i in range(ended.shape[1]):
        memory = torso.initial_carry()
        for t in range(len(ended)):
            memory, now = look(memory, joint.obs[0][t, i])
            value[t, i] = float(now)
            hidden = jnp.where(drawn, 0.0, joint.step.obs[0][t, i])
            following[t, i] = float(look(memory, hidden)[1])
            if ended[t, i]:
                memory = torso.initial_carry()
    np.testing.assert_allclose(found.value[:, 0, :, 0], value, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.next_value[:, 0, :, 0], following, rtol=1e-4, atol=1e-5)

    returns = np.zeros(ended.shape)
    for i in range(ended.shape[1]):
        for t in reversed(range(len(ended))):
            ahead = following[t, i]
            if t + 1 < len(ended) and not ended[t, i]:
                ahead = 0.3 * following[t, i] + 0.7 * returns[t + 1, i]
            returns[t, i] = reward[t, i] + 0.9 * ahead

    def huber(miss: np.ndarray) -> np.ndarray:
        return np.where(np.abs(miss) < 1, 0.5 * miss**2, np.abs(miss) - 0.5)

    goes_on = ~ended[:-1]
    losses = huber(value - returns).mean(), huber(following[:-1] - returns[1:])[goes_on].mean()
    state = state._replace(target=critic)
    own = haggler(opponent_values=OwnView(learn_from="own"))
    loss = quick_jit(critic_loss_of(own, (0,)))(state, joint)
    assert float(loss) == pytest.approx(np.mean(losses), rel=1e-4)
    everyone = quick_jit(critic_loss_of(agent, (0,)))(state, joint)
    assert abs(float(everyone) - float(loss)) > 1e-4  # it learns from the other's view too


@pytest.mark.long
def test_luck_is_no_advantage_to_a_critic_of_afterstates() -> None:
    """Other values drawn for the next round change nothing in what the last one was worth."""
    game = make_game("negotiation", horizon=None)
    agent = haggler(gae_lambda=0.0)
    joint, state = played(game, agent, steps=1)
    drawn = jnp.array(game.seats[0].resampled)
    luckier = jnp.where(drawn, 0.5 - joint.step.obs[0], joint.step.obs[0])
    other = joint._replace(step=joint.step._replace(obs=(luckier, joint.step.obs[1])))
    assert np.abs(luckier - joint.step.obs[0]).max() > 0.1
    own = [find(agent, Played(what, state), (0,)).own for what in (joint, other)]
    np.testing.assert_array_equal(own[0], own[1])


# ---- Normalised values ---------------------------------------------------------------------------------


def test_values_are_learned_in_units_of_their_spread() -> None:
    statistics = ReturnStatistics.initial(1)
    assert float(statistics.spread[0]) == 1.0
    draw = 50.0 + 4.0 * jax.random.normal(jax.random.key(0), (100, 100, 1))
    for _ in range(3):
        statistics = statistics.update(draw, jnp.ones((100, 100)), 0.1)
    np.testing.assert_allclose([statistics.centre[0], statistics.spread[0]], [50.0, 4.0], atol=0.1)
    there_and_back = statistics.normalise(statistics.denormalise(jnp.float32([0.3])))
    np.testing.assert_allclose(there_and_back, [0.3], atol=1e-6)


@pytest.mark.parametrize("actions", [0, 3])
def test_popart_keeps_what_the_head_says(actions: int) -> None:
    """For each kind of reward, whether the critic values states or actions."""
    each = max(actions, 1)
    head = Linear(5, 2 * each, 1.0, jax.random.key(0), True)
    start = ReturnStatistics.initial(2)
    before = start.update(jnp.full((2, 2, 2), 3.0), jnp.ones((2, 2)), 0.5)
    noise = jax.random.normal(jax.random.key(1), (20, 20, 2))
    draw = jnp.stack([50.0 + 4.0 * noise[..., 0], 9.0 * noise[..., 1] - 20.0], axis=-1)
    now = before.update(draw, jnp.ones((20, 20)), 0.1)

    def said(statistics: ReturnStatistics, head: Linear) -> Array:
        out = head(jax.random.normal(jax.random.key(2), (7, 5))).reshape(7, 2, each)
        return statistics.denormalise(jnp.moveaxis(out, -1, 0))

    np.testing.assert_allclose(
        said(now, now.rescale(head, before, each)), said(before, head), rtol=1e-4, atol=1e-3
    )
    assert np.abs(said(now, head) - said(before, head)).max() > 1.0


@pytest.mark.long
@pytest.mark.parametrize("kind", [A2C, PPO])
@pytest.mark.parametrize("unit", [1.0, 10.0])
def test_normalised_targets_have_mean_0_and_spread_1_in_any_unit(unit: float, kind: Any) -> None:
    """Returns around 50 are learned as numbers around 0, after an update of any learner."""
    critic = Critic(network=MLP(width=8), norm=ReturnNorm(return_ema=1.0, unit=unit), td_lambda=1.0)
    learner = plain_learner(kind, critic=critic)
    game = make_game("prisoners-dilemma", horizon=4)
    joint, state = played(game, learner, batch=40)
    rewards = tuple(50.0 + 4.0 * r for r in joint.step.reward)
    gone = jnp.ones_like(joint.step.terminated)  # each return is a reward
    joint = joint._replace(step=joint.step._replace(reward=rewards, terminated=gone))
    batch = team_batch(joint, (0, 1))
    after, _ = quick_jit(lambda s: learner.update(s, batch, NOW, jax.random.key(0)))(state)
    learned = np.asarray(after.critic.normalise(batch.reward[..., None]))
    np.testing.assert_allclose([learned.mean(), learned.std()], [0.0, 1.0], atol=1e-3)
    there_and_back = after.critic.denormalise(after.critic.normalise(batch.reward[..., None]))
    np.testing.assert_allclose(there_and_back[..., 0], batch.reward, rtol=1e-4)
