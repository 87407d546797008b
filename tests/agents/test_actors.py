"""Actors off policy: known answers, and the traps of popular code."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import comity
from comity.agents.off_policy.actors import ReplayActorAgent
from comity.agents.off_policy.ddpg import DDPG
from comity.agents.off_policy.maddpg import CENTRAL, MADDPG
from comity.agents.off_policy.masac import MASAC
from comity.agents.off_policy.sac import SAC
from comity.agents.off_policy.td3 import TD3
from comity.core.agent import Context, Player
from comity.core.errors import ComityError
from comity.core.spaces import Box, Discrete
from comity.learn.action_numbers import from_numbers, to_numbers
from comity.learn.actor_batch import read_batch
from comity.learn.optimisers import Adam
from comity.learn.q_critics import QCritic
from comity.learn.replay import UniformReplay
from comity.learn.schedules import Linear
from comity.learn.temperature import Temperature
from comity.learn.views import Joint, Team
from comity.nets.mlp import MLP
from comity.nets.tabular import Tabular
from comity.play.most_likely import most_likely
from tests.agents.actor_batches import ONE_PLACE, REAL, Quadratic, bandit, learn, spec_for, steps_for

NOW = Context(jnp.float32(0.0))
STEADY: dict[str, Any] = {"optimiser": Adam(learning_rate=0.02, max_grad_norm=0.0), "target_tau": 0.1}
TABLES: dict[str, Any] = {**STEADY, "network": Tabular()}
REWARDS = np.array([1.0, 0.5, -1.0])
CHOICES = bandit(Discrete(3), jnp.arange(3), REWARDS)


def fixed(start: float) -> Temperature:
    return Temperature(start=start, learning_rate=0.0)


def numbers_bandit(count: int = 256) -> Any:
    """Numbers drawn evenly around 2, paid minus the square of how far they are from it."""
    actions = jnp.linspace(-1.0, 5.0, count)[:, None]
    return bandit(REAL, actions, -np.square(np.asarray(actions[:, 0]) - 2.0))


def chances(agent: Any, state: Any, count: int, obs: Any = 0) -> np.ndarray:
    params = agent.policy(state)
    carry = agent.initial_carry(params)
    return np.asarray(agent.action_probabilities(params, carry, jnp.int32(obs), count))


# ---- Known answers -------------------------------------------------------------------------------------


def test_soft_choices_are_proportional_to_exponentials_of_values() -> None:
    agent = SAC(**TABLES, temperature=fixed(0.5))
    found = chances(agent, learn(agent, spec_for(ONE_PLACE, Discrete(3)), CHOICES, 800), 3)
    wanted = np.exp(REWARDS / 0.5)
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=0.005)


def test_soft_numbers_are_normal_with_variance_half_the_temperature() -> None:
    agent = SAC(**TABLES, critic=QCritic(network=Quadratic(), count=2), temperature=fixed(0.5))
    state = learn(agent, spec_for(ONE_PLACE, REAL), numbers_bandit(), 1500)
    _, drawing = state.actor.step(state.actor.torso.initial_carry(), jnp.int32(0))
    np.testing.assert_allclose(drawing.mean, [2.0], atol=0.05)
    np.testing.assert_allclose(np.exp(2 * drawing.log_std), [0.25], rtol=0.1)


def test_the_temperature_holds_its_target() -> None:
    """A normal distribution's entropy says its variance, and half the temperature is that variance."""
    sought = Temperature(learning_rate=0.01, per_number=0.5)
    agent = SAC(**TABLES, critic=QCritic(network=Quadratic(), count=2), temperature=sought)
    state = learn(agent, spec_for(ONE_PLACE, REAL), numbers_bandit(), 2500)
    variance = np.exp(2 * 0.5) / (2 * np.pi * np.e)
    np.testing.assert_allclose(np.exp(state.log_temperature), 2 * variance, rtol=0.1)


