"""Social outcomes of what was played, by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.play.loading import scripted_player
from comity.play.match import play
from comity.play.outcomes import (
    cooperation,
    equality,
    exploitation_gaps,
    measures,
    nash_welfare,
    outcome_metrics,
)
from comity.play.specs import make_game
from comity.theory import gini

EQUALITIES = {
    (1, 1): 1.0, (1, 0): 0.0, (3, 1): 0.5, (-1, -1): 1.0, (-1, -3): 0.5, (1, -1): 0.0, (0, -3): 0.0,
    (2, -1): 0.0, (0, 0): 1.0, (1, 1, 0): 0.5, (1, 0, 0): 0.0, (1, 0, -1): 0.0, (2, 2, -2): 1 / 3,
    (-2, -1, -1): 0.75, (5,): 1.0,
}  # fmt: skip


@pytest.mark.parametrize(("rewards", "expected"), EQUALITIES.items())
def test_equality_by_hand(rewards: tuple[float, ...], expected: float) -> None:
    found = float(equality(jnp.asarray(rewards, jnp.float32)))
    assert found == pytest.approx(expected, abs=1e-6)


def test_equality_is_scale_free_and_within_bounds() -> None:
    rewards = np.random.default_rng(0).normal(size=(4, 200)).astype(np.float32)
    found = np.asarray(equality(jnp.asarray(rewards)))
    assert ((found >= -1e-6) & (found <= 1 + 1e-6)).all()
    for scale in (0.01, 30.0, -1.0):
        np.testing.assert_allclose(equality(jnp.asarray(scale * rewards)), found, atol=1e-5)
    for order in itertools.permutations(range(4)):
        np.testing.assert_allclose(equality(jnp.asarray(rewards[list(order)])), found, atol=1e-5)


def test_equality_of_gains_is_that_of_gini() -> None:
    rewards = np.asarray([1.0, 2.0, 4.0, 9.0])
    assert float(equality(jnp.asarray(rewards))) == pytest.approx(1 - gini(rewards) * 4 / 3, abs=1e-6)


def test_welfare_by_hand() -> None:
    found = measures(jnp.asarray([[4.0, -1.0], [1.0, 3.0]]), (0.0, 0.0))
    assert found["utilitarian_welfare"].tolist() == [5.0, 2.0]
    assert found["egalitarian_welfare"].tolist() == [1.0, -1.0]
    np.testing.assert_allclose(found["nash_welfare"], [2.0, 0.0])
    assert float(nash_welfare(jnp.asarray([-1.0, -1.0]), (-2.0, -2.0))) == 1.0
    assert float(nash_welfare(jnp.asarray([-1.0, -3.0]), (-2.0, -2.0))) == 0.0


def test_exploitation_gaps() -> None:
    assert exploitation_gaps(jnp.asarray([1.0, 4.0, 2.0])).tolist() == [3.0, -2.0, 2.0]


def test_metrics_of_a_rollout() -> None:
    """Ten steps of tit-for-tat (-21) against always-defect (-18)."""
    game = make_game("prisoners-dilemma", horizon=10)
    players = tuple(scripted_player(name, game) for name in ("tit-for-tat", "always-defect"))
    played = play(game, players, jax.random.key(0), 3, 10)
    found = {name: float(value) for name, value in outcome_metrics(game, played, (0,)).items()}
    assert found == pytest.approx(
        {
            "outcome/utilitarian_welfare": -3.9,
            "outcome/egalitarian_welfare": -2.1,
            "outcome/nash_welfare": 0.0,
            "outcome/equality": 1 - 0.3 / 3.9,
            "outcome/exploitation_gap": 0.3,
            "outcome/cooperation": 0.1,
            "outcome/cooperation/player 1": 0.1,
            "outcome/cooperation/player 2": 0.0,
        },
        abs=1e-6,
    )
    both = outcome_metrics(game, played, (0, 1))
    assert float(both["outcome/cooperation"]) == pytest.approx(0.05)
    assert "outcome/cooperation/player 1" not in both


def test_games_without_cooperation_or_others() -> None:
    alone = make_game("probe-choice")
    players = tuple(scripted_player("random", alone) for _ in alone.seats)
    assert outcome_metrics(alone, play(alone, players, jax.random.key(0), 2, 2), (0,)) == {}
    pennies = make_game("matching-pennies")
    players = tuple(scripted_player("random", pennies) for _ in pennies.seats)
    played = play(pennies, players, jax.random.key(0), 2, 4)
    assert cooperation(pennies, played) is None
    assert not any("cooperation" in name for name in outcome_metrics(pennies, played, (0, 1)))
