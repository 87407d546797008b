"""Advantage Alignment as agents: their gradients, what they are blind to, and every way to set them up."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jaxtyping import Array, PyTree

from comity.agents.critics import Critic, estimate
from comity.agents.shaping.actor_critic import ShapingActorCritic, ShapingState
from comity.agents.shaping.adalign import AdvantageAlignment
from comity.agents.shaping.aligned import AlignedAgent
from comity.agents.shaping.proximal_adalign import ProximalAdvantageAlignment
from comity.agents.streams import minibatches, pick, streams
from comity.core.errors import ComityError
from comity.core.spaces import Discrete
from comity.core.types import Agent, Environment, Experience, PerSeat, Seat, TimeStep, Trajectory
from comity.nets.torsos import Network
from comity.play.matchmaking import AgentReplayBuffer, SelfPlay, current_occupants
from comity.play.rollout import begin, rollout
from comity.play.specs import agent_from_data, make_agent, make_game
from comity.returns.dice import loaded_dice_objective, loaded_dice_values
from comity.train import loop
from comity.train.experiment import Experiment, make_experiment

TABLE = Network(kind="tabular")
PLAIN: dict[str, Any] = {  # nothing but the equations
    "network": TABLE, "critic_network": TABLE, "entropy": 0.0, "max_gradient": 1e9, "past": "discounted",
    "discount": 0.9, "own_trace": 0.8, "past_trace": 0.0, "opponent_trace": 0.5, "normalise": "none",
    "target_rate": 0.05,
}  # fmt: skip
NOW = jnp.float32(0.0)


def quick_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled without optimisation: these programs run once."""
    options = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(function, compiler_options=options)


class Played(NamedTuple):
    """A rollout with ends in the middle, and a learner whose policy and critic are not trivial."""

    joint: Trajectory
    state: ShapingState


def played(game: Environment, agent: ShapingActorCritic, steps: int = 7, batch: int = 3) -> Played:
    def run() -> Played:
        state = agent.init(jax.random.key(0), game.seats[0])
        state = state._replace(policy=shaken(state.policy, 1), critic=shaken(state.critic, 2))
        seating = (tuple(range(len(game.seats))),)
        occupants = current_occupants((agent,), (agent.params(state),), seating)
        table = begin(game, occupants, batch, jax.random.key(3))
        return Played(rollout(game, occupants, table, jax.random.key(4), steps)[0], state)

    result: Played = quick_jit(run)()
    return result