def test_each_seat_has_a_temperature_of_its_own() -> None:
    """Two seats of one team: the target entropy is the same, what is at stake is not."""
    nowhere, ends = jnp.zeros(3, jnp.int32), jnp.ones(3, jnp.bool_)
    actions = (jnp.arange(3), jnp.arange(3))
    stakes = (jnp.asarray(REWARDS, jnp.float32), jnp.asarray(4 * REWARDS, jnp.float32))
    batch = steps_for((0, 1), (nowhere, nowhere + 1), actions, stakes, (nowhere, nowhere + 1), ends)
    agent = SAC(**TABLES, temperature=Temperature(learning_rate=0.02, of_choices=0.5))
    state = learn(agent, spec_for(Discrete(2), Discrete(3), Discrete(3)), batch, 2000)
    for seat in range(2):
        found = chances(agent, state, 3, seat)
        np.testing.assert_allclose(-(found * np.log(found)).sum(), 0.5 * np.log(3), rtol=0.02)
    first, second = np.exp(state.log_temperature)
    np.testing.assert_allclose(second / first, 4.0, rtol=0.1)


@pytest.mark.parametrize("choices", ["exact", "gumbel"])
@pytest.mark.parametrize("kind", [DDPG, TD3, SAC])
def test_the_best_choice_is_found(kind: Any, choices: Any) -> None:
    network = MLP(width=16, depth=1)
    agent = kind(**{**STEADY, "network": network}, choices=choices)
    found = chances(agent, learn(agent, spec_for(ONE_PLACE, Discrete(3)), CHOICES, 300), 3)
    assert int(np.argmax(found)) == 0
    assert found[0] > 0.5


@pytest.mark.parametrize("kind", [DDPG, TD3])
def test_the_best_number_is_found_within_its_bounds(kind: Any) -> None:
    """Bounds that are not around 0: 2 is best, and 5 is the middle."""
    space = Box((1,), 0.0, 10.0)
    actions = jnp.linspace(0.0, 10.0, 64)[:, None]
    batch = bandit(space, actions, -0.1 * np.square(np.asarray(actions[:, 0]) - 2.0))
    agent = kind(**TABLES, critic=QCritic(network=Quadratic(), count=1 + (kind is TD3)))
    spec = spec_for(ONE_PLACE, space)
    state = learn(agent, spec, batch, 800)
    player = most_likely(Player(agent, agent.policy(state), spec))
    np.testing.assert_allclose(player.act(0), [2.0], atol=0.1)


@pytest.mark.parametrize("kind", [DDPG, TD3, SAC, MADDPG, MASAC])
@pytest.mark.parametrize("action", [Box((2,), -3.0, 1.0), Discrete(3)])
def test_the_actor_follows_the_gradient_of_its_critic(kind: Any, action: Any) -> None:
    """Beside finite differences of the critic's value of what the actor does, with the same draws."""
    central = kind in (MADDPG, MASAC)
    settings: dict[str, Any] = {"view": Joint()} if central else {}
    agent = kind(network=MLP(width=8, depth=1), critic=QCritic(network=Quadratic(), count=2, **settings))
    spec = spec_for(Box((2,)), action, action)
    draws = jax.random.split(jax.random.key(0), 6)
    obs = tuple(jax.random.normal(draws[i], (5, 2)) for i in range(2))
    done = tuple(
        jax.vmap(lambda key: comity.core.spaces.sample(action, key))(jax.random.split(draws[2 + i], 5))
        for i in range(2)
    )
    paid = (jnp.zeros(5, jnp.float32),) * 2
    batch = steps_for((0, 1), obs, done, paid, obs, jnp.ones(5, jnp.bool_))
    state = agent.init(jax.random.key(1), spec, (0, 1))
    larger = eqx.tree_at(lambda state: state.actor.head.weight, state, 30 * state.actor.head.weight)
    state = larger._replace(critics=jax.tree.map(lambda x: 10 * x, state.critics))
    read = read_batch(batch, agent.critic.view, state.actor, state.critics, state.slow_critics, 0)
    flat, whole = ravel_pytree(state.actor)

    def loss(numbers: Any) -> Any:
        return agent.actor_loss(whole(numbers), state, read, {}, draws[5])[0]

    # Step by step: as one program it is not a number where XLA leaves out LLVM's expensive passes.
    gradient = jax.grad(loss)(flat)
    assert float(jnp.linalg.norm(gradient)) > 0.01
    direction = gradient / jnp.linalg.norm(gradient)
    step = 1e-2
    measured = (loss(flat + step * direction) - loss(flat - step * direction)) / (2 * step)
    np.testing.assert_allclose(measured, jnp.linalg.norm(gradient), rtol=0.02)


