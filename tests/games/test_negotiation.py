"""Negotiation: the reward by hand, what is seen, the scripted players and their exact values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.api import scripted_player
from comity.core.agent import Player
from comity.core.batch import Trajectory
from comity.core.errors import ComityError
from comity.core.spaces import Box
from comity.games.negotiation import Negotiation, NegotiationState
from comity.play.match import match_rewards, play
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

GAME = Negotiation()
VALUES = jnp.asarray([[5.0, 1.0, 5.0], [1.0, 5.0, 1.0]])


def state(proposals: list[list[float]] | None = None) -> NegotiationState:
    earlier = jnp.zeros((2, 3)) if proposals is None else jnp.asarray(proposals)
    return NegotiationState(VALUES, earlier, jnp.int32(0))


def numbers(values: list[float]) -> jax.Array:
    return jnp.asarray(values, jnp.float32)


def rewards(first: list[float], second: list[float]) -> list[float]:
    _, step = GAME.step(jax.random.key(0), state(), (numbers(first), numbers(second)))
    return [float(r) for r in step.reward]


def test_reward_by_hand_when_little_is_asked() -> None:
    # All sums are below 5, so the divisor is 5: (1*5 + 2*1 + 3*5) / 5 / 15 and (2*1 + 3*5 + 1*1) / 5 / 15
    np.testing.assert_allclose(rewards([1, 2, 3], [2, 3, 1]), [22 / 75, 18 / 75], rtol=1e-6)


def test_reward_by_hand_when_more_is_asked_than_there_is() -> None:
    # Item by item the divisors are 5 + 5, max(5, 4 + 0), 5 + 3.
    first = (5 * 5 / 10 + 4 * 1 / 5 + 5 * 5 / 8) / 15
    second = (5 * 1 / 10 + 0 * 5 / 5 + 3 * 1 / 8) / 15
    np.testing.assert_allclose(rewards([5, 4, 5], [5, 0, 3]), [first, second], rtol=1e-6)


def test_the_largest_divisor_breaks_the_invariance_to_scale() -> None:
    assert rewards([1, 1, 1], [1, 1, 1])[0] < rewards([5, 5, 5], [5, 5, 5])[0]
    np.testing.assert_allclose(rewards([3, 3, 3], [3, 3, 3]), rewards([5, 5, 5], [5, 5, 5]), rtol=1e-6)
    assert rewards([0, 0, 0], [0, 0, 0]) == [0.0, 0.0]


def test_proposals_are_kept_within_bounds() -> None:
    assert rewards([9, -3, 5], [0, 5, 0]) == rewards([5, 0, 5], [0, 5, 0])


def test_observation_layout() -> None:
    now, step = GAME.step(
        jax.random.key(1), state(), (jnp.asarray([1.0, 2.0, 3.0]), jnp.asarray([4.0, 5.0, 0.5]))
    )
    pool, (mine, others) = [0.1] * 3, (np.asarray(now.values) / 10)
    expected = [*pool, *mine, 0.1, 0.2, 0.3, *others, 0.4, 0.5, 0.05]
    assert step.obs[0].shape == (15,)
    np.testing.assert_allclose(step.obs[0], expected, rtol=1e-6)
    swapped = [*pool, *others, 0.4, 0.5, 0.05, *mine, 0.1, 0.2, 0.3]
    np.testing.assert_allclose(step.obs[1], swapped, rtol=1e-6)
    # The reward was for the values of the round before, which both had seen.
    _, first = GAME.reset(jax.random.key(2))
    np.testing.assert_allclose(np.asarray(first[0])[6:9], 0.0)
    np.testing.assert_allclose(np.asarray(first[0])[12:], 0.0)


@pytest.fixture(scope="module")
def unequal() -> Trajectory:
    """A cooperator against a defector."""
    players = tuple(scripted_player(name, GAME) for name in ("always-cooperate", "always-defect"))
    return play(GAME, players, jax.random.key(5), 200, 20)


def test_values_are_opposed_and_drawn_anew_each_round(unequal: Trajectory) -> None:
    seen = np.asarray(unequal.obs[0])
    mine, others = seen[..., 3:6] * 10, seen[..., 9:12] * 10
    np.testing.assert_allclose(mine + others, 6.0, rtol=1e-6)
    assert set(np.unique(mine.round(4))) == {1.0, 5.0}
    high = mine > 3
    np.testing.assert_allclose(high.mean(axis=(0, 1)), 0.5, atol=4 * 0.5 / np.sqrt(4000))
    # Rounds and items are independent: equal in half of the cases.
    spread = 4 * 0.5 / np.sqrt(200 * 19)
    np.testing.assert_allclose((high[1:] == high[:-1]).mean(axis=(0, 1)), 0.5, atol=spread)
    np.testing.assert_allclose((high[..., 0] == high[..., 1]).mean(), 0.5, atol=spread)


def test_items_and_values_are_settable() -> None:
    game = Negotiation(items=2, low=0.0, high=4.0, most=3.0, horizon=5)
    assert game.seats[0].observation == Box((10,), 0.0, 0.4)
    assert game.seats[0].action == Box((2,), 0.0, 3.0)
    values = jnp.asarray([[4.0, 0.0], [0.0, 4.0]])
    start = NegotiationState(values, jnp.zeros((2, 2)), jnp.int32(0))
    _, step = game.step(jax.random.key(0), start, (jnp.asarray([3.0, 3.0]), jnp.asarray([0.0, 1.0])))
    # 3*4/3 and 1*4/max(3, 3 + 1), divided by 2 * 4
    np.testing.assert_allclose([float(r) for r in step.reward], [4 / 8, 1 / 8], rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"items": 0}, "items = 0"),
        ({"low": 3.0, "high": 2.0}, "0 <= low <= high"),
        ({"low": -1.0}, "0 <= low"),
        ({"most": 0.0}, "most = 0"),
        ({"horizon": 0}, "horizon"),
        ({"high": float("nan")}, "high"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, float], reason: str) -> None:
    with pytest.raises(ComityError, match=reason):
        make_game("negotiation", **settings)


@pytest.fixture(scope="module")
def league() -> np.ndarray:
    """Mean rewards [pairing, seat] of AC-AC, AD-AD, AC-AD, AD-AC."""
    players = [scripted_player(name, GAME) for name in ("always-cooperate", "always-defect")]
    pairings = np.asarray([[0, 0], [1, 1], [0, 1], [1, 0]])
    return match_rewards(GAME, players, pairings, jax.random.key(4), 800, 50)


def test_league_of_scripted_players(league: np.ndarray) -> None:
    # A round is worth half of the items' high values to each on average, or the divided items.
    error = 4 * league.std(axis=2) / np.sqrt(800) + 1e-6
    expected = np.asarray([[0.5, 0.5], [0.3, 0.3], [0.25, 0.55], [0.55, 0.25]])
    assert np.all(np.abs(league.mean(axis=2) - expected) < error)
    assert error.max() < 0.007
    np.testing.assert_allclose(league[0].sum(axis=0), 1.0, rtol=1e-5)  # nothing is lost, in every episode


def test_exact_values_of_one_round(unequal: Trajectory) -> None:
    """With n of three items dear to the cooperator: 2.5 n / 15 against (5 (3 - n) + .5 n) / 15."""
    dear = (np.asarray(unequal.obs[0])[..., 3:6] > 0.3).sum(axis=-1)
    np.testing.assert_allclose(unequal.step.reward[0], 2.5 * dear / 15, atol=1e-6)
    np.testing.assert_allclose(unequal.step.reward[1], (5 * (3 - dear) + 0.5 * dear) / 15, atol=1e-6)
    assert set(dear.ravel()) == {0, 1, 2, 3}


def proposals(player: Player, theirs: list[list[float]]) -> list[bool]:
    """Whether a player takes all in each round, its values being those of player 1 always."""
    carry = player.agent.initial_carry(player.params)
    everything = []
    for asked in theirs:
        obs = GAME._observe(state([[0.0] * 3, asked]))[0]
        action, carry, _ = player.agent.act(player.params, carry, obs, jax.random.key(0))
        assert np.asarray(action).tolist() in ([5.0, 0.0, 5.0], [5.0, 5.0, 5.0])
        everything.append(float(action[1]) == 5.0)
    return everything


def test_tit_for_tat_takes_revenge_for_exactly_the_set_number_of_rounds() -> None:
    fair, greedy, nothing = [0.0, 5.0, 0.0], [5.0, 5.0, 5.0], [0.0, 0.0, 0.0]
    for revenge in (1, 2, 4):
        player = make_player(make_agent("tit-for-tat", GAME, revenge=revenge), GAME)
        found = proposals(player, [nothing, fair, greedy, fair, fair, fair, fair, fair])
        assert found == [False, False] + [True] * revenge + [False] * (6 - revenge)
    # A second theft while it lasts starts the count anew.
    player = make_player(make_agent("tit-for-tat", GAME, revenge=2), GAME)
    assert proposals(player, [nothing, greedy, greedy, fair, fair]) == [False, True, True, True, False]
    # What was asked before the first round, or of what is cheap to it, is no theft; nor is a small part.
    assert not any(proposals(player, [greedy, fair, [2.4, 5.0, 2.4], fair]))
    assert any(proposals(player, [nothing, [0.0, 5.0, 2.6]]))


def test_tit_for_tat_in_play() -> None:
    tit, defect = (scripted_player(name, GAME) for name in ("tit-for-tat", "always-defect"))
    against = play(GAME, (tit, defect), jax.random.key(6), 200, 10)
    taken: np.ndarray = np.all(np.asarray(against.action[0]) == 5.0, axis=-1)
    # It is robbed unless nothing was dear to it, and then takes all for two rounds.
    dear = np.asarray(against.obs[0])[..., 3:6] > 0.3
    robbed: np.ndarray = np.any(dear, axis=-1)
    assert np.all(taken[1:][robbed[:-1]])
    assert np.all(taken[2:][robbed[:-2]])


def test_scripted_players_refuse_other_seats() -> None:
    player = make_agent("always-defect", GAME)
    with pytest.raises(ComityError, match="bids in Negotiation"):
        player.check(make_game("coin").spec, (0,))
