"""COMA and the plain centralised gradient: what their critic sees, advantages, and the exact gradient."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from comity.agents.on_policy.acting import Extras
from comity.agents.on_policy.central_pg import CentralPolicyGradient
from comity.agents.on_policy.coma import COMA
from comity.core.agent import Context
from comity.core.batch import SEAT_FIELDS, TeamBatch
from comity.core.errors import ComityError
from comity.learn.critics import Critic
from comity.learn.optimisers import Adam
from comity.learn.views import JointActions
from comity.nets.mlp import MLP
from comity.nets.tabular import Tabular
from comity.nets.torso import TorsoCarry
from comity.play.specs import make_agent, make_game
from tests.agents.off_policy import NON_MONOTONIC, TWO, batch_of, spec_of, with_everyone

# A critic without hidden layers is a table: one column for each own action, one row for what the other does.
TABLE = Critic(
    network=MLP(depth=0), view=JointActions(), kind="action-value", learning_rate=1e-3, value_coef=1.0
)
# With an epsilon as large as its step size, a step of Adam is the gradient itself.
AS_IT_IS = Adam(learning_rate=1e8, max_grad_norm=0.0, epsilon=1e8)
PAYOFFS = np.array([[3.0, -1.0], [0.5, 2.0]])
NOW = Context(jnp.float32(0.0))


def agent_of(kind: Any, **settings: Any) -> Any:
    given = {
        "network": Tabular(), "critic": TABLE, "optimiser": AS_IT_IS, "entropy_coef": 0.0, "discount": 1.0,
    }  # fmt: skip
    return kind(**{**given, **settings})


def with_extras(batch: TeamBatch, chances: np.ndarray) -> TeamBatch:
    """The batch as players with these chances [seat, action] had played it."""
    probabilities = jnp.broadcast_to(
        jnp.asarray(chances, jnp.float32)[None, :, None], (*batch.reward.shape, chances.shape[1])
    )
    log_prob = jnp.log(jnp.take_along_axis(probabilities, batch.action[..., None], -1)[..., 0])
    extras = Extras(batch.action, log_prob, probabilities, (), ())
    return with_everyone(batch).replace(extras=extras, bootstrap=extras, carry=(TorsoCarry(), ()))


def knowing(state: Any, payoffs: np.ndarray) -> Any:
    """The state with a critic that knows the payoffs: by own action (columns), for what the other does."""
    weight = jnp.zeros_like(state.critic.head.weight).at[2:].set(jnp.asarray(payoffs.T, jnp.float32))
    return state._replace(critic=eqx.tree_at(lambda net: net.head.weight, state.critic, weight))


def exact_gain(logits: Array, payoffs: Array) -> Array:
    """What a symmetric pair earns, as a function of both seats' one and the same logits."""
    policy = jax.nn.softmax(logits)
    return policy @ payoffs @ policy


@pytest.mark.parametrize("kind", [COMA, CentralPolicyGradient])
@pytest.mark.parametrize("paid", ["team", "own"])
def test_the_gradient_is_the_exact_one(kind: Any, paid: Any) -> None:
    """Every joint action as often as it is played: chances are quarters, so sixteen games are all of them."""
    chances = np.array([0.25, 0.75])
    symmetric = PAYOFFS + PAYOFFS.T  # so that one critic serves both seats
    joint = np.array([(a, b) for a in (0, 1, 1, 1) for b in (0, 1, 1, 1)])
    nothing = np.zeros(16, int)
    paid_out = symmetric[joint[:, 0], joint[:, 1]]
    batch = with_extras(
        batch_of(nothing, joint, paid_out, nothing, np.ones(16, bool), 1), np.stack([chances, chances])
    )
    agent = agent_of(kind, paid=paid)
    state = knowing(agent.init(jax.random.key(0), spec_of(1, 2), TWO), symmetric)
    logits = jnp.log(jnp.asarray(chances, jnp.float32))
    policy = eqx.tree_at(lambda policy: policy.head.linear.weight, state.policy, logits[None])
    state = state._replace(policy=policy, optimiser=agent.optimiser.build().init(policy))
    after, metrics = agent.update(state, batch, NOW, jax.random.key(1))
    step = after.policy.head.linear.weight[0] - logits
    # The loss is a mean over both seats, and each of them is one factor of the product.
    exact = jax.grad(exact_gain)(logits, jnp.asarray(symmetric, jnp.float32)) / 2
    np.testing.assert_allclose(step, exact, rtol=1e-4)
    np.testing.assert_allclose(metrics["value_loss"], 0.0, atol=1e-10)  # it knows the payoffs already


