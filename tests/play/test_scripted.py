"""Scripted strategies, action for action: a strategy's test is a game with its expected actions."""

import jax
import numpy as np
import pytest

from comity.api import scripted_player
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

GAMES = [
    ("tit-for-tat", "always-defect", "CDDDD", "DDDDD"),
    ("tit-for-tat", "always-cooperate", "CCCCC", "CCCCC"),
    ("tit-for-tat", "suspicious-tit-for-tat", "CDCDC", "DCDCD"),
    ("suspicious-tit-for-tat", "suspicious-tit-for-tat", "DDDDD", "DDDDD"),
    ("grim-trigger", "suspicious-tit-for-tat", "CDDDD", "DCDDD"),
    ("grim-trigger", "tit-for-tat", "CCCCC", "CCCCC"),
    ("win-stay-lose-shift", "always-defect", "CDCDC", "DDDDD"),
    ("win-stay-lose-shift", "suspicious-tit-for-tat", "CDDCDD", "DCDDCD"),
    ("tit-for-two-tats", "always-defect", "CCDDD", "DDDDD"),
    ("tit-for-two-tats", "suspicious-tit-for-tat", "CCCCC", "DCCCC"),
    ("always-cooperate", "win-stay-lose-shift", "CCCCC", "CCCCC"),
]


def actions(game: Environment, players: tuple[Player, ...], steps: int) -> list[str]:
    """One episode as letters, seat by seat."""
    played = play(game, players, jax.random.key(0), 1, steps)
    return ["".join("CD"[a] for a in np.asarray(action)[:, 0]) for action in played.action]


@pytest.mark.parametrize(("first", "second", "expected", "other"), GAMES)
def test_two_strategies(first: str, second: str, expected: str, other: str) -> None:
    game = make_game("prisoners-dilemma")
    players = (scripted_player(first, game, 0), scripted_player(second, game, 1))
    assert actions(game, players, len(expected)) == [expected, other]
    assert actions(game, players[::-1], len(expected)) == [other, expected]


def test_memory_does_not_outlive_an_episode() -> None:
    game = make_game("prisoners-dilemma", horizon=3)
    players = (scripted_player("grim-trigger", game), scripted_player("suspicious-tit-for-tat", game))
    assert actions(game, players, 6) == ["CDDCDD", "DCDDCD"]


def test_three_players_cooperate_only_if_all_others_did() -> None:
    game = make_game("public-goods", players=3)
    players = tuple(scripted_player(n, game) for n in ("tit-for-tat", "always-cooperate", "always-defect"))
    assert actions(game, players, 4) == ["CDDD", "CCCC", "DDDD"]


def test_random_plays_every_action_equally_often() -> None:
    game = make_game("rock-paper-scissors")
    player = scripted_player("random", game)
    played = play(game, (player, player), jax.random.key(1), 500, 16)
    share = np.bincount(np.asarray(played.action[0]).ravel(), minlength=3) / 8000
    np.testing.assert_allclose(share, 1 / 3, atol=0.02)


def test_memory_one_frequencies() -> None:
    game = make_game("prisoners-dilemma")
    agent = make_agent("memory-one", game, first=0.9, after_cc=0.7, after_cd=0.2, after_dc=0.6, after_dd=0.1)
    played = play(
        game, (make_player(agent, game), scripted_player("random", game)), jax.random.key(2), 2000, 16
    )
    states, chosen = np.asarray(played.obs[0]).ravel(), np.asarray(played.action[0]).ravel()
    found = [np.mean(chosen[states == s] == 0) for s in range(5)]
    np.testing.assert_allclose(found, [0.9, 0.7, 0.2, 0.6, 0.1], atol=0.03)


def test_extortioner_takes_its_multiple() -> None:
    """In the long run its surplus over mutual defection is `factor` times that of the other."""
    game = make_game("prisoners-dilemma", horizon=2000)
    agent = make_agent("extortioner", game, factor=3.0)
    for other in ("always-cooperate", "random", "win-stay-lose-shift"):
        players = (make_player(agent, game), scripted_player(other, game))
        reward = play(game, players, jax.random.key(3), 64, 2000).step.reward
        mine, others = (float(np.asarray(r)[200:].mean()) + 2 for r in reward)
        np.testing.assert_allclose(mine, 3 * others, atol=0.02)


def test_a_strategy_refuses_a_game_of_another_kind() -> None:
    with pytest.raises(ComityError, match="does not play games of the probe family"):
        make_agent("tit-for-tat", make_game("probe-target"))
