"""LOLA-DiCE and POLA: the sampled gradient against the exact one, opponent models, and what is refused."""

from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from comity.agents.on_policy.acting import Acting
from comity.agents.shaping import imagined
from comity.agents.shaping.dice_lookahead import DiceLookahead, LookaheadState
from comity.core.agent import add_group_axis
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.games.matrix import PrisonersDilemma
from comity.learn.policies import Policy
from comity.play.rollout import simulator
from comity.play.specs import make_agent, make_game
from comity.training import loop
from comity.training.experiment import make_experiment
from tests.agents.shaped import NOW, quick_jit

STEPS, GAMMA, BATCH = 3, 0.8, 2048
TABLES = jnp.asarray([[0.3, -0.4, 0.8, 0.1, -0.7], [-0.2, 0.5, 0.4, -0.9, 0.6]])  # logits of cooperation
SHAPE: dict[str, Any] = {"network": "tabular", "critic.network": "tabular"}


def looking(name: str, ahead: dict[str, Any], **settings: Any) -> DiceLookahead:
    """An agent of tables that looks ahead in some way."""
    nested = {f"lookahead.{field}": value for field, value in ahead.items()}
    agent = make_agent(name, None, discount=GAMMA, **settings, **nested, **SHAPE)
    assert isinstance(agent, DiceLookahead)
    return agent


def exact_value(tables: Array, player: int) -> Array:
    """What a player earns per step in a dilemma of three steps, by going through all states."""
    first, second = jax.nn.sigmoid(tables)
    payoffs = jnp.asarray([[-1.0, -3.0, 0.0, -2.0], [-1.0, 0.0, -3.0, -2.0]])[player]
    second = second[jnp.asarray([0, 1, 3, 2, 4])]  # the other sees my CD as its DC
    a, b = jnp.stack([first, 1 - first], axis=1), jnp.stack([second, 1 - second], axis=1)
    joint = (a[:, :, None] * b[:, None, :]).reshape(5, 4)
    value = jnp.zeros(5)
    for _ in range(STEPS):
        value = joint @ (payoffs + GAMMA * value[1:])
    return value[0] / STEPS


def exact_lookahead(own: Array, steps: int, rate: float) -> Array:
    """What I earn after the other's naive steps, by automatic differentiation of exact values."""
    other = TABLES[1]
    for _ in range(steps):
        slope = jax.grad(lambda x: exact_value(jnp.stack([own, x]), 1))(other)
        # A step of the two logits of an action moves their difference twice as far.
        other = other + 2.0 * rate * slope
    return exact_value(jnp.stack([own, other]), 0)


def seated(*policies: Policy) -> tuple[Acting, ...]:
    """Policies as parameters of one group each."""
    return tuple(add_group_axis(Acting(policy, None)) for policy in policies)


def prepared(agent: DiceLookahead) -> tuple[LookaheadState, Any]:
    """A state with the first table as its policy and a critic that says 0, and the other's policy."""
    game = PrisonersDilemma(horizon=STEPS)
    state = agent.init(jax.random.key(0), game.spec, (0,))

    def tabled(column: Array) -> Any:
        weight = jnp.stack([column, jnp.zeros(5)], axis=1)
        return eqx.tree_at(lambda p: p.head.linear.weight, state.policy, weight)

    critic = eqx.tree_at(lambda c: c.head.weight, state.critic, jnp.zeros_like(state.critic.head.weight))
    return state._replace(policy=tabled(TABLES[0]), critic=critic), tabled(TABLES[1])


@pytest.mark.long
@pytest.mark.parametrize(("name", "steps"), [("lola-dice", 2), ("pola", 1)])
def test_the_sampled_gradient_is_that_of_the_value_after_the_others_learning(name: str, steps: int) -> None:
    rate = 1.5
    ahead = {"inner_steps": steps, "inner_learning_rate": rate, "inner_penalty": 0.0, "penalty": 0.0}
    agent = looking(name, ahead, gae_lambda=1.0)
    state, other = prepared(agent)
    game = PrisonersDilemma(horizon=STEPS)
    simulate = simulator(game, (agent, agent), BATCH, STEPS)
    played = jax.jit(simulate)(seated(state.policy, other), jax.random.key(9))
    context = NOW._replace(simulate=simulate)

    assert played.action[0].shape == (STEPS, BATCH)

    @jax.jit
    def slope(key: Array) -> Array:
        loss = partial(agent.loss, state.critic, (other,), 0, context, key, 0.0, state.policy)
        gradient, _ = jax.grad(loss, has_aux=True)(state.policy)
        weight = gradient.head.linear.weight
        return -(weight[:, 0] - weight[:, 1]) / 2.0

    samples = np.stack([np.asarray(slope(key)) for key in jax.random.split(jax.random.key(1), 40)])
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    expected = np.asarray(jax.jit(jax.grad(lambda x: exact_lookahead(x, steps, rate)))(TABLES[0]))
    naive = np.asarray(jax.jit(jax.grad(lambda x: exact_value(jnp.stack([x, TABLES[1]]), 0)))(TABLES[0]))
    # A step that is itself an estimate is a little biased: its error is squared, and shrinks with the batch.
    bound = 4.5 * error + 2e-3
    assert np.all(np.abs(mean - expected) < bound), (mean, expected, error)
    # The test has power: without the look-ahead, or with another one, it fails.
    assert np.max(np.abs(mean - naive) / bound) > 2.0
    wrong = np.asarray(jax.grad(lambda x: exact_lookahead(x, steps, -rate))(TABLES[0]))
    assert np.max(np.abs(mean - wrong) / bound) > 2.0


