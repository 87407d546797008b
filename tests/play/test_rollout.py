"""The rollout: seats, sharing, groups, resets, truth of the successor."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.base import ActorCriticAgent
from comity.core.agent import Player, add_group_axis, stack
from comity.core.batch import team_batch
from comity.core.errors import ComityError
from comity.core.matchmaker import Occupant, Team
from comity.games.transforms import SharedReward, TimeLimit, TremblingHand, with_horizon
from comity.play.match import play
from comity.play.matchmaking import PastSelves
from comity.play.rollout import reset, rollout
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player, play_some


def test_shared_parameters_play_as_two_copies_would() -> None:
    game = make_game("prisoners-dilemma")
    agent = make_agent("ppo", None, **{"network.width": 16})
    params = make_player(agent, game).params
    together = play_some(game, (Occupant((0, 1), agent, add_group_axis(params)),), 8, 16, 3)
    apart = play_some(
        game,
        (Occupant((0,), agent, add_group_axis(params)), Occupant((1,), agent, add_group_axis(params))),
        8,
        16,
        3,
    )
    for first, second in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)
    assert np.array_equal(together.action[0], apart.action[0])
    assert np.array_equal(together.action[1], apart.action[1])


def test_swapping_seats_swaps_results() -> None:
    game = make_game("prisoners-dilemma")
    first, second = (make_player(make_agent("ppo"), game, seed=s) for s in (0, 1))
    one = play(game, (first, second), jax.random.key(0), 4000, 16).step.reward
    two = play(game, (second, first), jax.random.key(1), 4000, 16).step.reward
    np.testing.assert_allclose(one[0].mean(), two[1].mean(), atol=0.02)
    np.testing.assert_allclose(one[1].mean(), two[0].mean(), atol=0.02)
    tit, grim = (make_player(make_agent(n), game) for n in ("suspicious-tit-for-tat", "grim-trigger"))
    one = play(game, (tit, grim), jax.random.key(0), 2, 16).step.reward
    two = play(game, (grim, tit), jax.random.key(1), 2, 16).step.reward
    assert np.array_equal(one[0], two[1])
    assert np.array_equal(one[1], two[0])


def test_each_group_plays_its_slice_with_its_own_parameters() -> None:
    game = make_game("prisoners-dilemma")
    agent = make_agent("memory-one")
    never, always = jnp.zeros(5), jnp.ones(5)
    occupants = (Occupant((0,), agent, stack([never, always])), Occupant((1,), agent, add_group_axis(always)))
    played = play_some(game, occupants, 6, 4, 0)
    assert np.array_equal(np.asarray(played.action[0])[0], [1, 1, 1, 0, 0, 0])


def test_the_successor_is_the_true_one_and_episodes_start_anew() -> None:
    game = make_game("prisoners-dilemma", horizon=3)
    defect = make_player(make_agent("always-defect"), game)
    played = play(game, (defect, defect), jax.random.key(0), 1, 6)
    assert np.asarray(played.obs[0])[:, 0].tolist() == [0, 4, 4, 0, 4, 4]
    assert np.asarray(played.step.obs[0])[:, 0].tolist() == [4, 4, 4, 4, 4, 4]
    assert np.asarray(played.step.truncated)[:, 0].tolist() == [False, False, True] * 2
    assert not np.asarray(played.step.terminated).any()


def test_a_rollout_goes_on_where_the_last_one_stopped() -> None:
    game = make_game("prisoners-dilemma", horizon=None)
    agent = make_agent("tit-for-tat")
    params = make_player(agent, game).params
    occupants = (Occupant((0, 1), agent, add_group_axis(params)),)
    table = reset(game, occupants, 2, jax.random.key(0))
    _, table = rollout(game, occupants, table, jax.random.key(1), 3)
    assert np.asarray(table.state.time).tolist() == [3, 3]
    second, _ = rollout(game, occupants, table, jax.random.key(2), 2)
    assert np.asarray(second.obs[0])[:, 0].tolist() == [1, 1]


def test_a_seat_that_left_is_marked() -> None:
    game = make_game("probe-odd-seats")
    players = tuple(make_player(make_agent("random", game), game, seat) for seat in range(3))
    played = play(game, players, jax.random.key(0), 2, 6)
    assert np.asarray(played.alive[1])[:, 0].tolist() == [True, False, False] * 2
    assert np.asarray(played.alive[0]).all()


def test_the_value_at_the_end_is_the_successors() -> None:
    """At a truncation the value is that of the last observation, with the memory before the reset.

    Both where the critic's memory follows the play and records its values, and where a learner reads them.
    """
    game = make_game("prisoners-dilemma", horizon=3)
    agent = make_agent("ppo", None, **{"network.width": 8})
    assert isinstance(agent, ActorCriticAgent)
    state = agent.init(jax.random.key(0), game.spec, (0, 1))
    params = agent.behaviour(state, jnp.float32(0.0))
    assert params.critic is not None
    played = play_some(game, (Occupant((0, 1), agent, add_group_axis(params)),), 1, 6, 0)
    read = agent.critic_batch(state, team_batch(played, (0, 1)))
    said = agent.values(state.critic, state.policy, read)
    torso = state.critic.torso
    assert torso is not None
    memory = torso.initial_carry()
    for t in range(3):
        memory, features = torso.step(memory, played.obs[0][t, 0])
        value = state.critic.read(features)[0, 0]
        np.testing.assert_allclose(value, played.extras[0].value[t, 0], rtol=1e-5)
        np.testing.assert_allclose(value, said.value[t, 0, 0, 0], rtol=1e-5)
    _, features = torso.step(memory, played.step.obs[0][2, 0])
    last = state.critic.read(features)[0, 0]
    np.testing.assert_allclose(last, played.bootstrap[0].value[2, 0], rtol=1e-5)
    np.testing.assert_allclose(last, said.next_value[2, 0, 0, 0], rtol=1e-5)
    assert abs(float(last - said.value[3, 0, 0, 0])) > 1e-5  # not that of the new episode


def test_transforms() -> None:
    game = make_game("prisoners-dilemma")
    players = tuple(make_player(make_agent(n), game) for n in ("always-cooperate", "always-defect"))
    key = jax.random.key(0)
    plain = [float(r.mean()) for r in play(game, players, key, 2, 4).step.reward]
    assert plain == [-3.0, 0.0]
    both = play(SharedReward(game=game, others=1.0), players, key, 2, 4).step.reward
    assert [float(r.mean()) for r in both] == [-3.0, -3.0]
    half = play(SharedReward(game=game, others=0.5), players, key, 2, 4).step.reward
    assert [float(r.mean()) for r in half] == [-3.0, -1.5]
    crossed = SharedReward(game=game, weights=((0.0, 1.0), (1.0, 0.0)))
    assert [float(r.mean()) for r in play(crossed, players, key, 2, 4).step.reward] == [0.0, -3.0]
    limited = TimeLimit(game=make_game("prisoners-dilemma", horizon=None), horizon=2)
    assert np.asarray(play(limited, players, key, 1, 4).step.truncated)[:, 0].tolist() == [False, True] * 2
    shaken = play(TremblingHand(game=game, probability=1.0), players, key, 500, 16)
    assert abs(float(shaken.step.reward[0].mean()) + 1.5) < 0.05
    assert with_horizon(SharedReward(game=game), 7).horizon == 7
    with pytest.raises(ComityError, match="at most 3, which ends the game's own episodes"):
        TimeLimit(game=make_game("prisoners-dilemma", horizon=3), horizon=4)


def test_the_buffer_keeps_copies_and_draws_from_all_of_them() -> None:
    buffer = PastSelves(capacity=3, every=2, groups=4)
    params = (jnp.asarray([0.0]),)
    pool = buffer.init(params)
    for iteration in range(8):
        now = (jnp.asarray([float(iteration)]),)
        pool = buffer.remember(pool, now, jnp.int32(iteration))
    # Stored: the start, then after iterations 1, 3, 5, 7, the oldest overwritten.
    assert sorted(np.asarray(pool.past[0])[:, 0].tolist()) == [3.0, 5.0, 7.0]
    team = Team((0, 1), make_agent("a2c"), now[0], now[0])
    drawn = []
    for seed in range(30):
        (lineup,) = buffer.lineups(pool, (team,), jax.random.key(seed))
        occupants = lineup.occupants
        assert lineup.learning == ((0, (0,)),)
        assert np.asarray(occupants[0].params).tolist() == [[7.0]]
        drawn += np.asarray(occupants[1].params)[:, 0].tolist()
    assert set(drawn) == {3.0, 5.0, 7.0}


def test_the_share_of_present_selves() -> None:
    buffer = PastSelves(capacity=4, every=1, groups=4, current_share=0.5)
    pool = buffer.init((jnp.asarray([0.0]),))
    now = jnp.asarray([9.0])
    (lineup,) = buffer.lineups(pool, (Team((0, 1), make_agent("a2c"), now, now),), jax.random.key(0))
    occupants = lineup.occupants
    assert np.asarray(occupants[1].params)[:, 0].tolist() == [9.0, 9.0, 0.0, 0.0]


def test_wrong_seatings_are_refused() -> None:
    game = make_game("prisoners-dilemma")
    player: Player = make_player(make_agent("tit-for-tat"), game)
    with pytest.raises(ComityError, match="2 seats, and 1 players"):
        play(game, (player,), jax.random.key(0), 1, 4)
    with pytest.raises(ComityError, match="it must be a multiple of 2: each group has as many games"):
        reset(game, (Occupant((0, 1), player.agent, stack([player.params] * 2)),), 3, jax.random.key(0))