def shaken(tree: PyTree, seed: int, size: float = 1.0) -> PyTree:
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    noise = [x + size * jax.random.normal(k, x.shape, x.dtype) for x, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(structure, noise)


@pytest.fixture(scope="module")
def dilemma() -> Played:
    return played(make_game("prisoners-dilemma", horizon=4), AdvantageAlignment(**PLAIN))


@pytest.fixture(scope="module")
def goods() -> Played:
    return played(make_game("public-goods", players=3, horizon=3), AdvantageAlignment(**PLAIN))


# ---- The aligned advantage against slow loops ----------------------------------------------------------


def slow_advantages(
    agent: ShapingActorCritic,
    state: ShapingState,
    joint: Trajectory,
    trace: float,
    action_values: bool = False,
) -> np.ndarray:
    """[seat, time, game], from the tables of the critic and the policy."""
    table = np.asarray(state.critic.head.weight)
    if action_values:
        policy = np.asarray(jax.nn.softmax(state.policy.head.linear.weight))
        table = (table * policy).sum(axis=1, keepdims=True)
    ended = np.asarray(joint.step.terminated | joint.step.truncated)
    time, games = ended.shape
    found = np.zeros((len(joint.obs), time, games))
    for seat in range(len(joint.obs)):
        now, following = np.asarray(joint.obs[seat]), np.asarray(joint.step.obs[seat])
        reward = np.asarray(joint.step.reward[seat])
        for game in range(games):
            for t in range(time):
                weight = 1.0
                for k in range(t, time):
                    difference = reward[k, game] + agent.discount * table[following[k, game], 0]
                    found[seat, t, game] += weight * (difference - table[now[k, game], 0])
                    weight *= agent.discount * trace
                    if ended[k, game]:
                        break
    return found


def slow_terms(agent: AlignedAgent, joint: Trajectory, past: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Equation 66 in the form of equation 10: for each seat the sum over the others, [seat, time, game]."""
    ended = np.asarray(joint.step.terminated | joint.step.truncated)
    found = np.zeros(past.shape)
    seats, time, games = past.shape
    for seat in range(seats):
        for game in range(games):
            for t in range(time):
                total = 0.0
                for k in range(t - 1, -1, -1):
                    if ended[k, game]:
                        break
                    total += agent.discount ** (t - k) * past[seat, k, game]
                for other in range(seats):
                    if other != seat:
                        found[seat, t, game] += agent.discount * total * others[other, t, game]
    return found


def side_by_side(by_seat: np.ndarray, seats: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([by_seat[seat] for seat in seats], axis=1)


def test_minibatches_are_whole_streams_and_all_of_them() -> None:
    parts = np.asarray(minibatches(jax.random.key(0), 12, 3, 4))
    assert parts.shape == (12, 3)
    for epoch in parts.reshape(3, 12):
        assert sorted(epoch) == list(range(12))
    with pytest.raises(ComityError, match="minibatches"):
        minibatches(jax.random.key(0), 10, 1, 4)


def test_streams_are_picked_with_their_memories_and_ages(dilemma: Played) -> None:
    joint = dilemma.joint._replace(age=jnp.arange(3, dtype=jnp.int32))
    data = streams(joint, (0, 1))
    part, reward = pick(jnp.array([4, 1]), data, data.reward)
    np.testing.assert_array_equal(part.age, [1, 1])
    np.testing.assert_array_equal(reward, data.reward[:, jnp.array([4, 1])])
    np.testing.assert_array_equal(part.obs, data.obs[:, jnp.array([4, 1])])
    for own, all_ in zip(jax.tree.leaves(part.carry), jax.tree.leaves(data.carry), strict=True):
        np.testing.assert_array_equal(own, all_[jnp.array([4, 1])])


def test_values_in_other_units_are_the_same_values() -> None:
    seat = make_game("prisoners-dilemma").seats[0]
    one, ten = (Critic(TABLE, None, seat, 1, "value", jax.random.key(0), unit) for unit in (1.0, 10.0))
    features = jnp.eye(5)
    np.testing.assert_allclose(ten.read(features), 10.0 * one.read(features))


def test_a_critic_that_sees_the_time_knows_how_old_an_episode_is(dilemma: Played) -> None:
    network = Network(kind="mlp", width=8, clock=True)
    seat = make_game("prisoners-dilemma").seats[0]
    critic = shaken(Critic(network, None, seat, 1, "value", jax.random.key(0)), 1)
    assert critic.torso is not None
    young, old = (
        estimate(critic, critic.torso, streams(joint, (0,)), joint.step.obs[0]).value
        for joint in (dilemma.joint, dilemma.joint._replace(age=dilemma.joint.age + 500))
    )
    ended = np.asarray(dilemma.joint.step.truncated)
    first = np.cumsum(ended, axis=0) - ended == 0  # later episodes begin within the rollout
    assert np.all(np.abs(young - old)[first, 0] > 1e-4)
    np.testing.assert_array_equal(young[~first], old[~first])


@pytest.mark.parametrize("seats", [(0, 1, 2), (2, 0)])
def test_three_players_sum_over_the_others(goods: Played, seats: tuple[int, ...]) -> None:
    agent = AdvantageAlignment(**PLAIN, weight=0.7)
    joint, state = goods
    assert np.asarray(joint.step.truncated).any()
    found = quick_jit(lambda s, j: agent.shaped(s, Experience(seats, j, NOW)))(state, joint)
    own, past, others = (slow_advantages(agent, state, joint, trace) for trace in (0.8, 0.0, 0.5))
    term = slow_terms(agent, joint, past, others)
    np.testing.assert_allclose(found.own, side_by_side(own, seats), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.term, side_by_side(term, seats), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.total, side_by_side(own + 0.7 * term, seats), rtol=1e-4, atol=1e-4)
    assert np.abs(found.term).max() > 0.1


def test_goodwill_counts_as_a_past_that_went_well(goods: Played) -> None:
    joint, state = goods
    plain, kind = (
        quick_jit(lambda s, j, a=agent: a.shaped(s, Experience((0,), j, NOW)))(state, joint)
        for agent in (AdvantageAlignment(**PLAIN), AdvantageAlignment(**PLAIN, goodwill=0.3))
    )
    others = slow_advantages(AdvantageAlignment(**PLAIN), state, joint, 0.5)
    np.testing.assert_allclose(kind.past, plain.past + 0.3, rtol=1e-5)
    np.testing.assert_allclose(kind.term, plain.term + 0.3 * (others[1] + others[2]), rtol=1e-3, atol=1e-4)


def test_masks_act_on_each_pair_of_players(goods: Played) -> None:
    agent = AdvantageAlignment(**PLAIN, without=("empathetic", "vengeful"))
    joint, state = goods
    found = quick_jit(lambda s, j: agent.shaped(s, Experience((0,), j, NOW)))(state, joint)
    others = slow_advantages(agent, state, joint, 0.5)
    expected = np.zeros(found.term.shape)
    for other in (1, 2):
        product = np.asarray(found.past) * others[other]
        expected += np.where(product > 0, product, 0.0)
    np.testing.assert_allclose(found.term, expected, rtol=1e-4, atol=1e-4)


def test_action_values_mean_over_the_policy(dilemma: Played) -> None:
    """With an action-value critic, V is the mean of Q under the policy that was played."""
    agent = AdvantageAlignment(**PLAIN, critic="action-value")
    seat = make_game("prisoners-dilemma").seats[0]
    critic = shaken(Critic(TABLE, None, seat, 1, "action-value", jax.random.key(0)), 7)
    joint, state = dilemma.joint, dilemma.state._replace(critic=critic)
    found = quick_jit(lambda s, j: agent.shaped(s, Experience((0, 1), j, NOW)))(state, joint)
    own, past, others = (slow_advantages(agent, state, joint, trace, True) for trace in (0.8, 0.0, 0.5))
    np.testing.assert_allclose(found.own, side_by_side(own, (0, 1)), rtol=1e-4, atol=1e-4)
    term = slow_terms(agent, joint, past, others)
    np.testing.assert_allclose(found.term, side_by_side(term, (0, 1)), rtol=1e-4, atol=1e-4)


def looker(critic: Critic) -> Callable[..., Any]:
    """One step of a critic's memory, and the value that it sees."""

    def look(memory: PyTree, obs: Array) -> tuple[PyTree, Array]:
        assert critic.torso is not None
        memory, features = critic.torso.step(memory, obs)
        return memory, critic.read(features)[0, 0]

    return quick_jit(look)


def test_the_critics_memory_starts_anew_with_an_episode_and_looks_beyond_its_end(dilemma: Played) -> None:
    """A recurrent critic, step by step."""
    joint, seat = dilemma.joint, make_game("prisoners-dilemma").seats[0]
    net = Network(kind="gru", width=4)
    critic = quick_jit(lambda k: shaken(Critic(net, None, seat, 1, "value", k), 7))(jax.random.key(0))
    torso = critic.torso
    data = streams(joint, (1,))
    found = quick_jit(lambda d, o: estimate(critic, torso, d, o))(data, joint.step.obs[1])

    look = looker(critic)
    memory = torso.start()
    value, following = [], []
    for t in range(7):
        memory, now = look(memory, joint.obs[1][t, 0])
        value.append(float(now))
        following.append(float(look(memory, joint.step.obs[1][t, 0])[1]))
        if bool(joint.step.truncated[t, 0]):
            memory = torso.start()
    np.testing.assert_allclose(found.value[:, 0, 0], value, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.next_value[:, 0, 0], following, rtol=1e-4, atol=1e-5)


NEGOTIATION: dict[str, Any] = {
    **PLAIN, "network": Network(kind="mlp", width=8), "critic_network": Network(kind="gru", width=4),
    "critic": "after-state", "critic_trace": 0.7,
}  # fmt: skip


def test_an_after_state_is_valued_before_chance_draws() -> None:
    """Step by step: what the critic says of the next round with its values hidden, and the losses of both."""
    game = make_game("negotiation", horizon=4)
    agent = AdvantageAlignment(**NEGOTIATION)
    joint, state = played(game, agent)
    critic, torso, drawn = state.critic, state.critic.torso, np.array(game.seats[0].drawn)
    assert torso is not None
    assert drawn.tolist() == [False] * 3 + [True] * 3 + [False] * 3 + [True] * 3 + [False] * 3
    data = streams(joint, (0,))
    found = quick_jit(lambda d, o: estimate(critic, torso, d, o))(data, joint.step.obs[0])

    look = looker(critic)
    ended, reward = np.asarray(joint.step.truncated), np.asarray(joint.step.reward[0])
    value, following = np.zeros(ended.shape), np.zeros(ended.shape)
    for i in range(ended.shape[1]):
        memory = torso.start()
        for t in range(len(ended)):
            memory, now = look(memory, joint.obs[0][t, i])
            value[t, i] = float(now)
            hidden = jnp.where(drawn, 0.0, joint.step.obs[0][t, i])
            following[t, i] = float(look(memory, hidden)[1])
            if ended[t, i]:
                memory = torso.start()
    np.testing.assert_allclose(found.value[..., 0], value, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.next_value[..., 0], following, rtol=1e-4, atol=1e-5)

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
    state = state._replace(critic=critic, target=critic)
    own = AdvantageAlignment(**NEGOTIATION, learn_from="own")
    loss = quick_jit(critic_loss_of(own, (0,)))(state, joint)
    assert float(loss) == pytest.approx(np.mean(losses), rel=1e-4)
    everyone = quick_jit(critic_loss_of(agent, (0,)))(state, joint)
    assert abs(float(everyone) - float(loss)) > 1e-4  # it learns from the other's view too


def test_luck_is_no_advantage_to_a_critic_of_after_states() -> None:
    """Other values drawn for the next round change nothing in what the last one was worth."""
    game = make_game("negotiation", horizon=None)
    agent = AdvantageAlignment(**{**NEGOTIATION, "own_trace": 0.0})
    joint, state = played(game, agent, steps=1)
    drawn = jnp.array(game.seats[0].drawn)
    luckier = jnp.where(drawn, 0.5 - joint.step.obs[0], joint.step.obs[0])
    other = joint._replace(step=joint.step._replace(obs=(luckier, joint.step.obs[1])))
    assert np.abs(luckier - joint.step.obs[0]).max() > 0.1
    advantage = quick_jit(lambda s, j: agent.shaped(s, Experience((0,), j, NOW)).own)
    np.testing.assert_array_equal(advantage(state, joint), advantage(state, other))


def test_only_the_critic_learns_at_first() -> None:
    game = make_game("prisoners-dilemma", horizon=4)
    agent = AdvantageAlignment(**PLAIN, critic_first=0.5)
    joint, state = played(game, agent)
    state = state._replace(target=state.critic)
    update = quick_jit(lambda s, j, p: agent.update(s, Experience((0, 1), j, p), jax.random.key(0))[0])
    for progress, moves in ((0.4, False), (0.5, True)):
        after = update(state, joint, jnp.float32(progress))
        assert eqx.tree_equal(after.policy, state.policy) is not moves
        assert not eqx.tree_equal(after.critic, state.critic)


# ---- Gradients -----------------------------------------------------------------------------------------


def update(agent: AlignedAgent, state: ShapingState, joint: Trajectory, seats: tuple[int, ...]) -> Any:
    """The gradients that an update applies, read off Adam's memory (a tenth of them after one step)."""
    after, _ = quick_jit(lambda s, j: agent.update(s, Experience(seats, j, NOW), jax.random.key(0)))(
        state, joint
    )
    memories = (after.policy_memory, after.critic_memory)
    return tuple(jax.tree.map(lambda m: 10.0 * m, optax.tree.get(memory, "mu")) for memory in memories)


PLAIN_ALIGNMENT = AdvantageAlignment(**PLAIN, weight=0.6)


@pytest.fixture(scope="module")
def learned(dilemma: Played) -> Any:
    """The gradients of policy and critic in an update of the plain agent."""
    return update(PLAIN_ALIGNMENT, dilemma.state, dilemma.joint, (0, 1))


def table_log_prob(weight: Array, obs: Array, action: Array) -> Array:
    return jax.nn.log_softmax(weight)[obs, action]


def dice_gradient(agent: AlignedAgent, played: Played, value_discount: float, timed: bool = False) -> Array:
    """Of the mean over all streams of the loaded-DiCE objective, by the table of the policy."""
    joint, state = played
    own, past, others = (
        slow_advantages(agent, state, joint, trace)
        for trace in (agent.own_trace, agent.past_trace, agent.opponent_trace)
    )
    ended = joint.step.terminated | joint.step.truncated
    time = np.zeros(ended.shape, np.float32)
    for t in range(1, len(time)):
        time[t] = np.where(ended[t - 1], 0, time[t - 1] + 1)
    outer = jnp.asarray(agent.discount**time if timed else np.ones_like(time))

    def stream(lp: Array, mine: Array, earlier: Array, theirs: Array, end: Array, start: Array) -> Array:
        shaped = loaded_dice_values(lp, theirs, end, value_discount)
        alone = loaded_dice_objective(lp, mine, end, agent.discount if timed else 1.0)
        return alone + agent.weight * agent.discount * (start * earlier * shaped).sum()

    def objective(weight: Array) -> Array:
        total = jnp.float32(0.0)
        for seat in range(2):
            log_prob = table_log_prob(weight, joint.obs[seat], joint.action[seat])
            parts = [jnp.asarray(x, jnp.float32) for x in (own[seat], past[seat], others[1 - seat])]
            total += jax.vmap(stream, in_axes=1)(log_prob, parts[0], parts[1], parts[2], ended, outer).sum()
        return -total / (2 * ended.size)

    return quick_jit(jax.grad(objective))(state.policy.head.linear.weight)


def test_gradient_is_that_of_the_loaded_dice_objective(dilemma: Played, learned: Any) -> None:
    """Equation 10 as it is used: own advantages times what the other's action will be worth to it."""
    agent = PLAIN_ALIGNMENT
    policy, _ = learned
    expected = dice_gradient(agent, dilemma, agent.discount)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(policy.head.linear.weight, expected, rtol=1e-3, atol=1e-5)
    selfish = AdvantageAlignment(**PLAIN, weight=0.0)
    alone = dice_gradient(selfish, dilemma, agent.discount)
    assert np.abs(np.asarray(alone) - expected).max() > 0.01  # the alignment term is felt


def test_gradient_with_discounted_time_is_equation_8(dilemma: Played) -> None:
    agent = AdvantageAlignment(**PLAIN, weight=0.6, discount_time=True)
    policy, _ = update(agent, dilemma.state, dilemma.joint, (0, 1))
    expected = dice_gradient(agent, dilemma, agent.discount**2, timed=True)
    np.testing.assert_allclose(policy.head.linear.weight, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_proximal_gradient(dilemma: Played, learned: Any, shift: float) -> None:
    """At ratio 1 that of `adalign`; elsewhere equation 9: where the bound is passed, nothing is learned."""
    joint, state = dilemma
    settings = PLAIN | {"weight": 0.6, "epochs": 1, "clip": 0.2}
    agent = ProximalAdvantageAlignment(**settings)
    state = state._replace(policy=shaken(state.policy, 5, shift))
    policy, critic = update(agent, state, joint, (0, 1))
    plain = PLAIN_ALIGNMENT
    data = streams(joint, (0, 1))
    total = np.asarray(
        quick_jit(lambda s, j: plain.shaped(s, Experience((0, 1), j, NOW)).total)(state, joint)
    )
    weight = state.policy.head.linear.weight
    ratio = np.asarray(jnp.exp(table_log_prob(weight, data.obs, data.action) - data.extras.log_prob))
    active = np.where(total > 0, ratio <= 1.2, ratio >= 0.8)
    if shift:
        assert 0 < active.sum() < active.size
        assert ((total > 0) & (ratio > 1.2)).any()
        assert ((total < 0) & (ratio < 0.8)).any()
    else:
        np.testing.assert_allclose(ratio, 1.0, rtol=1e-5)
    factor = jnp.asarray(np.where(active, ratio * total, 0.0), jnp.float32)
    expected = jax.grad(lambda w: -(factor * table_log_prob(w, data.obs, data.action)).mean())(weight)
    np.testing.assert_allclose(policy.head.linear.weight, expected, rtol=1e-3, atol=1e-5)
    if not shift:
        simple_policy, simple_critic = learned
        np.testing.assert_allclose(
            policy.head.linear.weight, simple_policy.head.linear.weight, rtol=1e-3, atol=1e-6
        )
        np.testing.assert_allclose(critic.head.weight, simple_critic.head.weight, rtol=1e-4, atol=1e-6)


# ---- Detached, never reused, copied --------------------------------------------------------------------


def critic_loss_of(agent: ShapingActorCritic, seats: tuple[int, ...]) -> Callable[..., Array]:
    def loss(state: ShapingState, joint: Trajectory) -> Array:
        lesson = agent.lesson(joint, seats)
        return agent.critic_loss(agent.says(state.critic, state.policy.torso, lesson), state, lesson)

    return loss


def aligned_sum(agent: AlignedAgent, played: Played) -> Callable[[PyTree], Array]:
    def total(learnt: PyTree) -> Array:
        policy, critic, target = learnt
        state = played.state._replace(policy=policy, critic=critic, target=target)
        found = agent.shaped(state, Experience((0, 1), played.joint, NOW))
        return sum((x.sum() for x in found), jnp.float32(0.0))

    return total


def largest(tree: PyTree) -> float:
    return max(float(jnp.abs(x).max()) for x in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))


def test_advantages_are_detached(dilemma: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = AdvantageAlignment(**PLAIN)
    learnt = (dilemma.state.policy, dilemma.state.critic, dilemma.state.target)
    gradient = quick_jit(jax.grad(aligned_sum(agent, dilemma)))(learnt)
    assert largest(gradient) == 0.0
    # And this would be seen if they were not.
    monkeypatch.setattr(jax.lax, "stop_gradient", lambda x: x)
    leaky = quick_jit(jax.grad(aligned_sum(agent, dilemma)))(learnt)
    assert largest(leaky) > 0.1


def test_the_policys_loss_does_not_train_the_critic(dilemma: Played, learned: Any) -> None:
    """The critic's gradient in an update is that of its own loss, to targets that are constants."""
    joint, state = dilemma
    agent = PLAIN_ALIGNMENT
    table, slow = np.asarray(state.critic.head.weight), np.asarray(state.target.head.weight)
    assert not np.allclose(table, slow)  # targets come from the slow copy
    returns = slow_advantages(agent, state._replace(critic=state.target), joint, agent.critic_trace)
    expected = np.zeros_like(table)
    for seat in (0, 1):
        obs = np.asarray(joint.obs[seat])
        error = table[obs, 0] - (slow[obs, 0] + returns[seat])
        np.add.at(expected[:, 0], obs, np.clip(error, -1.0, 1.0) / (2 * obs.size))  # of the Huber loss
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(learned[1].head.weight, expected, rtol=1e-3, atol=1e-5)


class WitnessState(NamedTuple):
    """How often it learned, and the keys that it saw being used, [iteration, ...]."""

    learnings: Array
    acted: Array
    stepped: Array
    learned: Array


class WitnessGame(Environment):
    """Its state holds the key of the last step, or of the start."""

    horizon: int | None = 3
    family = "probe"
    symmetric = True

    @property
    def seats(self) -> PerSeat[Seat]:
        return tuple(Seat(name, Discrete(2), Discrete(2)) for name in "ab")

    def reset(self, key: Array) -> tuple[PyTree, PerSeat[PyTree]]:
        return (jax.random.key_data(key), jnp.int32(0)), (jnp.int32(0),) * 2

    def step(self, key: Array, state: PyTree, actions: PerSeat[PyTree]) -> tuple[PyTree, TimeStep]:
        time = state[1] + 1
        no, yes = jnp.bool_(False), jnp.bool_(True)
        step = TimeStep((jnp.int32(0),) * 2, (jnp.float32(0.0),) * 2, no, time >= 3, (yes, yes))
        return (jax.random.key_data(key), time), step


class Witness(Agent):
    """Writes down all keys; its parameters say how often it has learned."""

    iterations: int = 4

    def check(self, seat: Seat) -> None:
        pass

    def init(self, key: Array, seat: Seat) -> WitnessState:
        shape = (self.iterations, 5, 2, 4, 2)
        zeros = jnp.zeros(shape, jnp.uint32)
        return WitnessState(jnp.int32(0), zeros, zeros[:, :, 0], jnp.zeros((self.iterations, 2), jnp.uint32))

    def params(self, state: WitnessState) -> PyTree:
        return state.learnings

    def start(self, params: PyTree) -> PyTree:
        return ()

    def act(self, params: PyTree, carry: PyTree, obs: PyTree, key: Array) -> tuple[PyTree, PyTree, PyTree]:
        return jnp.int32(0), carry, jax.random.key_data(key)

    def update(self, state: WitnessState, experience: Experience, key: Array) -> tuple[PyTree, dict]:
        joint, now = experience.joint, state.learnings
        return WitnessState(
            now + 1,
            state.acted.at[now].set(jnp.stack(joint.extras, axis=1)),
            state.stepped.at[now].set(joint.view[0]),
            state.learned.at[now].set(jax.random.key_data(key)),
        ), {"count": now.astype(jnp.float32)}


@pytest.mark.parametrize("matchmaker", [SelfPlay(), AgentReplayBuffer(capacity=8, every=1, groups=2)])
def test_keys_are_never_reused_and_buffers_hold_copies(matchmaker: Any) -> None:
    experiment = make_experiment(
        WitnessGame(), Witness(), matchmaker=matchmaker, iterations=4, batch=4, unroll=5
    )
    state = quick_jit(lambda: loop.start(experiment))()
    state, _ = quick_jit(lambda s: loop.advance(experiment, s, 4))(state)
    seen = state.learners[0]
    assert int(seen.learnings) == 4
    # Every iteration, step, seat and game acts with a key of its own, and so do games and updates. A game's
    # key is seen in its state; the last state of a rollout is the first of the next.
    acted, learned = np.asarray(seen.acted).reshape(-1, 2), np.asarray(seen.learned)
    stepped = np.asarray(seen.stepped)
    for keys in (acted, learned, np.concatenate([stepped[:1, :1], stepped[:, 1:]], axis=None).reshape(-1, 2)):
        assert len(np.unique(keys, axis=0)) == len(keys)
    assert len(np.unique(np.concatenate([acted, learned]), axis=0)) == len(acted) + len(learned)
    if isinstance(matchmaker, AgentReplayBuffer):
        # The start and the parameters after each iteration, not five times the present ones.
        assert np.asarray(state.pool.past[0]).tolist() == [0, 1, 2, 3, 4, 0, 0, 0]


# ---- Every way to set it up ----------------------------------------------------------------------------

SMALL = Network(kind="mlp", width=4)
SHARED = Network(kind="mlp", width=4, shared=True)
DISCRETE, CONTINUOUS = ("prisoners-dilemma", {"horizon": 3}), ("negotiation", {"horizon": 3})
WAYS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "own view, two learners": (DISCRETE, {}, {"share": False}),
    "own view, action values, slow copy, past selves": (
        DISCRETE,
        {"critic": "action-value", "target_rate": 0.01, "normalise": "standardise"},
        {"matchmaker": AgentReplayBuffer(capacity=4, every=1, groups=2)},
    ),
    "own view, minibatches, past selves": (
        DISCRETE,
        {"minibatches": 2, "value_unit": 5.0, "critic_network": Network(kind="mlp", width=4, clock=True)},
        {"matchmaker": AgentReplayBuffer(capacity=4, every=1, groups=2)},
    ),
    "learned, action values": (DISCRETE, {"opponent_critic": "learned", "critic": "action-value"}, {}),
    "learned, continuous, shared encoder": (
        CONTINUOUS,
        {"opponent_critic": "learned", "network": SHARED},
        {},
    ),
    "given, shared encoder, action values": (
        DISCRETE,
        {"opponent_critic": "given", "critic": "action-value", "network": SHARED},
        {},
    ),
    "given, continuous, clipped": (
        CONTINUOUS,
        {
            "opponent_critic": "given",
            "network": SMALL,
            "critic_network": SMALL,
            "normalise": "scale",
            "advantage_clip": 1.0,
            "past_clip": 1.0,
        },
        {},
    ),
}


def iterated(experiment: Experiment) -> tuple[Any, Any, dict[str, Array]]:
    def run() -> Any:
        before = loop.start(experiment)
        after, metrics = loop.iterate(experiment, before)
        return before.learners, after.learners, metrics

    return quick_jit(run)()


@pytest.mark.parametrize("way", WAYS)
def test_every_way_learns(way: str) -> None:
    (name, settings), fields, how = WAYS[way]
    cls = ProximalAdvantageAlignment if "past selves" in way else AdvantageAlignment
    agent = cls(**({"network": TABLE, "critic_network": TABLE} | fields))
    experiment = make_experiment(make_game(name, **settings), agent, batch=4, **how)
    before, after, metrics = iterated(experiment)
    assert len(after) == (2 if how.get("share") is False else 1)
    for leaf in jax.tree.leaves(eqx.filter(after, eqx.is_inexact_array)):
        assert bool(jnp.all(jnp.isfinite(leaf)))
    assert all(bool(jnp.isfinite(value)) for value in metrics.values())
    for old, new in zip(before, after, strict=True):
        assert largest(jax.tree.map(jnp.subtract, old.policy, new.policy)) > 0
        assert largest(jax.tree.map(jnp.subtract, old.critic, new.critic)) > 0
        moved = largest(jax.tree.map(jnp.subtract, old.target, new.target))
        if agent.target_rate < 1:
            assert 0 < moved < 0.02 * largest(jax.tree.map(jnp.subtract, old.critic, new.critic))
    if len(after) == 2:  # they are two, not one twice
        assert largest(jax.tree.map(jnp.subtract, after[0].policy, after[1].policy)) > 0


@pytest.mark.parametrize("other", ["tit-for-tat", "adalign"])
def test_it_learns_beside_players_of_another_kind(other: str) -> None:
    """Its own critic reads the others' view and rewards; what they remember and record is theirs."""
    game = make_game("prisoners-dilemma", horizon=3)
    shape = {"network.kind": "mlp", "network.stack": 2, "critic_network.kind": "tabular"}
    opponent = make_agent(other, game, **(shape if other == "adalign" else {}))
    agent = AdvantageAlignment(network=TABLE, critic_network=TABLE)
    before, after, metrics = iterated(make_experiment(game, (agent, opponent), batch=4))
    assert bool(metrics["finite"])
    assert largest(jax.tree.map(jnp.subtract, before[0].policy, after[0].policy)) > 0


def test_a_seat_that_left_is_not_aligned_with(dilemma: Played) -> None:
    """After the second player has left, its advantage is no part of anybody's term."""
    joint, state = dilemma
    stays = jnp.zeros((7, 3), jnp.bool_).at[0].set(True)
    joint = joint._replace(
        alive=(joint.alive[0], jnp.concatenate([stays[:1], stays[:-1]])),
        step=joint.step._replace(alive=(joint.step.alive[0], stays)),
    )
    found = quick_jit(lambda s, j: PLAIN_ALIGNMENT.shaped(s, Experience((0,), j, NOW)))(state, joint)
    assert np.abs(found.past[2:]).max() > 0.1
    np.testing.assert_array_equal(found.term[2:], 0.0)


# ---- Bad input, refused before anything is compiled ----------------------------------------------------

CLASSES = [AdvantageAlignment, ProximalAdvantageAlignment]
NAMES = ["adalign", "proximal-adalign"]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -float("inf")])
def test_a_weight_that_is_not_finite(weight: float) -> None:
    for cls, name in zip(CLASSES, NAMES, strict=True):
        with pytest.raises(ComityError, match=r"weight = .* must be a finite number"):
            cls(weight=weight)
        with pytest.raises(ComityError, match=r"weight = .* must be a finite number"):
            make_agent(name, weight=weight)
        with pytest.raises(ComityError, match=r"agents\[0\].weight = .* a finite number"):
            agent_from_data({"name": name, "weight": weight}, "matrix", "agents[0]")