@pytest.mark.parametrize(("kind", "updates"), [(DDPG, 5), (TD3, 10), (SAC, 5)])
def test_slow_copies_follow_geometrically(kind: Any, updates: int) -> None:
    """With TD3 as often as its actor learns: in every other update."""
    agent = kind(network=Tabular(), target_tau=0.2, optimiser=Adam(learning_rate=1e-12))
    state = agent.init(jax.random.key(0), spec_for(ONE_PLACE, Discrete(3)), (0,))
    state = state._replace(slow_critics=jax.tree.map(lambda x: x + 1.0, state.critics))
    if state.slow_actor is not None:
        state = state._replace(slow_actor=jax.tree.map(lambda x: x + 1.0, state.actor))
    update = eqx.filter_jit(agent.update)
    for _ in range(updates):
        state, _ = update(state, CHOICES, NOW, jax.random.key(1))
    copies = [(state.slow_critics, state.critics)]
    copies += [] if state.slow_actor is None else [(state.slow_actor, state.actor)]
    for slow, now in copies:
        for old, new in zip(jax.tree.leaves(slow), jax.tree.leaves(now), strict=True):
            np.testing.assert_allclose(old - new, np.full(new.shape, 0.8**5), rtol=1e-4)


# ---- Traps ---------------------------------------------------------------------------------------------


def chain(ending: bool) -> Any:
    """Place 0 leads to place 1, which pays 1 and ends: by the game's rules, or by the clock."""
    place, following = jnp.array([0, 1]), jnp.array([1, 0])
    action, paid = jnp.zeros(2, jnp.int32), jnp.array([0.0, 1.0])
    over, cut = jnp.array([False, ending]), jnp.array([False, not ending])
    return steps_for((0,), (place,), (action,), (paid,), (following,), over, cut)


@pytest.mark.parametrize("kind", [DDPG, TD3, SAC, MADDPG])
def test_what_ends_by_the_clock_is_worth_what_would_have_followed(kind: Any) -> None:
    agent = kind(**TABLES, discount=0.5)
    spec = spec_for(Discrete(2), Discrete(1))
    for ending, wanted in ((True, [0.5, 1.0]), (False, [2 / 3, 4 / 3])):
        batch = chain(ending)
        state = learn(agent, spec, batch, 700)
        read = read_batch(batch, agent.critic.view, state.actor, state.critics, state.slow_critics, 0)
        for values in read.played_values(state.critics):
            np.testing.assert_allclose(values[0, 0], wanted, atol=0.02)


def test_entropy_counts_only_where_the_game_goes_on_and_is_discounted() -> None:
    agent = SAC(**TABLES, discount=0.5, temperature=fixed(3.0))
    spec = spec_for(Discrete(2), Discrete(2))
    place, following = jnp.array([0, 1]), jnp.array([1, 0])
    over = jnp.array([False, True])
    batch = steps_for((0,), (place,), (jnp.array([0, 1]),), (jnp.array([1.0, 2.0]),), (following,), over)
    state = agent.init(jax.random.key(0), spec, (0,))
    state = state._replace(slow_critics=jax.tree.map(jnp.zeros_like, state.critics))
    state = state._replace(actor=jax.tree.map(jnp.zeros_like, state.actor))  # which plays evenly
    read = read_batch(batch, agent.critic.view, state.actor, state.critics, state.slow_critics, 0)
    target, entropy = agent.targets(state, read, {}, jax.random.key(0))
    np.testing.assert_allclose(entropy[0, 0], np.log([2.0, 2.0]), rtol=1e-5)
    np.testing.assert_allclose(target[0, 0], [1.0 + 0.5 * 3.0 * np.log(2.0), 2.0], rtol=1e-5)


