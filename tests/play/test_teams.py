"""Seats that communicate are one team wherever they play: in matches, leagues and among past selves."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.agents.scripted.base import Scripted
from comity.core.agent import Act, Player
from comity.core.errors import ComityError
from comity.core.game import Seat
from comity.core.matchmaker import Team
from comity.evaluate.league import play_league
from comity.play.match import play
from comity.play.matchmaking import PastSelves
from comity.play.specs import make_agent, make_game

COOPERATE, DEFECT = 0, 1
GAME = make_game("public-goods", players=3, horizon=2)


class Union(Scripted):
    """Cooperates where a companion sits beside it, which it knows from talking only."""

    def check_seat(self, seat: Seat) -> None:
        """Any seat will do."""

    def read_seat(self, seat: Seat) -> PyTree:
        return jnp.zeros(1)  # a player is known by its parameters

    def rule(self, params: PyTree, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree]:
        return jnp.int32(DEFECT), ()

    def act_team(self, params: PyTree, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]) -> Act:
        seats = keys.shape[0]
        return Act(jnp.full(seats, COOPERATE if seats > 1 else DEFECT, jnp.int32), carry, ())


class SureUnion(Union):
    """A union that says what is most likely for it."""

    def most_likely_team(
        self, params: PyTree, carry: PyTree, obs: PyTree, keys: KeyArray[Array, " seat"]
    ) -> Act:
        return self.act_team(params, carry, obs, keys)


class LearningUnion(Union):
    """A union that has past selves."""

    learns: ClassVar[bool] = True


def player(agent: Scripted) -> Player:
    """A player in any of the game's seats."""
    return Player(agent, agent.policy(agent.init(jax.random.key(0), GAME.spec, (0,))))


def scripted(name: str) -> Player:
    agent = make_agent(name, GAME)
    return Player(agent, agent.policy(agent.init(jax.random.key(0), GAME.spec, (0,))))


def test_a_match_seats_one_player_as_a_team() -> None:
    union, loner = player(Union()), player(Union())
    played = play(GAME, (union, loner, union), jax.random.key(0), 2, 2)
    assert [int(np.asarray(action)[0, 0]) for action in played.action] == [COOPERATE, DEFECT, COOPERATE]


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_league_seats_each_player_as_a_team(deterministic: bool) -> None:
    """In a pairing one seat is the row's player, and all others are the column's."""
    cooperator, defector = scripted("always-cooperate"), scripted("always-defect")
    members = {"union": player(SureUnion()), "cooperator": cooperator, "defector": defector}
    found = play_league(GAME, members, episodes=2, deterministic=deterministic).mean
    known = play_league(GAME, {"cooperator": cooperator, "defector": defector}, episodes=2).mean
    np.testing.assert_allclose(found[0, 0], known[0, 0], rtol=1e-6)  # three of them cooperate
    np.testing.assert_allclose(found[1:, 0], known[:, 0], rtol=1e-6)  # so do two
    np.testing.assert_allclose(found[0, 1:], known[1, :], rtol=1e-6)  # one alone defects
    np.testing.assert_allclose(found[1:, 1:], known, rtol=1e-6)


def test_greedy_evaluation_does_not_silence_a_team() -> None:
    with pytest.raises(ComityError, match="Union communicates"):
        play_league(GAME, {"union": player(Union())}, episodes=2, deterministic=True)


def test_past_selves_that_communicate_sit_as_one() -> None:
    matchmaker = PastSelves(groups=1, capacity=2)
    union = player(LearningUnion())
    team = Team((0, 1, 2), union.agent, union.params, union.params)
    pool = matchmaker.init((union.params,))
    (lineup,) = matchmaker.lineups(pool, (team,), jax.random.key(0))
    assert [occupant.seats for occupant in lineup.occupants] == [(0,), (1, 2)]