@pytest.mark.parametrize("without", [("mean",), ("cooperative", "kind"), "vengeful"])
@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_does_not_exist(without: Any) -> None:
    allowed = "one of cooperative, empathetic, vengeful, spiteful"
    for cls, name in zip(CLASSES, NAMES, strict=True):
        with pytest.raises(ComityError, match=allowed):
            cls(without=without)
        data = {"name": name, "without": without if isinstance(without, str) else list(without)}
        with pytest.raises(ComityError, match="must be a list" if isinstance(without, str) else allowed):
            agent_from_data(data, "matrix", "agents[0]")


@pytest.mark.parametrize(
    "settings",
    [
        {"discount": 1.5},
        {"past_discount": -0.1},
        {"own_trace": 2.0},
        {"target_rate": 0.0},
        {"learning_rate": 0.0},
        {"max_gradient": -1.0},
        {"past": "yesterday"},
        {"critic": "both"},
        {"opponent_critic": "stolen"},
        {"normalise": "always"},
        {"goodwill": float("inf")},
    ],
)
def test_other_settings_out_of_range(settings: dict[str, Any]) -> None:
    (field,) = settings
    for name in NAMES:
        with pytest.raises(ComityError, match=f"{field} = .* is not possible: it must be"):
            make_agent(name, **settings)


