"""Models of others: five probabilities, Bayes' rule by hand, calibration, and what a best response earns."""

from typing import Any

import jax
import numpy as np
import pytest

import comity
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.evaluate.opponent_model import (
    as_memory_one,
    calibration_error,
    clone,
    infer_types,
    likelihoods,
    log_loss,
    steps_until_noticed,
)
from comity.play.match import play
from comity.theory import NormalFormGame, best_reply, repeated_values
from comity.theory.repeated.memory_one import MemoryOne

STRATEGY = (0.7, 0.9, 0.2, 0.6, 0.4)
NAMES = ("first", "after_cc", "after_cd", "after_dc", "after_dd")
GAME = comity.make_game("prisoners-dilemma", horizon=50)
DILEMMA = NormalFormGame.symmetric([[-1.0, -3.0], [0.0, -2.0]])


def memory_one(strategy: Any, game: Environment = GAME) -> Player:
    agent = comity.make_agent("memory-one", game, **dict(zip(NAMES, strategy, strict=True)))
    return Player(agent, agent.policy(agent.init(jax.random.key(0), game.spec, (0,))), game.spec)


def seen_against_random(matches: int) -> tuple[np.ndarray, np.ndarray]:
    """What the memory-one player saw and did against somebody who draws evenly."""
    joint = play(
        GAME, (memory_one(STRATEGY), comity.load_player("random", GAME)), jax.random.key(1), matches, 50
    )
    return np.asarray(joint.obs[0]), np.asarray(joint.action[0])


def test_five_probabilities_are_recovered_and_the_loss_reaches_the_entropy() -> None:
    observations, actions = seen_against_random(1200)
    model = clone(observations, actions, 5, 2)
    np.testing.assert_allclose(model[:, 0], STRATEGY, atol=0.03)
    p = np.array(STRATEGY)[observations]
    entropy = float(-(p * np.log(p) + (1 - p) * np.log(1 - p)).mean())
    fresh_seen, fresh = seen_against_random(1200)
    assert log_loss(model, fresh_seen, fresh) == pytest.approx(entropy, abs=0.01)
    assert calibration_error(model[fresh_seen, 0].ravel(), fresh.ravel() == 0) < 0.03


def test_counts_begin_with_a_prior_of_one_half_each() -> None:
    model = clone(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 3, 2)
    np.testing.assert_allclose(model, [[2.5 / 4, 1.5 / 4], [0.25, 0.75], [0.5, 0.5]])


def test_the_best_response_to_the_model_earns_what_theory_can() -> None:
    """Within .05 of the best response to the true player, both measured against the true player."""
    observations, actions = seen_against_random(200)
    model = as_memory_one(clone(observations, actions, 5, 2))
    truth = MemoryOne(STRATEGY[0], np.array(STRATEGY[1:]))
    answer = best_reply(DILEMMA, model, 0.96).strategy
    earned = repeated_values(DILEMMA, answer, truth, 0.96)[0]
    assert earned == pytest.approx(best_reply(DILEMMA, truth, 0.96).value, abs=0.05)


def test_calibration_error_by_hand() -> None:
    """Half of what is said with .8 comes true, and all that is said with .3: errors .3 and .7."""
    stated = np.array([0.8, 0.8, 0.3, 0.3])
    assert calibration_error(stated, [True, False, True, True]) == pytest.approx(0.5 * 0.3 + 0.5 * 0.7)
    assert calibration_error(np.full(4, 0.25), [True, False, False, False]) == 0.0


def test_bayes_by_hand() -> None:
    """Two types that cooperate with .9 and .5, after one cooperation and one defection."""
    likelihood = np.array([[[0.9, 0.5]], [[0.1, 0.5]]])
    found = infer_types(likelihood)[:, 0]
    np.testing.assert_allclose(found[0], [0.5, 0.5])
    np.testing.assert_allclose(found[1], [0.9 / 1.4, 0.5 / 1.4])
    np.testing.assert_allclose(found[2], [0.09 / 0.34, 0.25 / 0.34])
    with_hazard = infer_types(likelihood, np.array([1.0, 0.0]), hazard=0.2)[1, 0]
    np.testing.assert_allclose(with_hazard, [0.9 * 0.9 / (0.81 + 0.05), 0.05 / (0.81 + 0.05)])
    with pytest.raises(ComityError, match="add up to 1"):
        infer_types(likelihood, np.array([1.0, 1.0]))


def test_a_switch_of_the_opponent_is_noticed() -> None:
    """A defector in the place of tit-for-tat is believed in with .9 after five steps, since another type is
    as surprised as it is: after one defection .505, then .67, .80, .89, .94."""
    library = {name: comity.load_player(name, GAME) for name in ("tit-for-tat", "always-defect", "random")}
    observations = np.array([[0]] + [[1]] * 9 + [[3]] * 5)  # start, CC ..., then it defects: DC
    actions = np.array([[0]] * 9 + [[1]] * 6)
    likelihood = likelihoods(GAME, library, 0, observations, actions)
    np.testing.assert_allclose(likelihood[:9, 0], [[1.0, 0.0, 0.5]] * 9, atol=0.05)
    followed = infer_types(likelihood, hazard=0.02)
    assert followed[9, 0, 0] > 0.95
    assert followed[-1, 0, 1] > 0.95
    noticed = steps_until_noticed(followed, now=1, switched=9)
    assert noticed.tolist() == [5.0]
    never = infer_types(likelihood)  # who excludes a switch holds on to what is least surprising in all
    assert np.isinf(steps_until_noticed(never, now=1, switched=9)).all()


def test_the_posterior_over_noisy_types_is_calibrated() -> None:
    """When the true type is drawn from the prior, a belief of x is right in a share x of the cases."""
    rng = np.random.default_rng(0)
    strategies = rng.random((4, 5))
    library = {str(i): memory_one(strategies[i]) for i in range(4)}
    beliefs, right = [], []
    for true in range(4):
        joint = play(
            GAME, (library[str(true)], comity.load_player("random", GAME)), jax.random.key(true), 300, 50
        )
        observations, actions = (np.asarray(x)[:12] for x in (joint.obs[0], joint.action[0]))
        found = infer_types(likelihoods(GAME, library, 0, observations, actions))
        for kind in range(4):
            beliefs.append(found[1:, :, kind].ravel())
            right.append(np.full(found[1:, :, kind].size, kind == true))
    assert calibration_error(np.concatenate(beliefs), np.concatenate(right)) < 0.03
