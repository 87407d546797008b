"""V-trace beside rlax's numbers, beside its definition as a double sum, and where it converges."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.returns import advantages
from comity.returns.vtrace import vtrace
from tests.golden.test_advantages import (
    LAST,
    NEVER,
    NEXT,
    NEXT_ACTS,
    REWARD,
    TURN_LAST,
    TURN_NEXT,
    TURN_REWARD,
    TURN_VALUE,
    VALUE,
)

# Called with a stream of arrays, whose number is not known to the type checker.
VTRACE: Any = vtrace
LAMBDA_RETURNS: Any = advantages.lambda_returns
GAE: Any = advantages.gae

# From rlax 0.1.9: vtrace_td_error_and_advantage with both thresholds of rho alike, discount .9, float32.
RLAX = json.loads((Path(__file__).parent / "vtrace_rlax.json").read_text())


@pytest.mark.parametrize("case", RLAX)
def test_vtrace_is_that_of_rlax(case: dict) -> None:
    value = jnp.asarray(case["value"])
    following = jnp.append(value[1:], case["last"])
    ends = jnp.asarray(case["ends"])
    found = vtrace(
        jnp.asarray(case["reward"]), value, following, ends, ends, jnp.asarray(case["ratio"]), 0.9,
        case["lam"], case["rho_clip"],
    )  # fmt: skip
    np.testing.assert_allclose(found.target, case["target"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.advantage, case["advantage"], rtol=1e-6, atol=1e-6)


def random_stream(seed: int, time: int = 12) -> tuple[np.ndarray, ...]:
    """A stream in which the next value is the next step's, but for ends, some of which are the clock's."""
    generator = np.random.default_rng(seed)
    reward, value, beyond = generator.normal(size=(3, time))
    ended = generator.random(time) < 0.3
    terminated = ended & (generator.random(time) < 0.5)
    inside = ~ended & (np.arange(time) < time - 1)
    following = np.where(inside, np.roll(value, -1), beyond)
    return reward, value, following, terminated, ended, np.exp(generator.normal(size=time))


def on_device(*arrays: np.ndarray) -> Any:
    return [jnp.asarray(x, jnp.float32 if x.dtype == np.float64 else x.dtype) for x in arrays]


@pytest.mark.parametrize("seed", range(6))
def test_vtrace_is_its_definition(seed: int) -> None:
    r"""v_s = V(s) + sum_t gamma^(t - s) (prod_{i<t} c_i) rho_t delta_t, as far as the episode goes."""
    reward, value, following, terminated, ended, ratio = random_stream(seed)
    discount, gae_lambda, rho_clip, c_clip = 0.9, 0.8, 2.0, 0.7
    rho, c = np.minimum(ratio, rho_clip), gae_lambda * np.minimum(ratio, c_clip)
    delta = rho * (reward + discount * np.where(terminated, 0.0, following) - value)
    target = value.copy()
    for s in range(len(reward)):
        weight = 1.0
        for t in range(s, len(reward)):
            target[s] += weight * delta[t]
            weight *= discount * c[t]
            if ended[t]:
                break
    mixed = following.copy()
    for t in range(len(reward) - 1):
        if not ended[t]:
            mixed[t] = gae_lambda * target[t + 1] + (1 - gae_lambda) * value[t + 1]
    advantage = rho * (reward + discount * np.where(terminated, 0.0, mixed) - value)
    stream = on_device(reward, value, following, terminated, ended, ratio)
    found = VTRACE(*stream, discount, gae_lambda, rho_clip, c_clip)
    np.testing.assert_allclose(found.target, target, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.advantage, advantage, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("gae_lambda", [0.0, 0.6, 1.0])
def test_on_policy_it_is_the_lambda_return_and_the_generalised_advantage(gae_lambda: float) -> None:
    stream = on_device(*random_stream(7)[:5])
    found = VTRACE(*stream, jnp.ones(12), 0.9, gae_lambda)
    target = LAMBDA_RETURNS(*stream, 0.9, gae_lambda)
    advantage = GAE(*stream, 0.9, gae_lambda)
    np.testing.assert_allclose(found.target, target, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.advantage, advantage, rtol=1e-5, atol=1e-6)


def test_clipped_ratios_by_hand() -> None:
    ratio = jnp.asarray([2.0, 0.5, 1.0])
    target, advantage = vtrace(REWARD, VALUE, NEXT, NEVER, LAST, ratio, 0.5)
    # deltas 1, 1.75, 2.5; rho 1, .5, 1; c 1, .5, -
    last = 2.5
    middle = 0.5 * 1.75 + 0.5 * 0.5 * last
    first = 1.0 * 1.0 + 0.5 * 1.0 * middle
    np.testing.assert_allclose(target - VALUE, [first, middle, last], rtol=1e-6)
    # A larger rho lets the first error count twice; the trace is cut as before.
    target, advantage = vtrace(REWARD, VALUE, NEXT, NEVER, LAST, ratio, 0.5, rho_clip=3.0)
    np.testing.assert_allclose(target[0] - VALUE[0], 2.0 + 0.5 * middle, rtol=1e-6)
    np.testing.assert_allclose(advantage[0], 2.0 * (1.0 + 0.5 * (1.0 + middle) - 0.5), rtol=1e-6)
    # A smaller c lets less of what follows through; rho is as before.
    target, _ = vtrace(REWARD, VALUE, NEXT, NEVER, LAST, ratio, 0.5, c_clip=0.5)
    np.testing.assert_allclose(target[0] - VALUE[0], 1.0 + 0.25 * middle, rtol=1e-6)


def test_moves_and_the_waiting_after_them_are_one_step() -> None:
    steps = advantages.step_discounts(NEXT_ACTS, 0.5, 1.0)
    ratio = jnp.asarray([0.5, 1.0, 2.0, 1.0, 1.0])
    found = vtrace(TURN_REWARD, TURN_VALUE, TURN_NEXT, TURN_LAST, TURN_LAST, ratio, *steps)
    own = vtrace(
        jnp.asarray([2.0, 4.0, 8.0]),
        TURN_VALUE[::2],
        jnp.asarray([3.0, 5.0, 99.0]),
        LAST,
        LAST,
        ratio[::2],
        0.5,
    )
    np.testing.assert_allclose(found.target[::2], own.target, rtol=1e-6)
    np.testing.assert_allclose(found.advantage[::2], own.advantage, rtol=1e-6)


DISCOUNT = 0.8
NEXT_STATE = np.array([[1, 2], [2, 0], [0, 1]])  # of each state, after each action
PAYS = np.array([[1.0, 0.0], [0.0, 3.0], [-1.0, 2.0]])
PLAYED = np.array([[0.8, 0.2], [0.3, 0.7], [0.9, 0.1]])  # mu
LEARNED = np.array([[0.2, 0.8], [0.6, 0.4], [0.2, 0.8]])  # pi


def value_of(policy: np.ndarray) -> np.ndarray:
    """The value of each state, by linear algebra."""
    transition = np.zeros((3, 3))
    for s in range(3):
        for a in range(2):
            transition[s, NEXT_STATE[s, a]] += policy[s, a]
    return np.linalg.solve(np.eye(3) - DISCOUNT * transition, (policy * PAYS).sum(axis=1))


def fixed_point(rho_clip: float, c_clip: float, iterations: int = 150) -> np.ndarray:
    """Where values converge that are replaced by expected targets, over all plays of four steps."""
    actions = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T  # [play, time]
    states = np.zeros((3, 16, 5), int)
    states[:, :, 0] = np.arange(3)[:, None]
    for t in range(4):
        states[:, :, t + 1] = NEXT_STATE[states[:, :, t], actions[None, :, t]]
    taken = np.broadcast_to(actions, (3, 16, 4))
    before, after = states[..., :-1], states[..., 1:]
    chance = jnp.asarray(PLAYED[before, taken].prod(axis=-1), jnp.float32)
    ratio = jnp.asarray((LEARNED / PLAYED)[before, taken], jnp.float32)
    reward = jnp.asarray(PAYS[before, taken], jnp.float32)
    never = jnp.zeros(4, bool)

    def first_target(
        reward: jax.Array, value: jax.Array, following: jax.Array, ratio: jax.Array
    ) -> jax.Array:
        return vtrace(
            reward, value, following, never, never, ratio, DISCOUNT, rho_clip=rho_clip, c_clip=c_clip
        ).target[0]

    def replace(value: jax.Array, _: None) -> tuple[jax.Array, None]:
        targets = jax.vmap(jax.vmap(first_target))(reward, value[before], value[after], ratio)
        return (chance * targets).sum(axis=1), None

    return np.asarray(jax.lax.scan(replace, jnp.zeros(3), None, iterations)[0])


@pytest.mark.parametrize(("rho_clip", "c_clip"), [(1.0, 1.0), (2.0, 1.0), (2.0, 0.3), (100.0, 1.0)])
def test_values_converge_to_those_of_the_clipped_policy(rho_clip: float, c_clip: float) -> None:
    clipped = np.minimum(rho_clip * PLAYED, LEARNED)
    expected = value_of(clipped / clipped.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(fixed_point(rho_clip, c_clip), expected, rtol=1e-4, atol=1e-4)
    far = np.abs(expected - value_of(LEARNED)).max()
    assert (far < 1e-9) == (rho_clip == 100.0)  # clipping changes what is learned, c does not
