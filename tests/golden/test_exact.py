"""Exact values of memory-one policies, and the learning rules for differentiable games."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.agent import Context, add_group_axis
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.core.matchmaker import Occupant
from comity.games.transforms import SharedReward
from comity.play.specs import make_agent, make_game
from comity.returns import differentiable
from comity.returns.differentiable import Params, Values
from comity.returns.markov import memory_one_values
from comity.testing.contracts import play_some
from comity.theory import MemoryOne, NormalFormGame, repeated_values
from comity.training import loop
from comity.training.experiment import make_experiment

DILEMMA: Any = make_game("prisoners-dilemma")
# Compiled as wholes: operation by operation they would be hundreds of programs.
naive, lookahead, consensus, sos = (
    jax.jit(rule, static_argnums=0)
    for rule in (
        differentiable.naive,
        differentiable.lookahead,
        differentiable.consensus,
        differentiable.sos,
    )
)
lola = jax.jit(differentiable.lola, static_argnums=(0, 3))
answers = jax.jit(differentiable.answers, static_argnums=(0, 2))


def goods(horizon: int | None) -> Any:
    """A game of three players with two, three and two actions."""
    payoff = tuple(np.random.default_rng(5).normal(size=36).round(2).tolist())
    return make_game("matrix-game", actions=(2, 3, 2), payoff=payoff, horizon=horizon)


def tables(game: Any, seed: int) -> tuple[np.ndarray, ...]:
    """Random policies, one row for each observation."""
    rng = np.random.default_rng(seed)
    return tuple(rng.dirichlet(np.ones(seat.action.n), seat.observation.n) for seat in game.seats)


def as_jax(policies: tuple[np.ndarray, ...]) -> tuple[jax.Array, ...]:
    return tuple(jnp.asarray(table, jnp.float32) for table in policies)


# ---- Values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.96])
def test_values_are_those_of_repeated_games(discount: float) -> None:
    own, other = tables(DILEMMA, 0)
    strategies = [MemoryOne(table[0, 0], table[1:, 0]) for table in (own, other)]
    value = repeated_values(NormalFormGame(DILEMMA.payoffs), strategies[0], strategies[1], discount)
    expected = value / (1 - discount)
    found = DILEMMA.exact_returns(as_jax((own, other)), discount)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    # Per step wherever it is called a value: both see their own action first.
    views = jnp.asarray([[0, 1, 2, 3, 4], [0, 1, 3, 2, 4]])
    payoffs = jnp.asarray(DILEMMA.payoffs, jnp.float32)
    per_step = memory_one_values(as_jax((own, other)), payoffs, views, discount)
    np.testing.assert_allclose(per_step, value, rtol=1e-4)


def test_values_of_three_players_are_the_mean_of_what_is_played() -> None:
    """Step by step in the game itself: the discounted sum over many episodes, within 4 standard errors."""
    game = goods(None)
    policies = tables(game, 1)
    found = game.exact_returns(as_jax(policies), 0.7)

    def episode(key: jax.Array) -> jax.Array:
        def step(carry: Any, key: jax.Array) -> Any:
            state, obs = carry
            keys = jax.random.split(key, 4)
            actions = tuple(
                jax.random.categorical(keys[i], jnp.log(jnp.asarray(table, jnp.float32))[obs[i]])
                for i, table in enumerate(policies)
            )
            state, answer = game.step(keys[3], state, actions)
            return (state, answer.obs), jnp.stack(answer.reward)

        rewards = jax.lax.scan(step, game.reset(key), jax.random.split(key, 40))[1]
        return (0.7 ** jnp.arange(40.0))[None, :] @ rewards

    sums = np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), 20_000)))[:, 0]
    error = sums.std(axis=0) / len(sums) ** 0.5
    assert (error < 0.02).all()  # small enough to notice a wrong value
    np.testing.assert_array_less(np.abs(sums.mean(axis=0) - np.asarray(found)), 4 * error)


def test_gradients_equal_finite_differences() -> None:
    game = goods(16)
    logits = [np.log(table) for table in tables(game, 2)]

    def value(own: jax.Array) -> jax.Array:
        shown = [own, *(jnp.asarray(x, own.dtype) for x in logits[1:])]
        return game.exact_returns(tuple(jax.nn.softmax(x) for x in shown), 0.9)[0]

    with jax.enable_x64(True):
        own = jnp.asarray(logits[0], jnp.float64)
        gradient = np.asarray(jax.jit(jax.grad(value))(own))
        value = jax.jit(value)
        for index in np.ndindex(*own.shape):
            change = float(value(own.at[index].add(1e-4)) - value(own.at[index].add(-1e-4))) / 2e-4
            assert gradient[index] == pytest.approx(change, rel=2e-3, abs=2e-4)


def test_shared_rewards_share_values() -> None:
    policies = as_jax(tables(DILEMMA, 3))
    own = np.asarray(DILEMMA.exact_returns(policies, 0.9))
    shared = SharedReward(game=DILEMMA, others=0.5).exact_returns(policies, 0.9)
    np.testing.assert_allclose(shared, own + 0.5 * own[::-1], rtol=1e-5)


# ---- Rules ---------------------------------------------------------------------------------------------


def three_players(params: Params) -> jax.Array:
    """Some smooth values of three players with one, two and three parameters."""
    x, y, z = params
    return jnp.stack(
        [
            jnp.sin(x[0] * y[1]) + x[0] * z[2] ** 2,
            y[0] * x[0] * z[0] - y[1] ** 2 * z[1] + jnp.cos(y[0] * y[1]),
            jnp.exp(0.3 * z[0] * y[1]) - z[1] * x[0] + z[2] * y[0] * x[0],
        ]
    )


POINT = (jnp.array([0.4]), jnp.array([-0.7, 0.3]), jnp.array([0.2, 1.1, -0.5]))


def joined(params: Params) -> np.ndarray:
    return np.concatenate([np.asarray(x) for x in params])


def hessians() -> tuple[np.ndarray, np.ndarray, list[slice]]:
    """First derivatives [value, parameter] and second ones [value, parameter, parameter], all at once."""
    parts = [slice(0, 1), slice(1, 3), slice(3, 6)]

    def values(flat: jax.Array) -> jax.Array:
        return three_players(tuple(flat[part] for part in parts))

    flat = jnp.concatenate(POINT)
    first, second = jax.jit(lambda flat: (jax.jacobian(values)(flat), jax.hessian(values)(flat)))(flat)
    return np.asarray(first), np.asarray(second), parts


def test_rules_are_what_their_formulas_say() -> None:
    """Against whole matrices: xi, H, H_o and chi written out block by block."""
    first, second, parts = hessians()
    ascent = np.concatenate([first[i, part] for i, part in enumerate(parts)])
    whole = np.concatenate([second[i, part] for i, part in enumerate(parts)])
    off = whole.copy()
    for part in parts:
        off[part, part] = 0.0
    chi = np.zeros(6)
    for i, own in enumerate(parts):
        for j, other in enumerate(parts):
            if i != j:
                chi[own] += second[j, other, own].T @ first[i, other]
    step = 0.3
    safe = ascent + step * off @ ascent
    np.testing.assert_allclose(joined(naive(three_players, POINT)), ascent, rtol=1e-5)
    np.testing.assert_allclose(joined(lookahead(three_players, POINT, step)), safe, rtol=1e-4)
    expected = ascent - 0.2 * whole.T @ ascent
    np.testing.assert_allclose(joined(consensus(three_players, POINT, 0.2)), expected, rtol=1e-4)
    small = 1e-3  # to first order LOLA is lookahead plus shaping
    found = (joined(lola(three_players, POINT, small)) - ascent) / small
    np.testing.assert_allclose(found, off @ ascent + chi, atol=2e-2)
    turn = step * chi @ safe
    share = 1.0 if turn >= 0 else min(1.0, -0.5 * safe @ safe / turn)
    if np.linalg.norm(ascent) < 0.1:
        share = min(share, ascent @ ascent)
    np.testing.assert_allclose(joined(sos(three_players, POINT, step)), safe + share * step * chi, rtol=1e-4)


def test_two_look_ahead_steps_are_one_after_the_other() -> None:
    def after(own: jax.Array) -> jax.Array:
        y, z = POINT[1:]
        for _ in range(2):
            up_y = jax.grad(lambda y_: three_players((own, y_, z))[1])(y)  # noqa: B023
            up_z = jax.grad(lambda z_: three_players((own, y, z_))[2])(z)  # noqa: B023
            y, z = y + 0.3 * up_y, z + 0.3 * up_z
        return three_players((own, y, z))[0]

    np.testing.assert_allclose(
        lola(three_players, POINT, 0.3, 2)[0], jax.jit(jax.grad(after))(POINT[0]), rtol=1e-5, atol=1e-6
    )


def test_answers_to_no_move_are_naive_and_to_naive_moves_lola() -> None:
    def still(params: Params) -> Params:
        return tuple(jnp.zeros_like(own) for own in params)

    def ascends(params: Params) -> Params:
        return tuple(0.3 * way for way in naive(three_players, params))

    found = joined(answers(three_players, POINT, still, 0.3))
    np.testing.assert_allclose(found, 0.3 * joined(naive(three_players, POINT)), rtol=1e-5)
    found = joined(answers(three_players, POINT, ascends, 0.3))
    np.testing.assert_allclose(found, 0.3 * joined(lola(three_players, POINT, 0.3)), rtol=1e-4)


def test_consistent_moves_answer_themselves() -> None:
    """In a game of squares they are linear, and found by going from answer to answer."""

    def values(params: Params) -> jax.Array:
        x, y = params[0][0], params[1][0]
        return jnp.stack([-0.5 * x**2 + 0.4 * x * y, -0.5 * y**2 + 0.3 * x * y])

    step, slopes = 0.2, np.zeros((2, 2))
    for _ in range(60):  # move_i = slopes[i] . (x, y); the answers of linear moves are linear

        def moves(params: Params, slopes: np.ndarray = slopes) -> Params:
            at = jnp.concatenate(params)
            return tuple((jnp.asarray(row, jnp.float32) @ at)[None] for row in slopes)

        units = ((jnp.ones(1), jnp.zeros(1)), (jnp.zeros(1), jnp.ones(1)))
        slopes = np.stack([joined(answers(values, at, moves, step)) for at in units], axis=1)
    (a, b), (c, d) = slopes
    # By hand: dV1/dx at (x, y + c x + d y), with y's move c x + d y depending on x.
    np.testing.assert_allclose(a, step * (-1 + 0.4 * 2 * c), atol=1e-5)
    np.testing.assert_allclose(b, step * 0.4 * (1 + d), atol=1e-5)
    np.testing.assert_allclose(d, step * (-1 + 0.3 * 2 * b), atol=1e-5)
    np.testing.assert_allclose(c, step * 0.3 * (1 + a), atol=1e-5)


def follow(rule: Any, values: Values, start: Params, rate: float, steps: int) -> np.ndarray:
    def step(params: Params, _: None) -> tuple[Params, jax.Array]:
        moved = tuple(x + rate * way for x, way in zip(params, rule(values, params), strict=True))
        return moved, jnp.concatenate(moved)

    return np.asarray(jax.jit(lambda: jax.lax.scan(step, start, None, length=steps)[1])())


def test_sos_keeps_the_fixed_points_of_the_tandem_game_and_lola_does_not() -> None:
    """Two riders lose (x + y)^2 - 2x and (x + y)^2 - 2y: x + y = 1 is stable, but not to LOLA."""

    def tandem(params: Params) -> jax.Array:
        x, y = params[0][0], params[1][0]
        return jnp.stack([2 * x - (x + y) ** 2, 2 * y - (x + y) ** 2])

    start = (jnp.array([0.3]), jnp.array([-0.4]))
    path = follow(partial(sos, step=0.1), tandem, start, 0.1, 500)
    assert path[-1].sum() == pytest.approx(1.0, abs=1e-3)
    path = follow(partial(lola, step=0.1), tandem, start, 0.1, 500)
    assert abs(path[-1].sum() - 1.0) > 0.2


# ---- Learning ------------------------------------------------------------------------------------------


def learned(game: Any, agent: str, seeds: int, iterations: int, **settings: Any) -> tuple[np.ndarray, Any]:
    """The values per step of both players in the end, and their tables, for many seeds at once."""
    learner: Any = make_agent(agent, game, **settings)
    # Nothing that is played enters an update, so any game will do.
    players = tuple(
        Occupant((i,), learner, add_group_axis(learner.init(jax.random.key(i), game.spec, (i,))))
        for i in range(len(game.seats))
    )
    played = play_some(game, players, 1, 1, 0)

    def run(seed: jax.Array) -> Any:
        keys = jax.random.split(jax.random.fold_in(jax.random.key(0), seed), len(game.seats))
        states = tuple(learner.init(key, game.spec, (seat,)) for seat, key in enumerate(keys))

        def step(states: Any, _: None) -> tuple[Any, None]:
            others = tuple(jax.tree.map(lambda x: x[None], state) for state in states)
            new = []
            for seat, state in enumerate(states):
                context = Context(jnp.float32(0.0), others, None, game.exact_returns)
                batch = team_batch(played, (seat,))
                new.append(learner.update(state, batch, context, jax.random.key(0))[0])
            return tuple(new), None

        states = jax.lax.scan(step, states, None, length=iterations)[0]
        policies = tuple(jax.nn.softmax(state.table) for state in states)
        return game.exact_returns(policies, learner.discount) * (1 - learner.discount), policies

    values, policies = jax.jit(jax.vmap(run))(jnp.arange(seeds))
    return np.asarray(values), policies


@pytest.mark.long
def test_naive_learning_defects_and_lola_and_sos_reciprocate() -> None:
    naive_values, _ = learned(DILEMMA, "naive", 10, 500)
    np.testing.assert_allclose(naive_values, -2.0, atol=0.05)
    for agent in ("lola", "sos"):
        values, policies = learned(DILEMMA, agent, 10, 500)
        cooperate = (np.abs(values.mean(axis=1) + 1.0) < 0.05).sum()
        assert cooperate >= 8, (agent, values)
        own = np.asarray(policies[0])[..., 0]  # [seed, start CC CD DC DD]
        typical = np.median(own, axis=0)
        assert typical[1] > 0.9
        assert typical[2] < 0.4
        assert typical[3] > 0.6
        assert typical[4] < 0.3


@pytest.mark.long
def test_cola_learns_consistent_moves_and_leaves_defection() -> None:
    experiment = make_experiment(
        DILEMMA, make_agent("cola", DILEMMA), batch=1, unroll=2, iterations=300, seed=1
    )
    state, metrics = jax.jit(lambda: loop.advance(experiment, loop.start(experiment), 300))()
    lost = np.asarray(metrics["inconsistency"])
    assert lost[-10:].mean() < 0.15 * lost[0]
    policy = jax.nn.softmax(state.learners[0].policy.table)
    values = DILEMMA.exact_returns((policy, policy), 0.96)
    assert np.asarray(values).mean() * 0.04 > -1.5  # naive learners end at -2


@pytest.mark.long
def test_matching_pennies_ends_at_one_half_with_shaping_only() -> None:
    pennies = make_game("matching-pennies")
    settings = {"discount": 0.9, "learning_rate": 0.15}
    for agent in ("lola", "sos"):
        _, policies = learned(pennies, agent, 10, 500, **settings)
        assert max(np.abs(np.asarray(table) - 0.5).max() for table in policies) < 0.02
    _, policies = learned(pennies, "naive", 10, 500, **settings)
    assert np.abs(np.asarray(policies[0]) - 0.5).mean() > 0.2


# ---- In the training loop ------------------------------------------------------------------------------


def test_different_rules_meet_in_one_game() -> None:
    experiment = make_experiment(
        DILEMMA, (make_agent("lola", DILEMMA), make_agent("naive", DILEMMA)), batch=2, unroll=2, iterations=4
    )
    state = jax.jit(lambda: loop.advance(experiment, loop.start(experiment), 4)[0])()
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(state.learners))


def test_games_and_others_without_exact_values_are_refused() -> None:
    coin = make_game("coin")
    with pytest.raises(ComityError, match="discrete observations and actions"):
        make_experiment(coin, make_agent("lola", coin))
    mixed = make_experiment(DILEMMA, (make_agent("lola", DILEMMA), make_agent("a2c", DILEMMA)), batch=2)
    with pytest.raises(ComityError, match="need others of their kind"):
        jax.eval_shape(lambda: loop.iterate(mixed, loop.start(mixed)))
    probe = make_game("probe-choice")
    alone = make_experiment(probe, make_agent("naive", probe), batch=2)
    with pytest.raises(ComityError, match="only in iterated matrix games"):
        jax.eval_shape(lambda: loop.iterate(alone, loop.start(alone)))
    with pytest.raises(ComityError, match=r"discount = 1\.0"):
        make_agent("sos", DILEMMA, discount=1.0)
    with pytest.raises(ComityError, match="steps = 0"):
        make_agent("lola", DILEMMA, steps=0)
