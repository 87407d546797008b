"""The Coin Game, rule by rule, and its scripted players."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import PyTree

from comity.api import scripted_player
from comity.core.agent import Agent
from comity.core.errors import ComityError
from comity.core.game import TimeStep
from comity.core.spaces import Box
from comity.drawing.text import write
from comity.games.coin import MOVES, CoinGame, CoinState
from comity.play.match import match_rewards
from comity.play.specs import make_agent, make_game
from comity.testing.contracts import make_player

RIGHT, LEFT, DOWN, UP = range(4)
GAME, THREE, WIDE = CoinGame(), CoinGame(players=3), CoinGame(width=4, height=2)
STEP = eqx.filter_jit(lambda game, key, state, moves: game.step(key, state, tuple(moves)))


def state(players: list[int], coin: int, owner: int, time: int = 0) -> CoinState:
    """Cells are counted row by row: 0 1 2 / 3 4 5 / 6 7 8."""
    return CoinState(jnp.asarray(players, jnp.int32), jnp.int32(coin), jnp.int32(owner), jnp.int32(time))


def move(
    start: CoinState, moves: list[int], game: CoinGame = GAME, seed: int = 0
) -> tuple[CoinState, TimeStep]:
    return STEP(game, jax.random.key(seed), start, jnp.asarray(moves, jnp.int32))


def rewards(start: CoinState, moves: list[int], game: CoinGame = GAME) -> list[float]:
    return [float(reward) for reward in move(start, moves, game)[1].reward]


@pytest.mark.parametrize(
    ("cell", "direction", "expected"),
    [
        *((4, RIGHT, 5), (4, LEFT, 3), (4, DOWN, 7), (4, UP, 1)),  # inside
        *((2, RIGHT, 0), (3, LEFT, 5), (7, DOWN, 1), (0, UP, 6)),  # around the edges
    ],
)
def test_moves_wrap(cell: int, direction: int, expected: int) -> None:
    after, _ = move(state([cell, 8], 8, 0), [direction, RIGHT])
    assert int(after.players[0]) == expected
    assert MOVES[direction] == ("right", "left", "down", "up")[direction]


def test_moves_wrap_on_a_grid_that_is_not_square() -> None:
    # 0 1 2 3 / 4 5 6 7
    after, _ = move(state([3, 1], 6, 0), [RIGHT, UP], WIDE)
    assert np.asarray(after.players).tolist() == [0, 5]


def test_nobody_can_stay() -> None:
    for direction in range(4):
        assert int(move(state([4, 0], 8, 0), [direction, RIGHT])[0].players[0]) != 4


def test_a_coin_stays_with_its_owner_until_it_is_taken() -> None:
    after, step = move(state([0, 6], 8, 1), [RIGHT, UP])
    assert (int(after.coin), int(after.owner), int(after.time)) == (8, 1, 1)
    assert [float(r) for r in step.reward] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("owner", "moves", "expected"),
    [
        (0, [RIGHT, UP], [1.0, 0.0]),  # player 1 takes its own
        (1, [RIGHT, UP], [1.0, -2.0]),  # player 1 takes the other's
        (1, [DOWN, LEFT], [0.0, 1.0]),  # player 2 takes its own
        (0, [DOWN, LEFT], [-2.0, 1.0]),  # player 2 takes the other's
        (0, [RIGHT, LEFT], [-1.0, 1.0]),  # both at once: the owner gains 1 and pays 2
        (1, [RIGHT, LEFT], [1.0, -1.0]),
    ],
)
def test_rewards(owner: int, moves: list[int], expected: list[float]) -> None:
    after, step = move(state([3, 5], 4, owner), moves)
    assert [float(r) for r in step.reward] == expected
    assert int(after.owner) == 1 - owner  # the owner changes at each pickup


def test_rewards_are_settable() -> None:
    game = CoinGame(reward=2.0, penalty=3.0)
    assert rewards(state([3, 5], 4, 1), [RIGHT, UP], game) == [2.0, -3.0]


def test_players_may_stand_on_one_cell() -> None:
    after, _ = move(state([3, 5], 8, 0), [RIGHT, LEFT])
    assert np.asarray(after.players).tolist() == [4, 4]
    planes = np.asarray(GAME._observe(after)[0])
    assert planes[0, 1, 1] == planes[1, 1, 1] == 1.0


def shares(cells: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(np.asarray(cells).ravel(), minlength=size) / cells.size


def test_a_taken_coin_comes_back_evenly_on_the_free_cells() -> None:
    count = 6000
    keys = jax.random.split(jax.random.key(0), count)
    start = state([3, 0], 4, 0)
    after = jax.jit(jax.vmap(lambda k: GAME.step(k, start, (jnp.int32(RIGHT), jnp.int32(RIGHT)))[0]))(keys)
    found = shares(np.asarray(after.coin), 9)
    assert found[4] == found[1] == 0.0  # where the players are now
    free = np.delete(found, [1, 4])
    np.testing.assert_allclose(free, 1 / 7, atol=4.5 * np.sqrt(6 / 49 / count))


def test_a_new_game_is_drawn_evenly() -> None:
    count = 6000
    start, _ = jax.jit(jax.vmap(GAME.reset))(jax.random.split(jax.random.key(1), count))
    np.testing.assert_allclose(shares(np.asarray(start.owner), 2), 0.5, atol=4 * 0.5 / np.sqrt(count))
    for i in range(2):
        np.testing.assert_allclose(
            shares(np.asarray(start.players)[:, i], 9), 1 / 9, atol=4.5 * np.sqrt(8 / 81 / count)
        )
    assert not np.any(np.asarray(start.players) == np.asarray(start.coin)[:, None])
    apart = np.asarray(start.players)[:, 0] != np.asarray(start.players)[:, 1]
    np.testing.assert_allclose(apart.mean(), 8 / 9, atol=0.02)  # players are placed independently


def test_planes_are_me_other_my_coin_others_coin() -> None:
    first, second = (np.asarray(view) for view in GAME._observe(state([0, 5], 7, 1)))
    assert first.shape == (4, 3, 3)
    places = [np.argwhere(plane).tolist() for plane in first]
    assert places == [[[0, 0]], [[1, 2]], [], [[2, 1]]]
    assert np.array_equal(second, first[[1, 0, 3, 2]])


@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 2), (7, 7), (1, 3)])
def test_any_grid(width: int, height: int) -> None:
    game = CoinGame(width=width, height=height)
    start, views = game.reset(jax.random.key(0))
    assert game.seats[0].observation == Box((4, height, width), 0.0, 1.0)
    assert views[0].shape == (4, height, width)
    assert float(views[0].sum()) == 3.0
    assert 0 <= int(start.coin) < width * height


@pytest.mark.parametrize(
    "settings",
    [
        {"width": 1, "height": 2},
        {"width": 1, "height": 1},
        {"players": 4, "width": 2, "height": 2},
        {"width": 0},
        {"players": 1},
        {"horizon": 0},
    ],
)
def test_impossible_games_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ComityError, match="must be"):
        make_game("coin", **settings)


def test_a_grid_too_small_for_the_coin_says_why() -> None:
    with pytest.raises(ComityError, match=r"1 x 2.* a coin finds a free cell: more than 2 cells"):
        make_game("coin", width=1, height=2)


def test_the_clock() -> None:
    assert not bool(move(state([0, 6], 8, 1, time=48), [RIGHT, UP])[1].truncated)
    step = move(state([0, 6], 8, 1, time=49), [RIGHT, UP])[1]
    assert bool(step.truncated)
    assert not bool(step.terminated)


def test_three_players_own_the_coin_in_rotation() -> None:
    owner, owners = 0, []
    for _ in range(4):
        after, _ = move(state([3, 8, 8], 4, owner), [RIGHT, UP, UP], THREE)
        owner = int(after.owner)
        owners.append(owner)
    assert owners == [1, 2, 0, 1]


@pytest.mark.parametrize(
    ("owner", "moves", "expected"),
    [
        (0, [RIGHT, UP, LEFT], [1.0, 0.0, 0.0]),  # the owner takes it: nobody pays
        (1, [RIGHT, UP, LEFT], [1.0, -2.0, 0.0]),  # another takes it: the owner pays, the third does not
        (2, [RIGHT, UP, LEFT], [1.0, 0.0, -2.0]),
        (2, [RIGHT, LEFT, LEFT], [1.0, 1.0, -2.0]),  # two others at once: each gains, the owner pays once
        (0, [RIGHT, LEFT, LEFT], [-1.0, 1.0, 0.0]),  # the owner and another
    ],
)
def test_three_players_rewards(owner: int, moves: list[int], expected: list[float]) -> None:
    assert rewards(state([3, 5, 7], 4, owner), moves, THREE) == expected


def test_three_players_see_themselves_first_and_then_the_next() -> None:
    views = [np.asarray(view) for view in THREE._observe(state([0, 4, 8], 2, 1))]
    assert views[0].shape == (6, 3, 3)
    assert [int(np.argmax(plane)) for plane in views[0][:3]] == [0, 4, 8]
    assert views[0][3:].sum(axis=(1, 2)).tolist() == [0.0, 1.0, 0.0]
    for seat in (1, 2):
        order = [(seat + i) % 3 for i in range(3)]
        assert np.array_equal(views[seat], views[0][order + [3 + i for i in order]])


def cells(game: CoinGame, state: CoinState) -> list[list[str]]:
    """What is written in each cell of the drawing."""
    lines = write(game.draw(state)).plain.splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_drawing() -> None:
    assert cells(GAME, state([0, 5], 7, 1)) == [["1", "", ""], ["", "", "2"], ["", "$2", ""]]
    assert cells(GAME, state([4, 4], 0, 0)) == [["$1", "", ""], ["", "12", ""], ["", "", ""]]
    assert cells(THREE, state([0, 0, 0], 8, 2)) == [["123", "", ""], ["", "", ""], ["", "", "$3"]]
    assert cells(WIDE, state([3, 4], 1, 0)) == [["", "$1", "", "1"], ["2", "", "", ""]]


# ---- Scripted players ----------------------------------------------------------------------------------

NAMES = ("always-cooperate", "always-defect", "tit-for-tat")


@pytest.fixture(scope="module")
def league() -> np.ndarray:
    """Mean rewards [pairing, seat, episode] of AC-AC, AC-AD, AD-AD, TfT-TfT, TfT-AD, all at T = 50."""
    players = [scripted_player(name, GAME) for name in NAMES]
    pairings = np.asarray([[0, 0], [0, 1], [1, 1], [2, 2], [2, 1]])
    return match_rewards(GAME, players, pairings, jax.random.key(2), 1000, 50)


@pytest.mark.parametrize(
    ("pairing", "published"), [(0, [0.347, 0.347]), (1, [-0.269, 0.631]), (2, [-0.001, -0.001])]
)
def test_published_league(league: np.ndarray, pairing: int, published: list[float]) -> None:
    found = league[pairing]
    # The published means are over 5,000 episodes of 16 steps: an error of theirs, and one of ours.
    episode = found.std(axis=1)
    error = 4 * np.hypot(episode / np.sqrt(1000), episode * np.sqrt(50 / 16) / np.sqrt(5000))
    assert np.all(error < 0.025)
    assert np.all(np.abs(found.mean(axis=1) - published) < error + 0.0005)


def test_tit_for_tat_in_the_league(league: np.ndarray) -> None:
    """With itself it cooperates; a defector takes less from it than from a cooperator."""
    error = 4 * league.std(axis=2) / np.sqrt(1000)
    cooperation = league[0].mean()
    assert abs(league[3].mean() - cooperation) < 2 * error[3].max()
    assert league[4, 0].mean() > league[1, 0].mean() + 0.05


@eqx.filter_jit
def many_acts(agent: Agent, params: PyTree, obs: jax.Array, keys: jax.Array) -> jax.Array:
    return jax.vmap(lambda key: agent.act(params, agent.initial_carry(params), obs, key)[0])(keys)


def acts(name: str, start: CoinState) -> set[int]:
    """The moves that a player makes in a state, sooner or later."""
    player = make_player(make_agent(name, GAME), GAME)
    keys = jax.random.split(jax.random.key(0), 60)
    return set(np.asarray(many_acts(player.agent, player.params, GAME._observe(start)[0], keys)).tolist())


def test_ways_to_the_coin() -> None:
    mine, others = state([0, 8], 4, 0), state([0, 8], 4, 1)
    shortest = {RIGHT, DOWN}  # both lead nearer to the middle
    assert acts("always-cooperate", mine) == shortest
    assert acts("always-defect", mine) == shortest
    assert acts("always-defect", others) == shortest
    assert acts("always-cooperate", others) == {LEFT, UP}
    # Around the edge: from 0 to 2 is one step to the left.
    assert acts("always-defect", state([0, 8], 2, 1)) == {LEFT}
    assert acts("always-cooperate", state([0, 8], 2, 0)) == {LEFT}


def angry(scenes: list[CoinState], steps: int) -> list[bool]:
    """Whether tit-for-tat moves to the right, to the other's coin on cell 1, in each scene."""
    player = make_player(make_agent("tit-for-tat", GAME, revenge=steps), GAME)
    act = eqx.filter_jit(player.agent.act)
    carry = player.agent.initial_carry(player.params)
    greedy = []
    for t, scene in enumerate(scenes):
        action, carry, _ = act(player.params, carry, GAME._observe(scene)[0], jax.random.key(t))
        greedy.append(int(action) == RIGHT)
    return greedy


