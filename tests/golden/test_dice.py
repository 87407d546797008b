"""DiCE and loaded DiCE: exact derivatives by enumeration, and the alignment term as one of them."""

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from comity.returns.advantages import past_sum
from comity.returns.alignment import alignment, past_advantages, time_discount
from comity.returns.dice import dice_objective, loaded_dice_objective, loaded_dice_values, magic_box

# Two players with a logit of the first action in each of five states (the start, and after each joint
# action) play a prisoner's dilemma of three steps: all 64 paths are listed.
STEPS, GAMMA = 3, 0.8
PATHS = np.asarray(list(itertools.product(range(4), repeat=STEPS)))  # joint actions 2a + b
STATES = np.concatenate([np.zeros((len(PATHS), 1), int), PATHS[:, :-1] + 1], axis=1)
PAYOFFS = jnp.asarray([[-1.0, -3.0, 0.0, -2.0], [-1.0, 0.0, -3.0, -2.0]])
REWARDS = PAYOFFS[:, PATHS]
NO_END = jnp.zeros(STEPS, jnp.bool_)
PARAMETERS = jnp.asarray([[0.3, -0.4, 0.8, 0.1, -0.7], [-0.2, 0.5, 0.4, -0.9, 0.6]])


def step_log_probs(parameters: Array) -> Array:
    """log pi of each player along each path, [player, path, time]."""
    chosen = jnp.asarray(np.stack([PATHS // 2, PATHS % 2]))
    logits = parameters[:, STATES]
    return jnp.where(chosen == 0, jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits))


def values(parameters: Array, player: int) -> list[Array]:
    """V_t(s) by dynamic programming, for t = 0 ... STEPS."""
    first, second = jax.nn.sigmoid(parameters)
    a, b = jnp.stack([first, 1 - first], axis=1), jnp.stack([second, 1 - second], axis=1)
    joint = (a[:, :, None] * b[:, None, :]).reshape(5, 4)
    found = [jnp.zeros(5)]
    for _ in range(STEPS):
        found.insert(0, joint @ (PAYOFFS[player] + GAMMA * found[0][1:]))
    return found


def advantages(parameters: Array, player: int) -> Array:
    """A_t(s, a, b) along each path, [path, time]."""
    value = values(parameters, player)
    columns = [
        REWARDS[player][:, t] + GAMMA * value[t + 1][PATHS[:, t] + 1] - value[t][STATES[:, t]]
        for t in range(STEPS)
    ]
    return jnp.stack(columns, axis=1)


def exact_value(parameters: Array) -> Array:
    """Player 1's expected return."""
    return values(parameters, 0)[0][0]


def derivatives(objective: Callable[[Array], Array]) -> list[Array]:
    """Value, gradient and Hessian at PARAMETERS."""
    return jax.jit(lambda p: [objective(p), jax.grad(objective)(p), jax.hessian(objective)(p)])(PARAMETERS)


def chances(parameters: Array) -> Array:
    return jax.lax.stop_gradient(jnp.exp(step_log_probs(parameters).sum(axis=(0, 2))))


def test_magic_box_is_one_with_all_derivatives_of_the_exponential() -> None:
    x = jnp.float32(1.7)
    assert float(magic_box(x)) == 1.0
    assert float(jax.grad(lambda v: magic_box(3.0 * v))(x)) == 3.0
    assert float(jax.grad(jax.grad(lambda v: magic_box(3.0 * v)))(x)) == 9.0
    assert float(jax.grad(lambda v: magic_box(v) ** 2 - magic_box(v))(x)) == 1.0


def test_dice_has_the_exact_value_gradient_and_hessian() -> None:
    def expected(parameters: Array) -> Array:
        log_prob = step_log_probs(parameters).sum(axis=0)
        each = jax.vmap(lambda lp, r: dice_objective(lp, r, NO_END, GAMMA))(log_prob, REWARDS[0])
        return (chances(parameters) * each).sum()

    for found, exact in zip(derivatives(expected), derivatives(exact_value), strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-5)


def test_loaded_dice_has_the_exact_gradient_and_hessian() -> None:
    def expected(parameters: Array, trace: float = 1.0) -> Array:
        log_prob = step_log_probs(parameters).sum(axis=0)
        each = jax.vmap(lambda lp, a: loaded_dice_objective(lp, a, NO_END, GAMMA, trace))
        return (chances(parameters) * each(log_prob, advantages(parameters, 0))).sum()

    _, gradient, hessian = derivatives(exact_value)
    value, found, curved = derivatives(expected)
    np.testing.assert_allclose(value, 0.0, atol=1e-6)
    np.testing.assert_allclose(found, gradient, atol=1e-5)
    np.testing.assert_allclose(curved, hessian, atol=1e-5)
    # A shorter memory leaves the first derivative as it is and changes the second.
    _, found, curved = derivatives(lambda p: expected(p, 0.5))
    np.testing.assert_allclose(found, gradient, atol=1e-5)
    assert np.abs(curved - hessian).max() > 1e-2


def sampled(objective: Callable[[Array, Array], Array], count: int = 40_000) -> tuple[Array, Array]:
    """How many standard errors the sampled gradient and Hessian are from the exact ones, entry by entry.

    `objective` is of the parameters and of one path's number; each sampled path counts as often as it came.
    """
    drawn = jax.random.categorical(jax.random.key(0), jnp.log(chances(PARAMETERS)), shape=(count,))
    share = jnp.bincount(drawn, length=len(PATHS)) / count
    found = []
    for order in (jax.grad, jax.hessian):
        exact = order(exact_value)(PARAMETERS)
        each = jax.jit(jax.vmap(order(objective), in_axes=(None, 0)))(PARAMETERS, jnp.arange(len(PATHS)))
        weight = share.reshape((-1,) + (1,) * (each.ndim - 1))
        mean = (weight * each).sum(axis=0)
        error = jnp.sqrt(((weight * jnp.square(each - mean[None])).sum(axis=0)) / count)
        off = jnp.abs(mean - exact)
        found.append(jnp.where(error > 1e-7, off / jnp.maximum(error, 1e-7), jnp.where(off > 1e-4, 1e3, 0.0)))
    return found[0], found[1]


@pytest.mark.long
def test_sampled_derivatives_are_unbiased_and_a_biased_estimate_is_told() -> None:
    """Within 4.5 standard errors in all 10 first and 100 second derivatives; a surrogate's are 20 away."""

    def log_prob(parameters: Array, path: Array) -> Array:
        return step_log_probs(parameters).sum(axis=0)[path]

    def dice(parameters: Array, path: Array) -> Array:
        return dice_objective(log_prob(parameters, path), REWARDS[0][path], NO_END, GAMMA)

    def loaded(parameters: Array, path: Array) -> Array:
        advantage = advantages(PARAMETERS, 0)[path]
        return loaded_dice_objective(log_prob(parameters, path), advantage, NO_END, GAMMA)

    def surrogate(parameters: Array, path: Array) -> Array:
        """The usual policy-gradient loss: right once, wrong twice."""
        discounts = GAMMA ** jnp.arange(STEPS, dtype=jnp.float32)
        return (discounts * log_prob(parameters, path) * advantages(PARAMETERS, 0)[path]).sum()

    for objective in (dice, loaded):
        first, second = sampled(objective)
        assert first.max() < 4.5
        assert second.max() < 4.5
    first, second = sampled(surrogate)
    assert first.max() < 4.5
    assert second.max() > 20.0


def test_dice_does_not_reach_across_an_end() -> None:
    ended = jnp.asarray([False, True, False])
    log_prob, reward = jnp.asarray([-0.1, -0.2, -0.3]), jnp.asarray([1.0, 2.0, 4.0])
    gradient = jax.grad(lambda lp: dice_objective(lp, reward, ended, 0.5))(log_prob)
    np.testing.assert_allclose(gradient, [1 + 0.5 * 2, 0.5 * 2, 4])  # what follows in the same episode
    loaded = jax.jacobian(lambda lp: loaded_dice_values(lp, reward, ended, 0.5))(log_prob)
    np.testing.assert_allclose(loaded, [[0.0, 0.5 * 2, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


# ---- Advantage Alignment as a derivative ---------------------------------------------------------------

TIME, STATE_COUNT, ACTIONS = 14, 4, 3


class Sample:
    """A random trajectory with ends in the middle, a tabular policy, and advantages of both players."""

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.own, self.opponent = jnp.asarray(generator.normal(size=(2, TIME)), jnp.float32)
        ended = generator.random(TIME) < 0.2
        ended[TIME // 2] = True
        self.ended = jnp.asarray(ended)
        self.states = generator.integers(STATE_COUNT, size=TIME)
        self.actions = generator.integers(ACTIONS, size=TIME)
        self.theta = jnp.asarray(generator.normal(size=(STATE_COUNT, ACTIONS)), jnp.float32)
        self.others_q = jnp.asarray(generator.normal(size=(TIME, ACTIONS)), jnp.float32)
        self.others_actions = generator.integers(ACTIONS, size=TIME)

    def log_prob(self, theta: Array) -> Array:
        return jax.nn.log_softmax(theta)[self.states, self.actions]

    def gradient(self, factor: Array) -> Array:
        """sum_t factor_t grad log pi(a_t|s_t)"""
        return jax.grad(lambda theta: (jax.lax.stop_gradient(factor) * self.log_prob(theta)).sum())(
            self.theta
        )


SAMPLES = [Sample(seed) for seed in range(4)]


@pytest.mark.parametrize("sample", SAMPLES)
def test_modified_advantage_is_the_derivative_of_the_loaded_dice_objective(sample: Sample) -> None:
    """Equation 10: own loaded DiCE, plus each own advantage times the other's value after it (equation 7)."""
    beta, gamma = 0.7, 0.9

    def objective(theta: Array) -> Array:
        log_prob = sample.log_prob(theta)
        shaped = loaded_dice_values(log_prob, sample.opponent, sample.ended, gamma)
        own = loaded_dice_objective(log_prob, sample.own, sample.ended, 1.0)
        return own + beta * gamma * (sample.own * shaped).sum()

    past = past_advantages(sample.own, sample.ended, gamma, "discounted")
    closed = sample.gradient(sample.own + beta * alignment(past, sample.opponent))
    np.testing.assert_allclose(jax.grad(objective)(sample.theta), closed, atol=2e-5)


@pytest.mark.parametrize("sample", SAMPLES)
def test_equation_8_is_the_derivative_of_a_loaded_dice_objective(sample: Sample) -> None:
    """With discount^t on both terms (equation 61).

    As printed, discount^(t+1) sum_{k<t} discount^(t-k) A_k is discount^k A_k times the value of the other
    after step k, this value discounted twice.
    """
    beta, gamma = 0.7, 0.9

    def objective(theta: Array) -> Array:
        log_prob = sample.log_prob(theta)
        shaped = loaded_dice_values(log_prob, sample.opponent, sample.ended, gamma**2)
        own = loaded_dice_objective(log_prob, sample.own, sample.ended, gamma)
        return own + beta * gamma * (time_discount(sample.ended, gamma) * sample.own * shaped).sum()

    past = past_advantages(sample.own, sample.ended, gamma, "discounted")
    star = sample.own + beta * alignment(past, sample.opponent)
    closed = sample.gradient(time_discount(sample.ended, gamma) * star)
    np.testing.assert_allclose(jax.grad(objective)(sample.theta), closed, atol=2e-5)


@pytest.mark.parametrize("sample", SAMPLES[:2])
def test_other_forms_are_derivatives_of_loaded_dice_objectives(sample: Sample) -> None:
    gamma, further = 0.9, 0.8

    def separate(theta: Array) -> Array:
        shaped = loaded_dice_values(sample.log_prob(theta), sample.opponent, sample.ended, gamma * further)
        return gamma * (sample.own * shaped).sum()

    past = past_advantages(sample.own, sample.ended, gamma, "separate", further)
    closed = sample.gradient(alignment(past, sample.opponent))
    np.testing.assert_allclose(jax.grad(separate)(sample.theta), closed, atol=2e-5)

    time = past_sum(jnp.ones(TIME), sample.ended, 1.0)

    def averaged(theta: Array) -> Array:
        regularised = sample.opponent / (1.0 + time)
        shaped = loaded_dice_values(sample.log_prob(theta), regularised, sample.ended, 1.0)
        return (sample.own * shaped).sum()

    past = past_advantages(sample.own, sample.ended, gamma, "averaged")
    closed = sample.gradient(alignment(past, sample.opponent))
    np.testing.assert_allclose(jax.grad(averaged)(sample.theta), closed, atol=2e-5)


@pytest.mark.parametrize("sample", SAMPLES)
def test_theorem_2_loqa_has_the_same_terms_times_one_minus_pi(sample: Sample) -> None:
    """LOQA differentiates log softmax of the other's action values through the chosen one only (eq. 53)."""
    gamma = 0.9
    rows = np.arange(TIME)

    def log_pi(shaped: Array) -> Array:
        values = sample.others_q.at[rows, sample.others_actions].add(shaped)
        fixed = jax.lax.stop_gradient(sample.others_q)
        others = jnp.exp(fixed).at[rows, sample.others_actions].set(0.0).sum(axis=1)
        chosen = values[rows, sample.others_actions]
        return chosen - jnp.log(jnp.exp(chosen) + others)

    def loqa(theta: Array) -> Array:
        shaped = loaded_dice_values(sample.log_prob(theta), sample.opponent, sample.ended, gamma)
        return gamma * (sample.own * log_pi(shaped)).sum()

    pi = jax.nn.softmax(sample.others_q)[rows, sample.others_actions]
    np.testing.assert_allclose(jnp.exp(log_pi(jnp.zeros(TIME))), pi, rtol=1e-5)
    past = past_advantages((1.0 - pi) * sample.own, sample.ended, gamma, "discounted")  # equation 12
    closed = sample.gradient(alignment(past, sample.opponent))
    found = jax.grad(loqa)(sample.theta)
    np.testing.assert_allclose(found, closed, atol=2e-5)
    without_factor = past_advantages(sample.own, sample.ended, gamma, "discounted")
    assert np.abs(found - sample.gradient(alignment(without_factor, sample.opponent))).max() > 1e-2


def test_the_exact_derivative_of_equation_7() -> None:
    """Enumerated: E[sum_k g^k A1_k grad Q2(s_k, b_k)] = E[sum_t g^t (sum_{k<t} A1_k) A2_t grad log pi].

    This is the form of equation 62, g being the discount: the sum over the past as it is, discounted by
    the time t only. The g^(t-k) of equation 8 is the paper's further choice (equation 19 has g^k there),
    which weighs the recent past more.
    """
    fixed = PARAMETERS
    own, opponent = advantages(fixed, 0), advantages(fixed, 1)
    weight = chances(fixed)

    def through_values(mine: Array) -> Array:
        """The other's values as functions of my parameters, everything else held."""
        value = values(fixed.at[0].set(mine), 1)
        total = jnp.float32(0.0)
        for k in range(STEPS):
            follows = GAMMA * value[k + 1][PATHS[:, k] + 1]
            total += (weight * GAMMA**k * own[:, k] * follows).sum()
        return total

    def closed(mine: Array) -> Array:
        log_prob = step_log_probs(fixed.at[0].set(mine))[0]
        past = jax.vmap(lambda a: past_sum(a, NO_END, 1.0))(own)
        factor = time_discount(NO_END, GAMMA)[None, :] * past * opponent
        return (weight[:, None] * factor * log_prob).sum()

    def dice(mine: Array) -> Array:
        log_prob = step_log_probs(fixed.at[0].set(mine))[0]
        shaped = jax.vmap(lambda lp, a: loaded_dice_values(lp, a, NO_END, GAMMA))(log_prob, opponent)
        return (weight[:, None] * time_discount(NO_END, GAMMA)[None, :] * own * shaped).sum()

    functions = (through_values, closed, dice)
    exact, by_formula, by_dice = jax.jit(lambda mine: [jax.grad(f)(mine) for f in functions])(fixed[0])
    assert np.abs(exact).max() > 1e-2
    np.testing.assert_allclose(by_formula, exact, atol=1e-5)
    np.testing.assert_allclose(by_dice, exact, atol=1e-5)