def test_a_table_cannot_read_numbers() -> None:
    negotiation = make_game("negotiation")
    for name in NAMES:
        for part in ("network", "critic_network"):
            agent = make_agent(name, negotiation, **{f"{part}.kind": "tabular"})
            with pytest.raises(ComityError, match="tabular network needs a discrete observation"):
                make_experiment(negotiation, agent)


def test_action_values_need_choices() -> None:
    for name in NAMES:
        with pytest.raises(ComityError, match="needs discrete actions: use critic value"):
            make_experiment(make_game("negotiation"), make_agent(name, critic="action-value"))


def test_given_values_need_players_that_record_them() -> None:
    game = make_game("prisoners-dilemma", horizon=3)
    agent = AdvantageAlignment(**PLAIN, opponent_critic="given")
    experiment = make_experiment(game, (agent, make_agent("tit-for-tat", game)), batch=2)
    with pytest.raises(ComityError, match="use own-view or learned"):
        jax.eval_shape(lambda: loop.iterate(experiment, loop.start(experiment)))


def test_an_own_view_needs_others_that_see_the_same() -> None:
    agent = AdvantageAlignment(network=SMALL, critic_network=SMALL)
    experiment = make_experiment(make_game("probe-odd-seats"), agent, share=False, batch=2)
    with pytest.raises(ComityError, match="own-view"):
        jax.eval_shape(lambda: loop.iterate(experiment, loop.start(experiment)))