MY_COIN = state([0, 7], 3, 0)  # my coin is on cell 3, below me
STOLEN = state([0, 3], 1, 1)  # the other stands where my coin was; its own is on cell 1, to my right
STOLEN_AGAIN = state([0, 3], 6, 0)  # the same, but the new coin is mine again, above me
QUIET = state([0, 8], 1, 1)  # the other's coin on cell 1, the other elsewhere


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_tit_for_tat_takes_revenge_for_exactly_the_set_number_of_steps(steps: int) -> None:
    found = angry([QUIET, MY_COIN, STOLEN] + [QUIET] * 6, steps)
    assert found == [False] * 2 + [True] * steps + [False] * (7 - steps)


def test_a_second_theft_starts_revenge_anew() -> None:
    scenes = [MY_COIN, STOLEN, MY_COIN, STOLEN, QUIET, QUIET, QUIET]
    # While it goes for its own coin it does not go to the right.
    assert angry(scenes, 3) == [False, True, False, True, True, True, False]
    assert angry([MY_COIN, STOLEN_AGAIN, QUIET, QUIET, QUIET], 2) == [False, False, True, False, False]


def test_only_a_stolen_coin_of_ones_own_makes_angry() -> None:
    player = make_player(make_agent("tit-for-tat", GAME), GAME)
    act = eqx.filter_jit(player.agent.act)
    carry = player.agent.initial_carry(player.params)
    # The other takes its own coin from cell 4; then I take mine from cell 1, alone; then an other's coin.
    scenes = [state([0, 5], 4, 1), state([0, 4], 1, 0), state([1, 7], 2, 1), state([0, 8], 1, 1)]
    for scene in scenes:
        _, carry, _ = act(player.params, carry, GAME._observe(scene)[0], jax.random.key(0))
        assert int(carry.anger) == 0


def test_revenge_must_last() -> None:
    with pytest.raises(ComityError, match="revenge = 0"):
        make_agent("tit-for-tat", GAME, revenge=0)


def test_scripted_players_refuse_other_seats() -> None:
    with pytest.raises(ComityError, match="walks in the Coin Game"):
        make_agent("always-defect", GAME).check(make_game("prisoners-dilemma").spec, (0,))
