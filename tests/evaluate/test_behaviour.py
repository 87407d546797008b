"""What a player does in each state."""

import jax
import numpy as np

from comity.api import scripted_player
from comity.evaluate.behaviour import behaviour, sample_play
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

DILEMMA = make_game("prisoners-dilemma", horizon=8)


def test_the_states_that_are_met_and_what_is_done_there() -> None:
    tit, defect = scripted_player("tit-for-tat", DILEMMA), scripted_player("always-defect", DILEMMA)
    found = behaviour(DILEMMA, tit, defect, jax.random.key(0), episodes=4)
    assert found is not None
    assert found.states == ("start", "CC", "CD", "DC", "DD")
    assert found.actions == ("C", "D")
    assert found.visits.tolist() == [4, 0, 4, 0, 24]
    np.testing.assert_array_equal(found.probability[:, 0], [1.0, np.nan, 0.0, np.nan, 0.0])


def test_from_the_other_seat() -> None:
    tit, defect = scripted_player("tit-for-tat", DILEMMA), scripted_player("always-defect", DILEMMA)
    found = behaviour(DILEMMA, defect, tit, jax.random.key(0), episodes=4, seat=1)
    assert found is not None
    assert found.visits.tolist() == [4, 0, 0, 4, 24]


def test_probabilities_of_a_memory_one_player() -> None:
    agent = make_agent(
        "memory-one", DILEMMA, first=0.9, after_cc=0.7, after_cd=0.2, after_dc=0.6, after_dd=0.1
    )
    player = make_player(agent, DILEMMA)
    found = behaviour(DILEMMA, player, player, jax.random.key(1), episodes=2000)
    assert found is not None
    np.testing.assert_allclose(found.probability[:, 0], [0.9, 0.7, 0.2, 0.6, 0.1], atol=0.03)
    np.testing.assert_allclose(found.probability.sum(axis=1), 1.0)


def test_trembling_shows_all_states_and_what_was_meant() -> None:
    grim = scripted_player("always-cooperate", DILEMMA)
    still = behaviour(DILEMMA, grim, grim, jax.random.key(2), episodes=200)
    shaken = behaviour(DILEMMA, grim, grim, jax.random.key(2), episodes=200, tremble=0.2)
    assert still is not None
    assert shaken is not None
    assert (still.visits > 0).tolist() == [True, True, False, False, False]
    assert (shaken.visits > 0).all()
    assert (shaken.probability[:, 0] == 1.0).all()  # a tremble is not an intention


def test_games_without_states_have_none() -> None:
    coin, endless = make_game("coin"), make_game("prisoners-dilemma", horizon=None)
    for game in (coin, endless):
        player = scripted_player("always-cooperate", game)
        assert behaviour(game, player, player, jax.random.key(0)) is None


def test_one_episode_action_by_action() -> None:
    players = (scripted_player("tit-for-tat", DILEMMA), scripted_player("suspicious-tit-for-tat", DILEMMA))
    assert sample_play(DILEMMA, players, seed=0, length=4) == [[0, 1, 0, 1], [1, 0, 1, 0]]