@pytest.mark.long
@pytest.mark.parametrize("reach", [0.01, 0.05])
def test_an_imagined_step_changes_behaviour_as_far_as_it_may(reach: float) -> None:
    ahead = {"inner_steps": 1, "inner_learning_rate": 1e6, "inner_penalty": 0.0, "max_kl": reach}
    agent = looking("pola", ahead)
    state, other = prepared(agent)
    simulate = simulator(PrisonersDilemma(horizon=STEPS), (agent, agent), BATCH, STEPS)
    played = simulate(seated(state.policy, other), jax.random.key(9))
    context = NOW._replace(simulate=simulate)
    (moved,) = jax.jit(
        lambda: agent.look_ahead(state.critic, state.policy, (other,), 0, context, jax.random.key(1))
    )()
    before, after = (imagined.unroll(policy, played, 1) for policy in (other, moved))
    assert float(before.kl(after).mean()) == pytest.approx(reach, rel=0.15)


@pytest.mark.long
def test_the_weight_multiplies_what_comes_of_the_others_learning() -> None:
    """The gradient is linear in it: at 0 that of the games with those who learned, at 1 the paper's."""
    ahead: dict[str, Any] = {"inner_steps": 1, "inner_learning_rate": 1.5}
    first = looking("pola", ahead)
    state, other = prepared(first)
    simulate = simulator(PrisonersDilemma(horizon=STEPS), (first, first), 256, STEPS)

    def slope(weight: float) -> np.ndarray:
        agent = looking("pola", {**ahead, "shaping_weight": weight})

        def gradient(policy: Any) -> Any:
            context = NOW._replace(simulate=simulate)
            loss = partial(agent.loss, state.critic, (other,), 0, context, jax.random.key(2), 0.0, policy)
            return jax.grad(loss, has_aux=True)(policy)[0]

        return np.asarray(quick_jit(gradient)(state.policy).head.linear.weight)

    none, plain, thrice = slope(0.0), slope(1.0), slope(3.0)
    assert np.abs(plain - none).max() > 1e-3
    np.testing.assert_allclose(thrice - none, 3.0 * (plain - none), rtol=1e-3, atol=1e-6)


def test_a_model_learns_what_the_other_does() -> None:
    agent = make_agent("lola-dice", None, opponents="modelled", model_learning_rate=0.05, **SHAPE)
    assert isinstance(agent, DiceLookahead)
    game = PrisonersDilemma(horizon=8)
    script = make_agent("tit-for-tat", game)
    state = agent.init(jax.random.key(0), game.spec, (0,))
    rule = script.policy(script.init(jax.random.key(0), game.spec, (1,)))
    simulate = simulator(game, (agent, script), 64, 8)

    @jax.jit
    def learn(state: LookaheadState, key: Array) -> LookaheadState:
        played = simulate((*seated(state.policy), add_group_axis(rule)), key)
        return agent.update(state, team_batch(played, (0,)), NOW._replace(simulate=simulate), key)[0]

    for i in range(150):
        state = learn(state, jax.random.key(i))
    cooperates = jax.nn.softmax(state.model.head.linear.weight)[:, 0]
    # Its own view: start, and after the other (I) cooperated it cooperates, else it does not.
    np.testing.assert_allclose(cooperates, [1.0, 1.0, 0.0, 1.0, 0.0], atol=0.15)


def test_it_says_which_others_it_cannot_read() -> None:
    lola = make_agent("lola-dice", None, **SHAPE)
    game = make_game("prisoners-dilemma", horizon=4)
    naive = make_agent("a2c", game, network="mlp")
    mixed = make_experiment(game, (lola, naive), iterations=2, batch=4)
    with pytest.raises(ComityError, match="use opponents modelled"):
        jax.eval_shape(lambda: loop.iterate(mixed, loop.start(mixed)))
    with pytest.raises(ComityError, match="discrete actions"):
        make_experiment(make_game("negotiation"), make_agent("pola"), iterations=2, batch=4)


@pytest.mark.slow
def test_lola_by_sampling_learns_to_cooperate_where_naive_learners_defect(tmp_path: Path) -> None:
    game = make_game("prisoners-dilemma", horizon=32)
    ends = {}
    for rate in (20.0, 1e-6):  # the look-ahead, and practically none
        agent = make_agent(
            "lola-dice",
            game,
            **{"optimiser.learning_rate": 0.05, "lookahead.inner_learning_rate": rate},
            **{"critic.learning_rate": 0.1},
            **SHAPE,
        )
        experiment = make_experiment(game, agent, iterations=400, batch=256)
        state = loop.start(experiment)
        _, metrics = jax.jit(lambda s, e=experiment: loop.advance(e, s, 400))(state)
        ends[rate] = float(metrics["reward"][-20:].mean())
    assert ends[20.0] > -1.2
    assert ends[1e-6] < -1.8
