"""Hand-computed returns and advantages, and a slow double loop to compare with."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.returns import advantages, surrogates

REWARD = jnp.asarray([1.0, 2.0, 3.0])
VALUE = jnp.asarray([0.5, 1.0, 1.5])
NEXT = jnp.asarray([1.0, 1.5, 2.0])
NEVER = jnp.asarray([False, False, False])
LAST = jnp.asarray([False, False, True])
MIDDLE = jnp.asarray([False, True, False])


def test_td_error() -> None:
    # 1 + .5*1 - .5, 2 + .5*1.5 - 1, 3 + .5*2 - 1.5
    found = advantages.td_error(REWARD, VALUE, NEXT, NEVER, 0.5)
    np.testing.assert_allclose(found, [1.0, 1.75, 2.5])
    # terminated at the end: 3 - 1.5
    np.testing.assert_allclose(advantages.td_error(REWARD, VALUE, NEXT, LAST, 0.5)[2], 1.5)


def test_gae_by_hand() -> None:
    # deltas 1, 1.75, 2.5; discount * gae_lambda = .25
    found = advantages.gae(REWARD, VALUE, NEXT, NEVER, LAST, 0.5, 0.5)
    np.testing.assert_allclose(found, [1 + 0.25 * (1.75 + 0.25 * 2.5), 1.75 + 0.25 * 2.5, 2.5])


def test_gae_does_not_leak_across_an_end() -> None:
    truncated = advantages.gae(REWARD, VALUE, NEXT, NEVER, MIDDLE, 0.5, 0.5)
    np.testing.assert_allclose(truncated, [1 + 0.25 * 1.75, 1.75, 2.5])
    terminated = advantages.gae(REWARD, VALUE, NEXT, MIDDLE, MIDDLE, 0.5, 0.5)
    np.testing.assert_allclose(terminated, [1 + 0.25 * 1.0, 1.0, 2.5])


def test_gae_limits() -> None:
    one_step = advantages.gae(REWARD, VALUE, NEXT, NEVER, LAST, 0.9, 0.0)
    np.testing.assert_allclose(one_step, advantages.td_error(REWARD, VALUE, NEXT, NEVER, 0.9), rtol=1e-6)
    # With the successor's values equal to the next step's, trace 1 is the return minus the value.
    following = jnp.asarray([1.0, 1.5, 2.0])
    monte_carlo = advantages.gae(REWARD, VALUE, following, NEVER, LAST, 0.9, 1.0)
    returns = advantages.discounted_returns(REWARD, following, NEVER, LAST, 0.9)
    np.testing.assert_allclose(monte_carlo, returns - VALUE, rtol=1e-6)


def test_discounted_returns_by_hand() -> None:
    found = advantages.discounted_returns(REWARD, NEXT, NEVER, LAST, 0.5)
    np.testing.assert_allclose(found, [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4, 3 + 0.5 * 2])
    ended = advantages.discounted_returns(REWARD, NEXT, LAST, LAST, 0.5)
    np.testing.assert_allclose(ended, [1 + 0.5 * (2 + 0.5 * 3), 2 + 0.5 * 3, 3])


def test_past_sum_by_hand() -> None:
    x = jnp.asarray([1.0, 2.0, 4.0, 8.0])
    ended = jnp.asarray([False, False, True, False])
    np.testing.assert_allclose(advantages.past_sum(x, ended, 0.5), [0, 0.5, 0.5 * 2 + 0.25 * 1, 0])
    np.testing.assert_allclose(advantages.episode_time(ended), [0, 1, 2, 0])


@pytest.mark.parametrize("seed", range(5))
def test_gae_equals_a_double_loop(seed: int) -> None:
    generator = np.random.default_rng(seed)
    time = 12
    reward, value, following = generator.normal(size=(3, time)).astype(np.float32)
    ended = generator.random(time) < 0.3
    terminated = ended & (generator.random(time) < 0.5)
    discount, trace = 0.9, 0.7
    slow = np.zeros(time)
    for t in range(time):
        weight = 1.0
        for k in range(t, time):
            bootstrap = 0.0 if terminated[k] else discount * following[k]
            slow[t] += weight * (reward[k] + bootstrap - value[k])
            weight *= discount * trace
            if ended[k]:
                break
    found = advantages.gae(
        jnp.asarray(reward), jnp.asarray(value), jnp.asarray(following), jnp.asarray(terminated),
        jnp.asarray(ended), discount, trace,
    )  # fmt: skip
    np.testing.assert_allclose(np.asarray(found), slow, rtol=1e-4, atol=1e-5)


def test_clipped_surrogate_by_hand() -> None:
    ratio = jnp.asarray([1.5, 1.5, 0.5, 0.5])
    advantage = jnp.asarray([1.0, -1.0, 1.0, -1.0])
    np.testing.assert_allclose(
        surrogates.clipped_surrogate(ratio, advantage, 0.2), [1.2, -1.5, 0.5, -0.8], rtol=1e-6
    )


def test_clipped_value_loss_takes_the_larger_error() -> None:
    # The clipped prediction is nearer to the target, but the plain error counts.
    found = surrogates.clipped_value_loss(jnp.asarray(1.0), jnp.asarray(0.0), jnp.asarray(0.2), 0.2)
    np.testing.assert_allclose(found, 0.5 * 0.8**2, rtol=1e-6)


def test_approximate_kl_has_the_right_mean() -> None:
    old, new = jnp.asarray([0.3, 0.7]), jnp.asarray([0.6, 0.4])
    log_ratio = jnp.log(new) - jnp.log(old)
    estimate = (old * surrogates.approximate_kl(log_ratio)).sum()
    np.testing.assert_allclose(estimate, (old * (jnp.log(old) - jnp.log(new))).sum(), rtol=1e-5)


def test_normalise_ignores_masked_entries() -> None:
    x, weight = jnp.asarray([1.0, 3.0, 100.0]), jnp.asarray([1.0, 1.0, 0.0])
    found = surrogates.normalise(x, weight)
    np.testing.assert_allclose(found[:2], [-1.0, 1.0], rtol=1e-5)
    np.testing.assert_allclose(surrogates.weighted_mean(x, weight), 2.0)


def test_advantages_are_differentiable_functions_of_arrays_only() -> None:
    gradient = jax.grad(lambda r: advantages.gae(r, VALUE, NEXT, NEVER, LAST, 0.5, 0.5).sum())(REWARD)
    np.testing.assert_allclose(gradient, [1.0, 1.25, 1 + 0.25 + 0.0625], rtol=1e-6)


# ---- Seats that wait ------------------------------------------------------------------------------------
# Two players move in turn; the first acts at times 0, 2 and 4, its rewards come while the other moves
# (times 1 and 3) and with its last move, which ends the game.
NEXT_ACTS = jnp.asarray([False, True, False, True, False])
TURN_REWARD = jnp.asarray([0.0, 2.0, 0.0, 4.0, 8.0])
TURN_VALUE = jnp.asarray([1.0, 70.0, 3.0, -90.0, 5.0])  # what is said while waiting must not matter
TURN_NEXT = jnp.asarray([70.0, 3.0, -90.0, 5.0, 99.0])
TURN_LAST = jnp.asarray([False, False, False, False, True])


def test_step_discounts_by_hand() -> None:
    discount, gae_lambda = advantages.step_discounts(NEXT_ACTS, 0.5, 0.25)
    np.testing.assert_array_equal(discount, [1.0, 0.5, 1.0, 0.5, 1.0])
    np.testing.assert_array_equal(gae_lambda, [1.0, 0.25, 1.0, 0.25, 1.0])


def test_rewards_while_waiting_belong_to_the_last_own_move() -> None:
    steps = advantages.step_discounts(NEXT_ACTS, 0.5, 0.25)
    found = advantages.gae(TURN_REWARD, TURN_VALUE, TURN_NEXT, TURN_LAST, TURN_LAST, *steps)
    # Own moves only: deltas 2 + .5*3 - 1 = 2.5, 4 + .5*5 - 3 = 3.5, 8 - 5 = 3; discount * lambda = .125.
    second = 3.5 + 0.125 * 3.0
    np.testing.assert_allclose(found[::2], [2.5 + 0.125 * second, second, 3.0], rtol=1e-6)
    # The same as the decision process that has own moves only.
    own = advantages.gae(
        jnp.asarray([2.0, 4.0, 8.0]), TURN_VALUE[::2], jnp.asarray([3.0, 5.0, 99.0]), LAST, LAST, 0.5, 0.25
    )
    np.testing.assert_allclose(found[::2], own, rtol=1e-6)
    targets = advantages.lambda_returns(TURN_REWARD, TURN_VALUE, TURN_NEXT, TURN_LAST, TURN_LAST, *steps)
    np.testing.assert_allclose(targets, TURN_VALUE + found, rtol=1e-6)


def test_a_game_that_is_cut_off_while_one_waits_is_bootstrapped_there() -> None:
    """The clock stops the game after the other's move at time 1; the seat would have moved next."""
    cut = jnp.asarray([False, True])
    discount, gae_lambda = advantages.step_discounts(jnp.asarray([False, True]), 0.5, 0.25)
    found = advantages.gae(
        TURN_REWARD[:2], TURN_VALUE[:2], TURN_NEXT[:2], jnp.zeros(2, bool), cut, discount, gae_lambda
    )
    np.testing.assert_allclose(found[0], 2.0 + 0.5 * 3.0 - 1.0, rtol=1e-6)


