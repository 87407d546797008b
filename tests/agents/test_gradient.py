"""PPO's and TRPO's updates: bounds that hold, rules that stop, and references that agree."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.gradient.ppo import PPO
from comity.agents.gradient.trpo import TRPO, conjugate_gradient
from comity.agents.streams import streams
from comity.core.errors import ComityError
from comity.core.spaces import Box
from comity.core.types import Agent, Environment, Experience, Trajectory
from comity.nets.distributions import Gaussian, SquashedGaussian
from comity.nets.torsos import Network
from comity.play.matchmaking import current_occupants
from comity.play.rollout import begin, rollout
from comity.play.specs import make_game
from comity.train.experiment import make_experiment
from comity.train.loop import advance, start

SMALL = Network(kind="mlp", width=8)


def played(agent: Agent, game: Environment, steps: int = 8) -> tuple[Any, Trajectory]:
    state = agent.init(jax.random.key(0), game.seats[0])
    seats = (tuple(range(len(game.seats))),)
    occupants = current_occupants((agent,), (agent.params(state),), seats)
    table = begin(game, occupants, 16, jax.random.key(1))
    return state, jax.jit(lambda t: rollout(game, occupants, t, jax.random.key(2), steps)[0])(table)


def learn(agent: Agent, state: Any, joint: Trajectory) -> tuple[Any, dict[str, Any]]:
    seats = tuple(range(len(joint.obs)))
    update = jax.jit(lambda s: agent.update(s, Experience(seats, joint, jnp.float32(0.0)), jax.random.key(3)))
    return update(state)


def test_conjugate_gradients_solve() -> None:
    root = jax.random.normal(jax.random.key(0), (6, 6))
    matrix = root @ root.T + jnp.eye(6)
    target = jax.random.normal(jax.random.key(1), (6,))
    found = conjugate_gradient(lambda v: matrix @ v, target, 10)
    np.testing.assert_allclose(found, np.linalg.solve(np.asarray(matrix), np.asarray(target)), rtol=1e-3)


@pytest.mark.parametrize("game", ["prisoners-dilemma", "probe-target"])
def test_trpo_takes_the_natural_direction_and_keeps_its_bound(game: str) -> None:
    agent = TRPO(network=SMALL, max_kl=0.005, damping=0.01, conjugate_steps=40)
    state, joint = played(agent, make_game(game))
    after, metrics = learn(agent, state, joint)
    data = streams(joint, tuple(range(len(joint.obs))))
    before = state.net.policy.unroll(data.carry[0], data.obs, data.resets)
    now = after.net.policy.unroll(data.carry[0], data.obs, data.resets)
    kl = float(before.kl(now).mean())
    np.testing.assert_allclose(metrics["kl"], kl, rtol=1e-3)
    assert 0.3 * 0.005 < kl <= 0.005 * 1.0001
    assert metrics["improvement"] > 0
    # The direction is that of the damped Fisher matrix's inverse, computed in full.
    flat, build = jax.flatten_util.ravel_pytree(state.net.policy)

    def divergence(params: Any) -> Any:
        return before.kl(build(params).unroll(data.carry[0], data.obs, data.resets)).mean()

    values = agent.values(state, Experience((0,), joint, jnp.float32(0.0)), data)
    advantage, _ = agent.advantages(data, values)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    def gain(params: Any) -> Any:
        now = build(params).unroll(data.carry[0], data.obs, data.resets)
        return (jnp.exp(now.log_prob(data.extras.raw) - data.extras.log_prob) * advantage).mean()

    fisher = np.asarray(jax.hessian(divergence)(flat), np.float64) + 0.01 * np.eye(len(flat))
    expected = np.linalg.solve(fisher, np.asarray(jax.grad(gain)(flat), np.float64))
    step = np.asarray(jax.flatten_util.ravel_pytree(after.net.policy)[0] - flat, np.float64)
    cosine = step @ expected / np.linalg.norm(step) / np.linalg.norm(expected)
    assert cosine > 0.999


def test_trpo_stays_where_nothing_can_be_gained() -> None:
    agent = TRPO(network=SMALL)
    state, joint = played(agent, make_game("prisoners-dilemma"))
    flat = joint._replace(step=joint.step._replace(reward=tuple(0.0 * r for r in joint.step.reward)))
    quiet = flat._replace(
        extras=tuple(e._replace(value=0.0 * e.value) for e in flat.extras),
        successor=tuple(e._replace(value=0.0 * e.value) for e in flat.successor),
    )
    after, metrics = learn(agent, state, quiet)
    for a, b in zip(jax.tree.leaves(after.net.policy), jax.tree.leaves(state.net.policy), strict=True):
        np.testing.assert_array_equal(a, b)
    assert float(metrics["kl"]) == 0.0


def test_an_update_ends_when_the_policy_has_moved_far_enough() -> None:
    game = make_game("prisoners-dilemma")
    bound = PPO(network=SMALL, epochs=20, learning_rate=0.05, minibatches=2, target_kl=0.01)
    state, joint = played(bound, game)
    data = streams(joint, (0, 1))

    def moved(after: Any) -> float:
        now = after.net.policy.unroll(data.carry[0], data.obs, data.resets).log_prob(data.extras.raw)
        ratio = now - data.extras.log_prob
        return float((jnp.exp(ratio) - 1 - ratio).mean())

    near = learn(bound, state, joint)
    assert 0.0 < near[1]["steps_taken"] < 1.0
    assert 0.01 < moved(near[0]) < 0.05
    # Not even a later epoch goes on: the optimiser has seen as many steps as were taken.
    count = int(near[0].optimiser[1][0].count)
    assert count == round(float(near[1]["steps_taken"]) * 40)


def test_the_step_size_follows_the_divergence() -> None:
    game = make_game("prisoners-dilemma")
    paces = {}
    for target in (1e-6, 10.0):
        agent = PPO(network=SMALL, epochs=4, target_kl=target, kl_rule="adapt")
        state, joint = played(agent, game)
        after, metrics = learn(agent, state, joint)
        paces[target] = float(after.pace)
        assert float(metrics["pace"]) == paces[target]
    assert paces[1e-6] == pytest.approx(1 / 1.5)
    assert paces[10.0] == pytest.approx(1.5)


def test_statistics_are_learned_frozen_in_players_and_in_the_checkpoint() -> None:
    agent = PPO(network=Network(kind="mlp", width=8, normalise=True), value_rate=0.1)
    experiment = make_experiment(make_game("simple-spread"), agent, iterations=2, batch=4, unroll=25)
    state, _ = jax.jit(lambda: advance(experiment, start(experiment), 2))()
    learner = state.learners[0]
    own = learner.net.policy.torso.normaliser
    assert float(own.count) == 2 * 4 * 3 * 25
    assert np.std(np.asarray(own.variance)) > 0
    assert float(learner.net.scale.weight) > 0  # all of it is in the learner's state, so in the checkpoint
    params = agent.params(learner)
    seen = experiment.game.seats[0].observation
    assert isinstance(seen, Box)
    obs = jnp.ones(seen.shape)
    carry = agent.start(params)
    _, carry, _ = agent.act(params, carry, obs, jax.random.key(0))
    assert params.policy.torso.normaliser is own  # acting changes nothing


@pytest.mark.parametrize("where", ["batch", "minibatch", "none"])
def test_advantages_are_normalised_where_asked(where: str) -> None:
    agent = PPO(network=SMALL, normalise_advantages=where)  # type: ignore[arg-type]
    state, joint = played(agent, make_game("prisoners-dilemma"))
    assert np.isfinite(float(learn(agent, state, joint)[1]["loss"]))


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
        TRPO(network=Network(shared=True))
    with pytest.raises(ComityError, match="popart"):
        PPO(popart=True, value_rate=0.0)
    with pytest.raises(ComityError, match="target_kl"):
        PPO(target_kl=-1.0)
