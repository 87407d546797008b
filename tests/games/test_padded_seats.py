"""Unlike seats made alike: spaces, what is seen and legal, and that the game stays the same."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.api import scripted_player
from comity.core import spaces
from comity.core.errors import ComityError
from comity.core.spaces import Box, Discrete, Masked
from comity.games.transforms import PaddedSeats
from comity.play.match import play
from comity.play.specs import game_data, game_from_data, make_agent, make_game
from comity.testing import check_agent, check_game
from comity.training.experiment import make_experiment

KEY = jax.random.key(3)
SPEAKER_LISTENER = "simple-speaker-listener"  # 3 numbers and 3 choices beside 11 numbers and 5 choices


def test_speaker_and_listener_get_equal_spaces() -> None:
    game = PaddedSeats(game=make_game(SPEAKER_LISTENER))
    speaker, listener = game.seats
    assert speaker.observation == listener.observation == Masked((Discrete(2), Box((11,))), 5)
    assert speaker.action == listener.action == Discrete(5)
    assert (speaker.name, speaker.role, listener.role) == ("speaker_0", "speaker", "listener")
    check_game(game)


def test_the_game_behind_it_stays_the_same() -> None:
    inner = make_game(SPEAKER_LISTENER)
    game = PaddedSeats(game=inner)
    state, seen = game.reset(KEY)
    inner_state, inner_seen = inner.reset(KEY)
    for time in range(4):
        for seat, (place, numbers), legal in ((i, *obs) for i, obs in enumerate(seen)):
            size = spaces.flat_size(inner.seats[seat].observation)
            assert int(place) == seat
            np.testing.assert_array_equal(numbers[:size], inner_seen[seat])
            assert not np.asarray(numbers[size:]).any()
            assert np.asarray(legal).tolist() == [i < (3, 5)[seat] for i in range(5)]
        actions = (jnp.int32(time % 3), jnp.int32(1 + time))
        state, step = game.step(KEY, state, actions)
        inner_state, inner_step = inner.step(KEY, inner_state, actions)
        np.testing.assert_array_equal(jnp.stack(step.reward), jnp.stack(inner_step.reward))
        seen, inner_seen = step.obs, inner_step.obs
    assert game.horizon == 25


def test_some_seats_of_a_game_with_leaving_and_unlike_seats() -> None:
    inner = make_game("probe-odd-seats")
    game = PaddedSeats(game=inner, places=(0, 1))
    walker, guest, dial = game.seats
    # Two numbers and 3 choices beside one of three (one-hot) and 2 choices.
    assert walker.observation == guest.observation == Masked((Discrete(2), Box((3,))), 3)
    assert dial == inner.seats[2]
    check_game(game)
    players = tuple(scripted_player("random", game, seat) for seat in range(3))
    joint = play(game, players, KEY, 32, 3)
    assert set(np.asarray(joint.action[0]).ravel().tolist()) == {0, 1, 2}
    assert set(np.asarray(joint.action[1]).ravel().tolist()) == {0, 1}  # the third is not legal
    assert np.asarray(joint.alive[1])[:, 0].tolist() == [True, False, False]
    (place, numbers), _ = joint.obs[1]
    assert (np.asarray(place) == 1).all()
    np.testing.assert_array_equal(numbers[:, 0], np.eye(3)[[0, 1, 2]])


def test_legal_choices_of_the_game_are_kept() -> None:
    import comity

    game = PaddedSeats(
        game=comity.make_game("tests.bridges.environments:make_relay", workers=0), places=(0, 1)
    )
    players = tuple(scripted_player("random", game, seat) for seat in range(3))
    joint = play(game, players, KEY, 8, 9)
    chosen = np.asarray(joint.action[1])[np.asarray(joint.acts[1])]
    assert set(chosen.tolist()) == {1, 2}


@pytest.mark.long
def test_one_agent_sits_in_both_seats() -> None:
    game = PaddedSeats(game=make_game(SPEAKER_LISTENER, horizon=4))
    agent = make_agent("ppo", **{"network": "mlp", "network.width": 8})
    experiment = make_experiment(game, agent, share=True, batch=2)
    assert experiment.seating == ((0, 1),)
    check_agent(agent, game, seats=(0, 1), batch=4)
    with pytest.raises(ComityError, match="see or do different"):
        make_experiment(make_game(SPEAKER_LISTENER), agent, share=True)


def test_it_survives_a_file() -> None:
    game = PaddedSeats(game=make_game("probe-odd-seats"), places=(0, 1))
    assert game_from_data(game_data(game)) == game


@pytest.mark.parametrize(
    ("name", "settings", "places", "says"),
    [
        ("probe-odd-seats", {}, (), "'dial' does numbers of shape .1,.: only seats with one choice"),
        (SPEAKER_LISTENER, {"continuous": True}, (), "'speaker_0' does numbers"),
        ("coin", {}, (), "sees .*only choices and vectors can be padded, not planes"),
        (SPEAKER_LISTENER, {}, (0, 2), "places = .0, 2."),
        (SPEAKER_LISTENER, {}, (1, 1), "places"),
    ],
)
def test_what_cannot_be_padded_is_refused(
    name: str, settings: dict[str, Any], places: tuple[int, ...], says: str
) -> None:
    with pytest.raises(ComityError, match=says):
        PaddedSeats(game=make_game(name, **settings), places=places)