def test_returns_of_own_moves_are_discounted_in_own_moves() -> None:
    discount, _ = advantages.step_discounts(NEXT_ACTS, 0.5, 1.0)
    found = advantages.discounted_returns(TURN_REWARD, TURN_NEXT, TURN_LAST, TURN_LAST, discount)
    # 2 + .5*(4 + .5*8), 2 + .5*8, 4 + .5*8, 4 + .5*8, 8: as seen from each step, waiting ones too
    np.testing.assert_allclose(found, [6.0, 6.0, 8.0, 8.0, 8.0], rtol=1e-6)


@pytest.mark.parametrize("name", ["gae", "lambda_returns"])
def test_equal_numbers_per_step_are_one_number(name: str) -> None:
    function = getattr(advantages, name)
    whole = function(REWARD, VALUE, NEXT, NEVER, LAST, 0.9, 0.8)
    each = function(REWARD, VALUE, NEXT, NEVER, LAST, jnp.full(3, 0.9), jnp.full(3, 0.8))
    np.testing.assert_allclose(whole, each, rtol=1e-6)
    td = advantages.td_error(REWARD, VALUE, NEXT, NEVER, jnp.full(3, 0.9))
    np.testing.assert_array_equal(td, advantages.td_error(REWARD, VALUE, NEXT, NEVER, 0.9))