def played_at_random(actions: int = 3, games: int = 50, seed: int = 0) -> TeamBatch:
    draws = np.random.default_rng(seed)
    joint = draws.integers(0, actions, (games, 2))
    nothing = np.zeros(games, int)
    chances = draws.dirichlet(np.ones(actions), 2)
    batch = batch_of(nothing, joint, draws.normal(size=games), nothing, np.ones(games, bool), 1)
    return with_extras(batch, chances)


def test_the_counterfactual_advantage_has_mean_zero_under_the_seats_own_policy() -> None:
    agent = agent_of(COMA, critic=Critic(network=MLP(width=16), view=JointActions(), kind="action-value"))
    state = agent.init(jax.random.key(3), spec_of(1, 3), TWO)
    big = eqx.tree_at(lambda net: net.head.weight, state.critic, 30.0 * state.critic.head.weight)
    state, batch = state._replace(critic=big), played_at_random()
    read = agent.critic_batch(state, batch)
    values = agent.values(state.critic, state.policy, read)
    mean, largest = jnp.zeros(batch.reward.shape), 0.0
    for own in range(3):
        # Only the seat's own action is another one: what the others do, and so what is read, stays.
        other = batch.replace(action=jnp.full_like(batch.action, own))
        advantage = agent.own_advantages(values, read, other)
        largest = max(largest, float(jnp.abs(advantage).max()))
        mean = mean + batch.extras.probabilities[..., own] * advantage
    np.testing.assert_allclose(mean, 0.0, atol=1e-5)
    assert largest > 0.5
    played = agent.own_advantages(values, read, batch)
    expected = values.chosen[..., 0] - values.value[..., 0]
    np.testing.assert_allclose(played, expected, atol=1e-5)


def test_the_critic_sees_what_the_others_do_and_not_what_the_seat_does() -> None:
    game = make_game("simple-spread")
    agent = make_agent("coma")
    space = JointActions().space(game.spec, (0, 1, 2))
    assert isinstance(space, tuple)
    assert len(space) == 3 + 2  # what all see, what two others do
    batch = with_extras(
        batch_of([0, 1], [[0, 1], [1, 0]], [0.0, 0.0], [1, 0], [False, False], 2), np.full((2, 2), 0.5)
    )
    *seen, other = JointActions().read(batch)
    assert len(seen) == 2
    np.testing.assert_array_equal(other[:, 0], batch.action[:, 1])
    np.testing.assert_array_equal(other[:, 1], batch.action[:, 0])
    with pytest.raises(ComityError, match=r"critic\.view joint-actions needs discrete actions: use joint"):
        JointActions().space(make_game("simple-spread", continuous=True).spec, (0, 1, 2))
    with pytest.raises(ComityError, match="use mappo"):
        agent.check(make_game("simple-spread", continuous=True).spec, (0, 1, 2))
    with pytest.raises(ComityError, match=r"critic\.kind = 'value'"):
        COMA(critic=Critic())