@pytest.mark.parametrize("kind", [DDPG, TD3, SAC])
def test_the_loss_of_a_batch_is_the_mean_of_its_steps(kind: Any) -> None:
    """A target [batch] beside a value [batch, 1] would compare each step with all others."""
    settings: dict[str, Any] = {"temperature": fixed(1e-6)} if kind is SAC else {}
    agent = kind(network=MLP(width=8, depth=1), **settings)
    spec = spec_for(Box((2,)), Discrete(3))
    keys = jax.random.split(jax.random.key(0), 3)
    obs, following = (jax.random.normal(key, (6, 2)) for key in keys[:2])
    action = jnp.arange(6) % 3
    paid, over = jnp.arange(6.0), jnp.arange(6) == 4
    state = agent.init(keys[2], spec, (0,))
    update = eqx.filter_jit(agent.update)

    def loss(part: Any) -> float:
        one = (x[part] for x in (obs, action, paid, following, over))
        seen, done, reward, after, ends = one
        batch = steps_for((0,), (seen,), (done,), (reward,), (after,), ends)
        return float(update(state, batch, NOW, keys[0])[1]["loss"])

    alone = [loss(slice(i, i + 1)) for i in range(6)]
    np.testing.assert_allclose(loss(slice(None)), np.mean(alone), rtol=1e-4)


@pytest.mark.parametrize("kind", [DDPG, TD3, MADDPG])
def test_noise_falls_with_progress_and_not_with_acts(kind: Any) -> None:
    """It is centred on the action, in units of half the range, and off in evaluation."""
    space = Box((1,), 0.0, 10.0)
    agent = kind(network=Tabular(), noise=Linear(start=0.2, end=0.1, over=0.5))
    state = agent.init(jax.random.key(0), spec_for(ONE_PLACE, space), (0,))
    obs, carry = jnp.int32(0), agent.initial_carry(agent.policy(state))
    keys = jax.random.split(jax.random.key(1), 4000)

    def acts(params: Any) -> np.ndarray:
        return np.asarray(jax.vmap(lambda key: agent.act(params, carry, obs, key).action[0])(keys))

    for progress, share in ((0.0, 0.2), (0.25, 0.15), (0.5, 0.1), (1.0, 0.1)):
        params = agent.behaviour(state, jnp.float32(progress))
        for part in np.split(acts(params), 2):  # the later half is as noisy as the earlier one
            np.testing.assert_allclose(part.std(), share * 5.0, rtol=0.06)
    middle = acts(agent.policy(state))
    assert np.unique(middle).size == 1
    np.testing.assert_allclose(acts(params).mean(), middle[0], atol=0.03)


