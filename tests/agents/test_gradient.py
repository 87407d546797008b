"""PPO's and TRPO's updates: bounds that hold, rules that stop, and references that agree."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.agents.on_policy.kl import KLRule
from comity.agents.on_policy.ppo import PPO
from comity.agents.on_policy.trpo import TRPO, conjugate_gradient
from comity.core.agent import Agent, Context, add_group_axis
from comity.core.batch import Trajectory, team_batch
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.matchmaker import Occupant
from comity.core.spaces import Box
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.statistics import ReturnNorm
from comity.nets import MLP, Inputs
from comity.nets.distributions import Gaussian, SquashedGaussian
from comity.nets.layered import LayeredTorso
from comity.play.rollout import reset, rollout
from comity.play.specs import make_game
from comity.training.experiment import make_experiment
from comity.training.loop import advance, start

SMALL = MLP(width=8)
VALUES = Critic(network=SMALL, value_clip=0.2, norm=ReturnNorm(return_ema=0.01))
APART = Critic(network=SMALL, learning_rate=1e-3, norm=ReturnNorm(return_ema=0.01))


def played(agent: Agent, game: Environment, steps: int = 8) -> tuple[Any, Trajectory]:
    def run() -> tuple[Any, Trajectory]:
        state = agent.init(jax.random.key(0), game.spec, (0,))
        params = add_group_axis(agent.behaviour(state, jnp.float32(0.0)))
        occupants = (Occupant(tuple(range(len(game.seats))), agent, params),)
        envs = reset(game, occupants, 16, jax.random.key(1))
        return state, rollout(game, occupants, envs, jax.random.key(2), steps)[0]

    found: tuple[Any, Trajectory] = jax.jit(run)()
    return found


def learn(agent: Agent, state: Any, joint: Trajectory) -> tuple[Any, dict[str, Any]]:
    seats = tuple(range(len(joint.obs)))
    update = jax.jit(
        lambda s: agent.update(s, team_batch(joint, seats), Context(jnp.float32(0.0)), jax.random.key(3))
    )
    after, metrics = update(state)
    return after, metrics


def test_conjugate_gradients_solve() -> None:
    root = jax.random.normal(jax.random.key(0), (6, 6))
    matrix = root @ root.T + jnp.eye(6)
    target = jax.random.normal(jax.random.key(1), (6,))
    found = conjugate_gradient(lambda v: matrix @ v, target, 10)
    np.testing.assert_allclose(found, np.linalg.solve(np.asarray(matrix), np.asarray(target)), rtol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("game", ["prisoners-dilemma", "probe-target"])
def test_trpo_takes_the_natural_direction_and_keeps_its_bound(game: str) -> None:
    agent = TRPO(network=SMALL, critic=APART, max_kl=0.005, damping=0.01, conjugate_steps=40)
    state, joint = played(agent, make_game(game))
    after, metrics = learn(agent, state, joint)
    data = team_batch(joint, tuple(range(len(joint.obs))))
    unroll = jax.jit(lambda policy: policy.unroll(data.carry[0], data.obs, data.resets))
    before = unroll(state.policy)
    kl = float(before.kl(unroll(after.policy)).mean())
    np.testing.assert_allclose(metrics["kl"], kl, rtol=1e-3)
    assert 0.3 * 0.005 < kl <= 0.005 * 1.0001
    np.testing.assert_allclose(metrics["critic_learning_rate"], APART.learning_rate, rtol=1e-6)
    assert metrics["improvement"] > 0
    # The direction is that of the damped Fisher matrix's inverse, computed in full.
    flat, build = jax.flatten_util.ravel_pytree(state.policy)

    def divergence(params: Any) -> Any:
        return before.kl(build(params).unroll(data.carry[0], data.obs, data.resets)).mean()

    read = agent.critic_batch(state, data)

    @jax.jit
    def normalised_advantages() -> Any:
        values = agent.values(state.critic, state.policy, read)
        advantage = agent.critic.advantages(values, read, 0, agent.discount, agent.gae_lambda)
        return (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    advantage = normalised_advantages()

    def gain(params: Any) -> Any:
        now = build(params).unroll(data.carry[0], data.obs, data.resets)
        return (jnp.exp(now.log_prob(data.extras.raw) - data.extras.log_prob) * advantage).mean()

    fisher = np.asarray(jax.jit(jax.hessian(divergence))(flat), np.float64) + 0.01 * np.eye(len(flat))
    expected = np.linalg.solve(fisher, np.asarray(jax.jit(jax.grad(gain))(flat), np.float64))
    step = np.asarray(jax.flatten_util.ravel_pytree(after.policy)[0] - flat, np.float64)
    cosine = step @ expected / np.linalg.norm(step) / np.linalg.norm(expected)
    assert cosine > 0.999


def test_trpo_stays_where_nothing_can_be_gained() -> None:
    agent = TRPO(network=SMALL, critic=APART)
    state, joint = played(agent, make_game("prisoners-dilemma"))
    flat = joint._replace(step=joint.step._replace(reward=tuple(0.0 * r for r in joint.step.reward)))
    head = jax.tree.map(jnp.zeros_like, state.critic.head)
    state = state._replace(critic=eqx.tree_at(lambda critic: critic.head, state.critic, head))
    after, metrics = learn(agent, state, flat)
    for a, b in zip(jax.tree.leaves(after.policy), jax.tree.leaves(state.policy), strict=True):
        np.testing.assert_array_equal(a, b)
    assert float(metrics["kl"]) == 0.0


def test_an_update_ends_when_the_policy_has_moved_far_enough() -> None:
    game = make_game("prisoners-dilemma")
    bound = PPO(
        network=SMALL,
        critic=VALUES,
        optimiser=Adam(learning_rate=0.05, max_grad_norm=0.5),
        epochs=20,
        minibatches=2,
        kl=KLRule(target=0.01),
    )
    state, joint = played(bound, game)
    data = team_batch(joint, (0, 1))

    def moved(after: Any) -> float:
        now = after.policy.unroll(data.carry[0], data.obs, data.resets).log_prob(data.extras.raw)
        ratio = now - data.extras.log_prob
        return float((jnp.exp(ratio) - 1 - ratio).mean())

    near = learn(bound, state, joint)
    assert 0.0 < near[1]["steps_taken"] < 1.0
    assert 0.01 < moved(near[0]) < 0.05
    # Not even a later epoch goes on: the optimiser has seen as many steps as were taken.
    count = int(near[0].optimiser[1][0].count)
    assert count == round(float(near[1]["steps_taken"]) * 40)


@pytest.mark.long
def test_the_step_size_follows_the_divergence() -> None:
    game = make_game("prisoners-dilemma")
    paces = {}
    for target in (1e-6, 10.0):
        agent = PPO(network=SMALL, critic=VALUES, epochs=4, kl=KLRule(target=target, rule="adapt"))
        state, joint = played(agent, game)
        after, metrics = learn(agent, state, joint)
        paces[target] = float(after.pace)
        assert float(metrics["pace"]) == paces[target]
    assert paces[1e-6] == pytest.approx(1 / 1.5)
    assert paces[10.0] == pytest.approx(1.5)


@pytest.mark.long
def test_statistics_are_learned_frozen_in_players_and_in_the_checkpoint() -> None:
    network = MLP(width=8, inputs=Inputs(normalise=True))
    agent = PPO(network=network, critic=Critic(network=network, norm=ReturnNorm(return_ema=0.1)))
    experiment = make_experiment(make_game("simple-spread"), agent, iterations=2, batch=4, unroll=25)
    state, _ = jax.jit(lambda: advance(experiment, start(experiment), 2))()
    learner = state.learners[0]
    own = learner.policy.torso.normaliser
    assert float(own.count) == float(learner.critic.torso.normaliser.count) == 2 * 4 * 3 * 25
    assert np.std(np.asarray(own.variance)) > 0
    assert (
        float(learner.critic.statistics.weight) > 0
    )  # all of it is in the learner's state, so in the checkpoint
    params = agent.policy(learner)
    seen = experiment.game.seats[0].observation
    assert isinstance(seen, Box)
    obs = jnp.ones(seen.shape)
    carry = agent.initial_carry(params)
    _, carry, _ = agent.act(params, carry, obs, jax.random.key(0))
    assert isinstance(params.policy.torso, LayeredTorso)
    assert params.policy.torso.normaliser is own  # acting changes nothing


@pytest.mark.long
@pytest.mark.parametrize("where", ["batch", "minibatch", "scale", "none"])
def test_advantages_are_normalised_where_asked(where: Any) -> None:
    """With normalised advantages a thousandfold reward changes nothing for the policy, without it does."""
    agent = PPO(
        network=SMALL, critic=Critic(network=SMALL, value_coef=0.0), normalise_advantages=where, epochs=1
    )
    state, joint = played(agent, make_game("prisoners-dilemma"))
    head = jax.tree.map(jnp.zeros_like, state.critic.head)  # a critic that says nothing in any unit
    state = state._replace(critic=eqx.tree_at(lambda critic: critic.head, state.critic, head))
    rewards = tuple(1000.0 * r for r in joint.step.reward)
    rich = joint._replace(step=joint.step._replace(reward=rewards))
    losses = [float(learn(agent, state, what)[1]["loss"]) for what in (joint, rich)]
    assert np.isfinite(losses).all()
    same = abs(losses[1] - losses[0]) < 1e-3
    assert same == (where != "none")


@pytest.mark.parametrize("kind", [A2C, TRPO])
def test_what_has_no_minibatches_does_not_normalise_over_them(kind: Any) -> None:
    with pytest.raises(ComityError, match="normalise_advantages"):
        kind(normalise_advantages="minibatch")


def test_the_divergence_of_gaussians_is_exact() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    means, stds = ([0.5 * jax.random.normal(k, (3,)) for k in keys[i : i + 2]] for i in (0, 2))
    kinds: tuple[Any, ...] = (Gaussian, lambda m, s: SquashedGaussian(m, s, -1.0, 2.0))
    for kind in kinds:
        first, second = (kind(m, s) for m, s in zip(means, stds, strict=True))
        draws = jax.vmap(first.sample)(jax.random.split(jax.random.key(9), 200_000))
        sampled = jax.vmap(lambda x, p=first, q=second: p.log_prob(x) - q.log_prob(x))(draws).mean()
        np.testing.assert_allclose(first.kl(second), sampled, rtol=0.02)


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ComityError, match="max_kl"):
        TRPO(max_kl=0.0)
    with pytest.raises(ComityError, match="shared"):
        TRPO(critic=Critic(shared=True, learning_rate=1e-3))
    with pytest.raises(ComityError, match="popart"):
        PPO(critic=Critic(norm=ReturnNorm(popart=True, return_ema=0.0)))
    with pytest.raises(ComityError, match=r"kl\.target"):
        PPO(kl=KLRule(target=-1.0))
