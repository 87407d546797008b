"""PettingZoo environments that are played turn by turn: who acts, what is legal, whose reward it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.api import scripted_player
from comity.core.batch import Trajectory, team_batch
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.spaces import Box, Discrete, Masked
from comity.play.match import play
from comity.returns.advantages import gae, step_discounts

TICTACTOE = "pettingzoo:pettingzoo.classic.tictactoe_v3"
RELAY = "tests.bridges.environments:make_relay"


def random_play(game: Environment, steps: int, games: int = 4) -> Trajectory:
    players = tuple(scripted_player("random", game, seat) for seat in range(len(game.seats)))
    return play(game, players, jax.random.key(0), games, steps)


@pytest.fixture(scope="module")
def tictactoe() -> Trajectory:
    return random_play(comity.make_game(TICTACTOE, workers=0), 30, 40)


def test_only_legal_moves_are_played_one_at_a_time(tictactoe: Trajectory) -> None:
    acts = np.stack([np.asarray(own) for own in tictactoe.acts])
    assert (acts.sum(axis=0) == 1).all()
    for seat in range(2):
        board, legal = (np.asarray(part) for part in tictactoe.obs[seat])
        free = board.reshape((*board.shape[:2], 9, 2)).sum(axis=-1) == 0
        mine = acts[seat]
        assert (legal[mine] == free[mine]).all()
        assert legal[~mine].tolist() == [[True] + [False] * 8] * int((~mine).sum())
        chosen = np.take_along_axis(legal, np.asarray(tictactoe.action[seat])[..., None], axis=-1)
        assert chosen.all()
    # Nobody was punished for an illegal move: what one wins the other loses.
    total = sum(np.asarray(reward) for reward in tictactoe.step.reward)
    assert np.all(np.asarray(total) == 0)
    assert not np.asarray(tictactoe.step.truncated).any()


def test_both_seats_last_own_moves_are_credited_with_the_result(tictactoe: Trajectory) -> None:
    done = np.asarray(tictactoe.step.terminated)
    results = np.asarray(tictactoe.step.reward[0])
    assert {-1.0, 0.0, 1.0} == set(results[done].tolist())
    assert (results[~done] == 0).all()
    for seat in range(2):
        batch = team_batch(tictactoe, (seat,))
        # With a discount of 0 a move is worth what is paid until the next own one.
        discount, gae_lambda = step_discounts(batch.next_acts[:, 0], 0.0, 1.0)
        paid, ends = batch.reward[:, 0], (batch.terminated[:, 0], batch.ended[:, 0])
        nothing = jnp.zeros_like(paid)
        each = jax.vmap(gae, in_axes=1, out_axes=1)
        found = np.asarray(each(paid, nothing, nothing, *ends, discount, gae_lambda))
        decides = np.asarray(batch.decides[:, 0]) > 0
        for game in range(done.shape[1]):
            start = 0
            for end in np.flatnonzero(done[:, game]):
                own = start + np.flatnonzero(decides[start : end + 1, game])
                result = float(np.asarray(batch.reward)[end, 0, game])
                assert own[-1] >= end - 1
                assert found[own, game].tolist() == [0.0] * (len(own) - 1) + [result]
                start = int(end) + 1


def test_spaces_turns_leaving_and_the_clock() -> None:
    game = comity.make_game(RELAY, workers=0)
    x, y, z = game.seats
    assert x.observation == y.observation == Masked(Discrete(50), 3)
    assert z.observation == Discrete(50)  # numbers have no legal choices
    assert z.action == Box((1,), 0.0, 1.0)
    joint = random_play(game, 11)
    acts = np.stack([np.asarray(own)[:, 0] for own in joint.acts])
    assert "".join("xyz"[mover] for mover in acts.argmax(axis=0)) == "xyzxyzyzyxy"
    assert (acts.sum(axis=0) == 1).all()
    alive = np.asarray(joint.alive[0])[:, 0].tolist()
    assert alive == [True] * 4 + [False] * 5 + [True] * 2
    assert np.asarray(joint.step.alive[0])[:, 0].tolist() == [True] * 3 + [False] * 6 + [True] * 2
    assert np.asarray(joint.alive[1]).all()
    assert np.asarray(joint.step.truncated)[:, 0].tolist() == [False] * 8 + [True, False, False]
    assert not np.asarray(joint.step.terminated).any()
    next_acts = np.asarray(team_batch(joint, (1,)).next_acts)[:9, 0, 0]
    assert next_acts.tolist() == [True, False, False, True, False, True, False, True, False]
    assert np.asarray(joint.step.obs[2])[:, 0].tolist() == [*range(1, 10), 1, 2]
    # The move at time 3 is x's last; what y's first choice would pay is never chosen.
    rewards = np.stack([np.asarray(own)[:, 0] for own in joint.step.reward])
    assert ((rewards * acts).max(axis=0) == 1.0).all()
    choices = np.asarray(joint.action[1])[np.asarray(joint.acts[1])]
    assert set(choices.tolist()) == {1, 2}
    np.testing.assert_allclose(rewards[2, 1], 0.1 * float(np.asarray(joint.action[1])[1, 0]), rtol=1e-6)


def test_workers_play_the_same_turns() -> None:
    here, there = (random_play(comity.make_game(RELAY, workers=workers), 9) for workers in (0, 1))
    for a, b in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_reward_that_is_no_number_is_named() -> None:
    with pytest.raises(ComityError, match="paid x a reward of nan"):
        random_play(comity.make_game(RELAY, workers=0, arguments=("wrong=reward",)), 3)