def test_evaluation_is_without_noise_for_choices_too() -> None:
    agent = DDPG(network=Tabular(), noise=Linear(start=1.0, end=0.5, over=1.0))
    state = agent.init(jax.random.key(0), spec_for(ONE_PLACE, Discrete(4)), (0,))
    sharp = eqx.tree_at(lambda state: state.actor.head.weight, state, jnp.array([[20.0, 0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(chances(agent, sharp, 4), [1, 0, 0, 0], atol=1e-4)
    params = agent.behaviour(sharp, jnp.float32(1.0))
    noisy = agent.action_probabilities(params, agent.initial_carry(params), jnp.int32(0), 4)
    np.testing.assert_allclose(noisy, [0.625, 0.125, 0.125, 0.125], atol=1e-4)


def test_smoothing_is_scaled_and_limited_by_the_bounds() -> None:
    space = Box((1,), -3.0, 1.0)
    agent = TD3(network=Tabular(), smoothing=0.2, smoothing_clip=0.3)
    state = agent.init(jax.random.key(0), spec_for(ONE_PLACE, space), (0,))
    drawing: Any = state.actor.step(state.actor.torso.initial_carry(), jnp.int32(0))[1]
    keys = jax.random.split(jax.random.key(1), 4000)
    numbers = jax.vmap(lambda key: agent.next_play(state.actor, drawing, key).numbers)(keys)
    noise = np.asarray(from_numbers(space, numbers) - from_numbers(space, jnp.tanh(drawing.mean))[None])
    np.testing.assert_allclose([noise.min(), noise.max()], [-0.6, 0.6], atol=1e-5)
    np.testing.assert_allclose(noise.std(), 0.4 * 0.882, rtol=0.05)  # of a normal number cut at 1.5


def test_actions_as_numbers_and_back() -> None:
    space = Box((2, 1), -1.0, 3.0)
    action = jnp.array([[[-1.0], [1.0]], [[2.0], [3.0]]])
    numbers = to_numbers(space, action)
    np.testing.assert_allclose(numbers, [[-1.0, 0.0], [0.5, 1.0]])
    np.testing.assert_allclose(from_numbers(space, numbers), action)
    assert from_numbers(Discrete(3), to_numbers(Discrete(3), jnp.array([2, 0]))).tolist() == [2, 0]


# ---- Central critics -----------------------------------------------------------------------------------


def test_a_critic_of_the_team_learns_its_mean_reward() -> None:
    """Two seats whose choices add up: one value for both, which both climb."""
    pairs = np.array(list(np.ndindex(3, 3)))
    nowhere, ends = jnp.zeros(9, jnp.int32), jnp.ones(9, jnp.bool_)
    actions = tuple(jnp.asarray(pairs[:, i]) for i in range(2))
    paid = tuple(jnp.asarray(REWARDS[pairs[:, i]], jnp.float32) for i in range(2))
    batch = steps_for((0, 1), (nowhere,) * 2, actions, paid, (nowhere,) * 2, ends)
    agent = MADDPG(
        **{**STEADY, "network": MLP(width=16, depth=1)}, choices="gumbel", critic=QCritic(view=Team()),
        output_coef=0.0,
    )  # fmt: skip
    state = learn(agent, spec_for(ONE_PLACE, Discrete(3), Discrete(3)), batch, 500)
    read = read_batch(batch, agent.critic.view, state.actor, state.critics, state.slow_critics, 0)
    assert read.rows == 1
    np.testing.assert_allclose(read.played_values(state.critics)[0][0, 0], REWARDS[pairs].mean(1), atol=0.1)
    assert chances(agent, state, 3)[0] > 0.9


def test_settings_that_do_not_fit_are_refused() -> None:
    spec = spec_for(ONE_PLACE, Discrete(3), Discrete(3))
    with pytest.raises(ComityError, match=r"memory\.joint true"):
        MADDPG(memory=UniformReplay()).check(spec, (0,))
    with pytest.raises(ComityError, match="set choices to gumbel"):
        MADDPG(critic=QCritic(view=Team())).check(spec, (0, 1))
    with pytest.raises(ComityError, match="use ppo"):
        SAC().check(spec_for(ONE_PLACE, (Discrete(2), Discrete(2))), (0,))
    agent = MADDPG(network=Tabular(), critic=QCritic(network=MLP(), view=Joint()))
    nowhere, ends = jnp.zeros(2, jnp.int32), jnp.ones(2, jnp.bool_)
    paid = jnp.zeros(2, jnp.float32)
    batch = steps_for((0,), (nowhere,) * 2, (nowhere,) * 2, (paid,) * 2, (nowhere,) * 2, ends)
    state = agent.init(jax.random.key(0), spec, (0,))
    with pytest.raises(ComityError, match="inferred"):
        agent.update(state, batch, Context(jnp.float32(0.0), others=((), ())), jax.random.key(0))


# ---- The linear-quadratic game -------------------------------------------------------------------------

A, B, COSTS, EFFORT, DISCOUNT = 0.9, (0.5, 0.4), (1.0, 1.0), (0.5, 0.3), 0.9


def gains(others_follow: bool = True) -> list[float]:
    r"""Gains of :math:`u_i = -k_i s`: Nash by the coupled Riccati equations, iterated.

    If the others' actions are drawn evenly around 0 where an actor improves, it answers those instead.
    """
    found, worth = [0.0, 0.0], list(COSTS)
    for _ in range(2000):
        closed = A - B[0] * found[0] - B[1] * found[1]
        worth = [COSTS[i] + EFFORT[i] * found[i] ** 2 + DISCOUNT * worth[i] * closed**2 for i in range(2)]
        met = [A - others_follow * B[1 - i] * found[1 - i] for i in range(2)]
        pull = [DISCOUNT * worth[i] * B[i] for i in range(2)]
        new = [pull[i] * met[i] / (EFFORT[i] + pull[i] * B[i]) for i in range(2)]
        found = [0.5 * (old + now) for old, now in zip(found, new, strict=True)]
    return found


def lq_gains(agent: ReplayActorAgent, around: bool, updates: int) -> list[float]:
    """The gains of two learners that meet, from actions drawn around what they do, or around 0."""
    spec = spec_for(REAL, REAL, REAL)
    states = tuple(agent.init(jax.random.key(i), spec, (i,)) for i in range(2))

    def step(states: Any, key: Any) -> tuple[Any, None]:
        state_key, noise_key, learn_key = jax.random.split(key, 3)
        place = jax.random.uniform(state_key, (64, 1), jnp.float32, -1.0, 1.0)
        noise = 0.5 * jax.random.normal(noise_key, (2, 64, 1))
        does = [own.actor.step(own.actor.torso.initial_carry(), place)[1].mean for own in states]
        done = tuple(noise[i] + (own if around else 0.0) for i, own in enumerate(does))
        following = A * place + B[0] * done[0] + B[1] * done[1]
        paid = tuple(
            -(COSTS[i] * jnp.square(place) + EFFORT[i] * jnp.square(done[i]))[:, 0] for i in range(2)
        )
        given = tuple(jax.tree.map(lambda x: x[None], agent.policy(own)) for own in states)
        context = Context(jnp.float32(0.0), others=given)
        after = []
        for i, own in enumerate(states):
            batch = steps_for((i,), (place,) * 2, done, paid, (following,) * 2, jnp.zeros(64, jnp.bool_))
            after.append(agent.update(own, batch, context, jax.random.fold_in(learn_key, i))[0])
        return tuple(after), None

    run = eqx.filter_jit(lambda states, keys: jax.lax.scan(step, states, keys)[0])
    states = run(states, jax.random.split(jax.random.key(7), updates))
    return [-float(own.actor.head.weight[0, 0]) for own in states]


@pytest.mark.parametrize(
    ("others", "beside", "around"),
    [("given", "played", True), ("inferred", "played", True), ("given", "current", False),
     ("given", "played", False)],
)  # fmt: skip
def test_maddpg_finds_the_nash_gains_of_a_linear_quadratic_game(
    others: Any, beside: Any, around: bool
) -> None:
    """With others as they were played it does so from a replay near the players, and only then."""
    critic = QCritic(network=Quadratic(), view=Joint(), learning_rate=0.02, others=others, beside=beside)
    agent = MADDPG(
        network=MLP(depth=0), critic=critic, optimiser=Adam(learning_rate=0.003, max_grad_norm=0.0),
        discount=DISCOUNT, target_tau=0.05, output_coef=0.0,
    )  # fmt: skip
    nash = around or beside == "current"
    assert np.abs(np.subtract(gains(), gains(others_follow=False))).min() > 0.1
    np.testing.assert_allclose(lq_gains(agent, around, 3000), gains(others_follow=nash), atol=0.03)


def test_central_defaults_are_those_of_the_paper() -> None:
    assert isinstance(CENTRAL.view, Joint)
    assert (CENTRAL.others, CENTRAL.beside) == ("given", "played")
