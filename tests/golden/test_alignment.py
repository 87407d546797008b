"""The alignment term: by hand, against a slow double loop, and at Nash equilibria."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.returns.advantages import running_sum
from comity.returns.alignment import (
    CASES,
    PASTS,
    Case,
    Past,
    alignment,
    past_advantages,
    past_decay,
    time_discount,
)

OWN = jnp.asarray([1.0, -2.0, 3.0, 4.0, -1.0])
OPPONENT = jnp.asarray([5.0, -2.0, 4.0, 7.0, -3.0])
MIDDLE = jnp.asarray([False, False, True, False, False])


def test_discounted_past_by_hand() -> None:
    # Equations 8 and 10 with discount 1/2: .5 * (0, .5*1, .25*1 - .5*2), then a new episode: .5 * (0, .5*4)
    found = past_advantages(OWN, MIDDLE, 0.5, "discounted")
    np.testing.assert_allclose(found, [0.0, 0.25, -0.375, 0.0, 1.0])
    np.testing.assert_allclose(alignment(found, OPPONENT), [0.0, -0.5, -1.5, 0.0, -3.0])


def test_averaged_past_by_hand() -> None:
    # Equation 59: the plain sums 0, 1, 1 - 2, then 0, 4, divided by 1, 2, 3, then 1, 2; no discount at all.
    found = past_advantages(OWN, MIDDLE, 0.5, "averaged")
    np.testing.assert_allclose(found, [0.0, 1 / 2, -1 / 3, 0.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(alignment(found, OPPONENT), [0.0, -1.0, -4 / 3, 0.0, -6.0], rtol=1e-6)


def test_separately_discounted_past_by_hand() -> None:
    # Discount 1/2, further discount 1/2: .5 * (0, .25*1, .0625*1 - .25*2), then .5 * (0, .25*4)
    found = past_advantages(OWN, MIDDLE, 0.5, "separate", 0.5)
    np.testing.assert_allclose(found, [0.0, 0.125, -0.21875, 0.0, 0.5])
    np.testing.assert_allclose(alignment(found, OPPONENT), [0.0, -0.25, -0.875, 0.0, -1.5])


def test_a_further_discount_of_one_is_the_discounted_form() -> None:
    separate = past_advantages(OWN, MIDDLE, 0.9, "separate", 1.0)
    np.testing.assert_allclose(separate, past_advantages(OWN, MIDDLE, 0.9, "discounted"), rtol=1e-6)


def test_time_discount_by_hand() -> None:
    np.testing.assert_allclose(time_discount(MIDDLE, 0.5), [1.0, 0.5, 0.25, 1.0, 0.5])
    np.testing.assert_allclose(time_discount(MIDDLE, 1.0), 1.0)


def test_modified_advantage_by_hand() -> None:
    """Equation 61 with discount 1/2 and weight 2: the whole factor of the score function."""
    star = OWN + 2.0 * alignment(past_advantages(OWN, MIDDLE, 0.5), OPPONENT)
    np.testing.assert_allclose(star, [1.0, -3.0, 0.0, 4.0, -7.0])
    np.testing.assert_allclose(time_discount(MIDDLE, 0.5) * star, [1.0, -1.5, 0.0, 4.0, -3.5])


# One entry per case, in the order of CASES, then entries where one factor is 0.
PAST = jnp.asarray([2.0, 2.0, -2.0, -2.0, 0.0, 3.0])
NOW = jnp.asarray([3.0, -3.0, 3.0, -3.0, 5.0, 0.0])
TERM = np.asarray([6.0, -6.0, -6.0, 6.0, 0.0, 0.0])


def test_cases_are_named_by_the_signs() -> None:
    assert CASES == ("cooperative", "empathetic", "vengeful", "spiteful")


@pytest.mark.parametrize("without", [c for n in range(5) for c in itertools.combinations(CASES, n)])
def test_masks_in_every_combination(without: tuple[Case, ...]) -> None:
    keep = np.asarray([case not in without for case in CASES] + [True, True])
    np.testing.assert_allclose(alignment(PAST, NOW, without), np.where(keep, TERM, 0.0))
    np.testing.assert_allclose(alignment(PAST, NOW, without[::-1]), np.where(keep, TERM, 0.0))


def slow_term(
    own: np.ndarray,
    opponent: np.ndarray,
    ended: np.ndarray,
    discount: float,
    form: str,
    past_discount: float,
    without: tuple[str, ...] = (),
) -> np.ndarray:
    """Equation by equation, step by step."""
    term = np.zeros(len(own))
    for t in range(len(own)):
        past, time = 0.0, 0
        for k in range(t - 1, -1, -1):
            if ended[k]:
                break
            time += 1
            factor = {"discounted": discount, "separate": discount * past_discount, "averaged": 1.0}[form]
            past += factor ** (t - k) * own[k]
        past *= 1.0 / (1.0 + time) if form == "averaged" else discount
        if past >= 0:
            name = "cooperative" if opponent[t] >= 0 else "empathetic"
        else:
            name = "vengeful" if opponent[t] >= 0 else "spiteful"
        term[t] = 0.0 if name in without else past * opponent[t]
    return term


@pytest.mark.parametrize("form", PASTS)
def test_every_form_equals_a_double_loop(form: Past) -> None:
    for seed in range(8):
        generator = np.random.default_rng(seed)
        own, opponent = generator.normal(size=(2, 15)).astype(np.float32)
        ended = generator.random(15) < 0.2
        without: Any = tuple(case for case in CASES if generator.random() < 0.3)
        past = past_advantages(jnp.asarray(own), jnp.asarray(ended), 0.9, form, 0.8)
        found = alignment(past, jnp.asarray(opponent), without)
        expected = slow_term(own, opponent, ended, 0.9, form, 0.8, without)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", PASTS)
def test_a_past_that_lasts_is_the_same_in_two_rollouts_as_in_one(form: Past) -> None:
    generator = np.random.default_rng(0)
    own = jnp.asarray(generator.normal(size=12), jnp.float32)
    ended = jnp.zeros(12, jnp.bool_).at[2].set(True).at[9].set(True)
    whole = past_advantages(own, ended, 0.9, form, 0.8)
    first, rest = slice(0, 7), slice(7, 12)
    total, _ = running_sum(own[first], ended[first], past_decay(0.9, form, 0.8), 0.0)
    after = past_advantages(own[rest], ended[rest], 0.9, form, 0.8, total, 4.0)
    np.testing.assert_allclose(after, whole[rest], rtol=1e-5)
    begun = past_advantages(own[rest], ended[rest], 0.9, form, 0.8)
    assert not np.allclose(begun[0], whole[7])
    np.testing.assert_allclose(begun[3:], whole[10:], rtol=1e-5)


@pytest.mark.parametrize("form", PASTS)
def test_only_the_past_of_the_same_episode_counts(form: Past) -> None:
    """The derivative of entry t by the own advantage of step k is not 0 exactly if k < t, same episode."""
    jacobian = jax.jacobian(lambda own: past_advantages(own, MIDDLE, 0.9, form))(OWN)
    reach = np.zeros((5, 5), bool)
    reach[1, 0] = reach[2, 0] = reach[2, 1] = reach[4, 3] = True
    assert np.array_equal(np.asarray(jacobian) != 0, reach)


# ---- Theorem 3 -----------------------------------------------------------------------------------------
# The repeated matrix game is enumerated: every path of three steps, with its exact probability and exact
# advantages. A policy gives the probability of the first action in each of five states: the start, and
# after each joint action. Player 2's states are numbered from player 1's side too.

STEPS, DISCOUNT = 3, 0.9
PATHS = np.asarray(list(itertools.product(range(4), repeat=STEPS)))  # joint actions 2a + b
STATES = np.concatenate([np.zeros((len(PATHS), 1), int), PATHS[:, :-1] + 1], axis=1)
NO_END = jnp.zeros(STEPS, jnp.bool_)

PENNIES = np.asarray([[[1.0, -1.0], [-1.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]])
CHICKEN = np.asarray([[[0.0, -1.0], [1.0, -10.0]], [[0.0, 1.0], [-1.0, -10.0]]])
DILEMMA = np.asarray([[[-1.0, -3.0], [0.0, -2.0]], [[-1.0, 0.0], [-3.0, -2.0]]])
PENNIES_EQUILIBRIUM = 0.5
CHICKEN_EQUILIBRIUM = 0.9  # 0 q - (1 - q) = q - 10 (1 - q)


def everywhere(probability: float) -> np.ndarray:
    """The same mixed action in every state: an equilibrium of the stage game is one of the repeated game."""
    return np.full(5, probability)


def joint_probabilities(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[state, joint action]"""
    a, b = np.stack([first, 1 - first], axis=1), np.stack([second, 1 - second], axis=1)
    return (a[:, :, None] * b[:, None, :]).reshape(5, 4)