def test_targets_are_those_of_sarsa_lambda_and_know_truncation_from_termination() -> None:
    """Three steps of one game side by side in two copies: one ends by the rules, the other by the clock."""
    agent = agent_of(COMA, critic=dataclasses.replace(TABLE, td_lambda=0.5), discount=0.5, paid="own")
    steps = batch_of([0, 0], [[0, 1], [1, 1]], [0.0, 0.0], [0, 0], [False, False], 1)

    def stretched(x: Array) -> Array:
        return jnp.concatenate([x, x, x])

    fields = {name: jax.tree.map(stretched, getattr(steps, name)) for name in SEAT_FIELDS}
    batch = steps.replace(**fields, state=stretched(steps.state), next_state=stretched(steps.next_state))
    action = jnp.asarray([[[0, 1], [1, 0]], [[1, 1], [0, 0]], [[1, 0], [1, 1]]], jnp.int32)
    reward = jnp.asarray([[[1.0, 2.0]] * 2, [[3.0, 4.0]] * 2, [[5.0, 6.0]] * 2])
    ends = jnp.zeros((3, 2, 2), jnp.bool_).at[2].set(True)
    rules, clock = ends.at[..., 1].set(False), ends.at[..., 0].set(False)
    batch = batch.replace(action=action, reward=reward, terminated=rules, truncated=clock)
    chances = np.array([[0.25, 0.75], [0.5, 0.5]])
    state = knowing(agent.init(jax.random.key(0), spec_of(1, 2), TWO), PAYOFFS)
    batch = with_extras(batch, chances)
    drawn = batch.bootstrap._replace(raw=1 - batch.action)  # what would be done next, where nothing was
    batch = batch.replace(bootstrap=drawn)
    read = agent.critic_batch(state, batch)
    values = agent.values(state.critic, state.policy, read)
    found = agent.critic.targets(values, values, read, 0.5).chosen[..., 0]
    for seat, game in np.ndindex(2, 2):
        own, other = np.asarray(action)[:, seat, game], np.asarray(action)[:, 1 - seat, game]
        q = PAYOFFS[own, other]
        # Past the last step, over one's own chances beside what the other would have done.
        beyond = chances[seat] @ PAYOFFS[:, 1 - other[2]] if game == 1 else 0.0
        last = 5.0 + game + 0.5 * beyond
        middle = 3.0 + game + 0.5 * (0.5 * q[2] + 0.5 * last)
        first = 1.0 + game + 0.5 * (0.5 * q[1] + 0.5 * middle)
        np.testing.assert_allclose(found[:, seat, game], [first, middle, last], rtol=1e-5)


def test_a_team_is_paid_the_mean_and_a_rival_its_own() -> None:
    batch = played_at_random(games=4)
    unlike = batch.replace(reward=batch.reward.at[:, 1].add(2.0))
    for paid, expected in (("team", (1.0, 1.0)), ("own", (0.0, 2.0))):
        agent = agent_of(COMA, paid=paid)
        read = agent.critic_batch(agent.init(jax.random.key(0), spec_of(1, 3), TWO), unlike)
        for seat, more in enumerate(expected):
            np.testing.assert_allclose(read.reward[:, seat, :, 0], batch.reward[:, 0] + more, rtol=1e-5)


@pytest.mark.parametrize("kind", [COMA, CentralPolicyGradient])
def test_it_learns_a_game_in_which_the_best_action_depends_on_the_other(kind: Any) -> None:
    """The non-monotonic game from its safe corner left out: [[8, -12], [-12, 0]] with both inclined to 8."""
    payoffs = NON_MONOTONIC[:2, :2]
    chances = np.array([[0.75, 0.25]] * 2)
    joint = np.array([(a, b) for a in (0, 0, 0, 1) for b in (0, 0, 0, 1)])
    nothing = np.zeros(16, int)
    batch = with_extras(
        batch_of(nothing, joint, payoffs[joint[:, 0], joint[:, 1]], nothing, np.ones(16, bool), 1), chances
    )
    eager = dataclasses.replace(TABLE, learning_rate=0.2)
    agent = agent_of(kind, optimiser=Adam(learning_rate=0.05), critic=eager)
    state = agent.init(jax.random.key(0), spec_of(1, 2), TWO)
    learn = eqx.filter_jit(agent.update)
    for step in range(60):
        state, _ = learn(state, batch, NOW, jax.random.key(step))
    logits = state.policy.head.linear.weight[0]
    assert float(logits[0] - logits[1]) > 1.0  # 3 of 4 others are at 8: 8 x .75 - 12 x .25 = 3 beside -9
