"""LOQA's closed forms against automatic differentiation of the objectives that the paper writes down."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from comity.returns import opponent_q
from comity.returns.alignment import alignment, past_advantages
from comity.returns.dice import loaded_dice_values, magic_box

LENGTH, ACTIONS, GAMMA, TEMPERATURE = 9, 3, 0.9, 0.7
ENDED = jnp.zeros(LENGTH, jnp.bool_).at[3].set(True)  # an episode of four steps, and one that goes on
EPISODE = np.asarray([0, 0, 0, 0, 1, 1, 1, 1, 1])


class Played:
    """A random trajectory: log-probabilities that depend on nine parameters, and all that is constant."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed).normal
        self.own = jnp.asarray(draw(size=LENGTH), jnp.float32)
        self.reward = jnp.asarray(draw(size=LENGTH), jnp.float32)
        self.advantage = jnp.asarray(draw(size=LENGTH), jnp.float32)
        self.next_value = jnp.asarray(draw(size=LENGTH), jnp.float32)
        self.values = jnp.asarray(draw(size=(LENGTH, ACTIONS)), jnp.float32)
        self.action = jnp.asarray(np.random.default_rng(seed).integers(0, ACTIONS, LENGTH))
        self.log_prob = jnp.asarray(draw(size=LENGTH), jnp.float32)


def slow_estimate(played: Played, log_prob: Array, steps: int, fade: float, bootstrap: bool) -> list[Array]:
    """Q-hat of each step, term by term, every reward with the box of my later acts before it."""
    found = []
    for t in range(LENGTH):
        end = max(k for k in range(LENGTH) if EPISODE[k] == EPISODE[t])
        m = min(t + steps - 1, end)
        total = jnp.float32(0.0)
        for k in range(t, m + 1):
            box = magic_box(sum((fade ** (k - j) * log_prob[j] for j in range(t + 1, k + 1)), jnp.float32(0)))
            total = total + GAMMA ** (k - t) * box * played.reward[k]
            if k == m and bootstrap:
                total = total + GAMMA ** (k + 1 - t) * box * played.next_value[k]
        found.append(total)
    return found


def slow_objective(played: Played, estimates: list[Array]) -> Array:
    """sum_t A1_t log pi-hat(b_t | s_t)."""
    total = jnp.float32(0.0)
    for t, estimate in enumerate(estimates):
        logits = played.values[t].at[played.action[t]].set(estimate) / TEMPERATURE
        total = total + played.own[t] * jax.nn.log_softmax(logits)[played.action[t]]
    return total


def strength(played: Played, estimate: Array) -> Array:
    share = opponent_q.softmax_share(estimate, played.values, played.action, TEMPERATURE)
    return played.own * (1.0 - share) / TEMPERATURE


def slope(objective: Callable[[Array], Array], played: Played) -> Array:
    return jax.jit(jax.grad(objective))(played.log_prob)


@pytest.mark.parametrize("fade", [1.0, 0.6])
def test_dice_equals_automatic_differentiation(fade: float) -> None:
    played = Played(1)
    nothing = jnp.zeros(LENGTH)
    expected = slope(
        lambda lp: slow_objective(played, slow_estimate(played, lp, LENGTH, fade, False)), played
    )
    returns = opponent_q.n_step_returns(played.reward, nothing, ENDED, GAMMA, LENGTH)
    found = opponent_q.dice_term(strength(played, returns), played.reward, ENDED, GAMMA, fade)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert np.abs(np.asarray(expected)).max() > 0.5


@pytest.mark.long
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("fade", [1.0, 0.6])
def test_n_step_equals_automatic_differentiation(steps: int, fade: float) -> None:
    played = Played(2)
    expected = slope(lambda lp: slow_objective(played, slow_estimate(played, lp, steps, fade, True)), played)
    returns = opponent_q.n_step_returns(played.reward, played.next_value, ENDED, GAMMA, steps)
    found = opponent_q.n_step_term(
        strength(played, returns), played.reward, played.next_value, ENDED, GAMMA, steps, fade
    )
    np.testing.assert_allclose(found, expected, atol=2e-5)
    # One step ahead there is nothing that I do later.
    assert (np.abs(np.asarray(expected)).max() > 0.3) == (steps > 1)


@pytest.mark.parametrize("steps", [1, 3, 20])
def test_n_step_returns_equal_a_loop(steps: int) -> None:
    played = Played(3)
    slow = jnp.stack(slow_estimate(played, played.log_prob, steps, 1.0, True))
    found = opponent_q.n_step_returns(played.reward, played.next_value, ENDED, GAMMA, steps)
    np.testing.assert_allclose(found, slow, atol=1e-5)


def test_loaded_dice_equals_automatic_differentiation() -> None:
    played = Played(4)
    returns = played.advantage + 0.3

    def objective(log_prob: Array) -> Array:
        later = loaded_dice_values(log_prob, played.advantage, ENDED, GAMMA)
        return slow_objective(played, [later[t] + returns[t] for t in range(LENGTH)])

    found = opponent_q.loaded_dice_term(strength(played, returns), played.advantage, ENDED, GAMMA)
    np.testing.assert_allclose(found, slope(objective, played), atol=2e-5)


def test_with_a_constant_partition_it_is_advantage_alignment() -> None:
    played = Played(5)
    found = opponent_q.loaded_dice_term(played.own, played.advantage, ENDED, GAMMA)
    past = past_advantages(played.own, ENDED, GAMMA) / GAMMA
    np.testing.assert_allclose(found, alignment(past, played.advantage), atol=1e-6)


def test_softmax_share_puts_the_estimate_in_the_place_of_the_action_taken() -> None:
    values = jnp.asarray([[1.0, 2.0, -1.0]])
    share = opponent_q.softmax_share(jnp.asarray([1.5]), values, jnp.asarray([1]), 0.5)
    expected = np.exp(3.0) / (np.exp(2.0) + np.exp(3.0) + np.exp(-2.0))
    np.testing.assert_allclose(share, [expected], rtol=1e-6)