def exact_advantages(payoffs: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A(s, a, b) for each player along each path, [player, path, time]."""
    chances = joint_probabilities(first, second)
    found = np.zeros((2, len(PATHS), STEPS))
    for player in range(2):
        value = np.zeros(5)
        for t in reversed(range(STEPS)):
            worth = (
                payoffs[player].reshape(4) + DISCOUNT * value[1:]
            )  # after joint action j comes state j + 1
            value = chances @ worth
            found[player, :, t] = worth[PATHS[:, t]] - value[STATES[:, t]]
    return found


def own_action_advantages(payoffs: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A(s, own action), the other's action averaged out, as in Lemma 2."""
    chances = joint_probabilities(first, second)
    own = (np.stack([first, 1 - first], axis=1), np.stack([second, 1 - second], axis=1))
    found = np.zeros((2, len(PATHS), STEPS))
    for player in range(2):
        value = np.zeros(5)
        for t in reversed(range(STEPS)):
            worth = (payoffs[player].reshape(4) + DISCOUNT * value[1:]).reshape(2, 2)
            value = chances @ worth.reshape(4)
            others = own[1 - player][STATES[:, t]]  # the other's probabilities
            choices = worth if player == 0 else worth.T
            mine = PATHS[:, t] // 2 if player == 0 else PATHS[:, t] % 2
            found[player, :, t] = (choices[mine] * others).sum(axis=1) - value[STATES[:, t]]
    return found


def terms(advantages: np.ndarray) -> np.ndarray:
    """The alignment term of player 1 along each path, [path, time]."""
    own, opponent = (jnp.asarray(x, jnp.float32) for x in advantages)
    past = jax.vmap(lambda a: past_advantages(a, NO_END, DISCOUNT))(own)
    return np.asarray(jax.vmap(alignment)(past, opponent))


def expected_gradient(
    advantages: np.ndarray, first: np.ndarray, second: np.ndarray, tied: bool = False
) -> np.ndarray:
    """E[sum_t term_t grad log pi(a_t|s_t)] by player 1's logits: five, or one for all states if tied."""
    chances = joint_probabilities(first, second)
    path_chance = np.prod(chances[STATES, PATHS], axis=1)
    score = np.where(PATHS // 2 == 0, 1 - first[STATES], -first[STATES])  # d log pi / d logit of action 0
    weighted = path_chance[:, None] * terms(advantages) * score
    gradient = np.asarray([weighted[state == STATES].sum() for state in range(5)])
    return gradient.sum(keepdims=True) if tied else gradient


SOME = np.asarray([0.7, 0.8, 0.3, 0.6, 0.2])
OTHER = np.asarray([0.4, 0.9, 0.5, 0.3, 0.6])
EQUILIBRIA = [
    pytest.param(PENNIES, PENNIES_EQUILIBRIUM, id="matching pennies"),
    pytest.param(CHICKEN, CHICKEN_EQUILIBRIUM, id="chicken"),
    pytest.param(DILEMMA, 0.0, id="prisoner's dilemma"),
]


@pytest.mark.parametrize(("payoffs", "equilibrium"), EQUILIBRIA)
def test_theorem_3_terms_vanish_at_an_equilibrium_and_not_elsewhere(
    payoffs: np.ndarray, equilibrium: float
) -> None:
    """Lemma 2: where no deviation pays, the advantages of what is played are 0, and so is every term."""
    nash = everywhere(equilibrium)
    played = np.prod(joint_probabilities(nash, nash)[STATES, PATHS], axis=1) > 0
    at_nash = terms(own_action_advantages(payoffs, nash, nash))
    np.testing.assert_allclose(at_nash[played], 0.0, atol=1e-5)
    assert np.abs(terms(own_action_advantages(payoffs, SOME, OTHER))).max() > 0.05


@pytest.mark.parametrize(
    ("payoffs", "equilibrium"), [EQUILIBRIA[0], EQUILIBRIA[2]], ids=["matching pennies", "prisoner's dilemma"]
)
def test_theorem_3_expected_gradient_with_advantages_of_joint_actions(
    payoffs: np.ndarray, equilibrium: float
) -> None:
    """The estimate that is used has A(s, a, b): zero at a pure or a zero-sum equilibrium, not elsewhere."""
    nash = everywhere(equilibrium)
    at_nash = expected_gradient(exact_advantages(payoffs, nash, nash), nash, nash)
    np.testing.assert_allclose(at_nash, 0.0, atol=1e-6)
    elsewhere = expected_gradient(exact_advantages(payoffs, SOME, OTHER), SOME, OTHER)
    assert np.abs(elsewhere).max() > 1e-3


@pytest.mark.parametrize(("payoffs", "equilibrium"), EQUILIBRIA)
def test_theorem_3_in_one_state(payoffs: np.ndarray, equilibrium: float) -> None:
    """A player that does not see the past: the expected term is 0 at the equilibrium.

    It is 0 elsewhere too: past advantages have mean 0 and nothing that is done now can answer them.
    """
    for first, second in ((equilibrium, equilibrium), (0.3, 0.8)):
        one, two = everywhere(first), everywhere(second)
        found = expected_gradient(exact_advantages(payoffs, one, two), one, two, tied=True)
        np.testing.assert_allclose(found, 0.0, atol=1e-5)


def test_theorem_3_needs_the_advantages_of_own_actions() -> None:
    """At chicken's mixed equilibrium the term with A(s, a, b) does not vanish for a player with memory.

    Player 2 is indifferent among its own actions there, not among player 1's: player 1 still answers a
    good past with what is good for player 2. The theorem's proof needs Lemma 2's advantages.
    """
    nash = everywhere(CHICKEN_EQUILIBRIUM)
    joint = expected_gradient(exact_advantages(CHICKEN, nash, nash), nash, nash)
    assert np.abs(joint).max() > 1e-2
    own = expected_gradient(own_action_advantages(CHICKEN, nash, nash), nash, nash)
    np.testing.assert_allclose(own, 0.0, atol=1e-6)
