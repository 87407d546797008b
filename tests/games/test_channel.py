"""Channels: what arrives, where, when and how, worked out by hand; the game inside stays the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.cli import run as cli
from comity.core.errors import ComityError
from comity.core.game import Environment
from comity.core.scene import Stack, Table
from comity.core.spaces import Box, Discrete
from comity.drawing.text import write
from comity.games.transforms import Channel, PaddedSeats, Symbols, Vector
from comity.play.match import play
from comity.play.specs import make_agent, make_game
from comity.testing import check_agent, check_game
from comity.testing.contracts import make_player
from comity.training.overrides import with_channel

KEY = jax.random.key(0)


def goods(**settings: Any) -> Channel:
    return Channel(game=make_game("public-goods", players=3, horizon=6), **settings)


def actions(*said: tuple[int, ...]) -> tuple[Any, ...]:
    """Everybody contributes nothing and says something."""
    return tuple((jnp.int32(0), *(jnp.int32(word) for word in words)) for words in said)


def heard(game: Channel, obs: tuple[Any, ...], seat: int) -> np.ndarray:
    """What a seat hears, [sender in order from the next seat, message, numbers and freshness]."""
    return np.asarray(obs[seat][1]).reshape(len(obs) - 1, game.history, -1)


def one_hot(symbol: int, vocabulary: int = 4) -> list[float]:
    return [float(i == symbol) for i in range(vocabulary)]


def test_everybody_hears_the_others_in_order() -> None:
    game = goods()
    state, obs = game.reset(KEY)
    assert game.seats[0].action == (Discrete(2), Discrete(4))
    assert game.seats[0].observation[1] == Box((10,), 0.0, 1.0)  # type: ignore[index]
    assert not heard(game, obs, 0).any()
    _, step = game.step(KEY, state, actions((0,), (1,), (3,)))
    assert heard(game, step.obs, 0).tolist() == [[[*one_hot(1), 1]], [[*one_hot(3), 1]]]
    assert heard(game, step.obs, 2).tolist() == [[[*one_hot(0), 1]], [[*one_hot(1), 1]]]


def test_the_game_inside_is_as_without_the_channel() -> None:
    """Bit for bit, for the same actions; and where nothing fits through, the channel is not there at all."""
    inner = make_game("coin")
    talking = Channel(game=inner, noise=0.3, loss=0.2)
    alone, along = inner.reset(KEY)[0], talking.reset(KEY)[0]
    for time in range(20):
        key = jax.random.fold_in(KEY, time)
        moves = tuple(jax.random.randint(jax.random.fold_in(key, seat), (), 0, 4) for seat in range(2))
        alone, first = inner.step(key, alone, moves)
        along, second = talking.step(key, along, tuple((move, jnp.int32(time % 4)) for move in moves))
        for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(along.inner), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(jnp.stack(first.reward), jnp.stack(second.reward))


def leaves_of(game: Environment) -> list[Any]:
    players = tuple(make_player(make_agent("a2c", network="mlp"), game, seat) for seat in range(2))
    return jax.tree.leaves(play(game, players, KEY, 4, 8))


def test_zero_capacity_is_the_silent_game_bit_for_bit() -> None:
    inner = make_game("coin")
    for message, bits in ((Symbols(vocabulary=4), 1), (Symbols(), 0), (Vector(length=3), 2)):
        deaf = Channel(game=inner, message=message, bits=bits, price=0.5, noise=0.1)
        assert deaf.silent
        assert deaf.seats == inner.seats
        assert deaf.spec == inner.spec
    for a, b in zip(leaves_of(inner), leaves_of(deaf), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not Channel(game=inner, message=Symbols(vocabulary=4), bits=2).silent


def test_an_addressed_message_reaches_its_receiver_whatever_others_sent() -> None:
    game = goods(to="addressed")
    state, _ = game.reset(KEY)
    for words in ((0, 1), (2, 3)):
        for others in ((0, 0), (1, 0), (2, 1), (3, 1)):
            # Seat 0 addresses seat 2, the second after it; the others say anything to anybody.
            _, step = game.step(KEY, state, actions((words[0], 1), others, (words[1], 0)))
            assert heard(game, step.obs, 2)[0, 0].tolist() == [*one_hot(words[0]), 1]
            assert heard(game, step.obs, 0)[1, 0].tolist() == [
                *one_hot(words[1]),
                1,
            ]  # seat 2 addresses seat 0
            assert not heard(game, step.obs, 1)[1].any()  # nobody but its receiver hears seat 0


def test_history_keeps_the_last_messages_of_each_sender_and_their_age() -> None:
    game = goods(history=2, message=Symbols(vocabulary=3, optional=True))
    state, _ = game.reset(KEY)
    for words in ((1, 1, 1), (2, 0, 1), (3, 0, 1)):  # 0 is silence
        state, step = game.step(KEY, state, actions(*((word,) for word in words)))
    # Seat 2 heard c now and b before it from seat 0, and only a from seat 1, two steps ago.
    found = np.asarray(heard(game, step.obs, 2))
    assert found[0].tolist() == [[0, 0, 1, 1], [0, 1, 0, 0.5]]
    np.testing.assert_allclose(found[1], [[1.0, 0.0, 0.0, 1 / 3], [0.0, 0.0, 0.0, 0.0]])
    state, _ = game.reset_where(KEY, state, jnp.bool_(True))
    assert int(state.inbox.age.max()) == -1


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_delay(delay: int) -> None:
    game = goods(delay=delay)
    state, _ = game.reset(KEY)
    for time in range(5):
        state, step = game.step(KEY, state, actions((time % 4,), (0,), (0,)))
        expected = [*one_hot((time - delay) % 4), 1] if time >= delay else [0] * 5
        assert heard(game, step.obs, 1)[1, 0].tolist() == expected


def many(game: Channel, act: Callable[[], tuple[Any, ...]], count: int = 2000) -> Any:
    """What is heard in one step of many games, [game, receiver, ...]."""
    state, _ = game.reset(KEY)
    keys = jax.random.split(jax.random.key(5), count)
    obs = jax.vmap(lambda key: game.step(key, state, act())[1].obs)(keys)
    return np.stack([np.asarray(own[1]) for own in obs], axis=1)


def test_noise_and_loss_are_drawn_for_every_receiver() -> None:
    found = many(goods(noise=0.3), lambda: actions((2,), (0,), (0,)))
    first = found[:, 1].reshape(-1, 2, 5)[:, 1], found[:, 2].reshape(-1, 2, 5)[:, 0]  # what 1 and 2 hear of 0
    for own in first:
        np.testing.assert_allclose(own.mean(axis=0), [0.1, 0.1, 0.7, 0.1, 1.0], atol=0.03)
    both = (first[0][:, 2] * first[1][:, 2]).mean()
    assert both == pytest.approx(0.49, abs=0.03)  # independent of each other
    lost = many(goods(loss=0.25), lambda: actions((2,), (0,), (0,)))
    there = lost.reshape(-1, 3, 2, 5)[..., 4].reshape(-1, 6)
    np.testing.assert_allclose(there.mean(axis=0), 0.75, atol=0.04)
    np.testing.assert_allclose(np.corrcoef(there.T) - np.eye(6), 0.0, atol=0.1)
    assert not many(goods(loss=1.0), lambda: actions((2,), (0,), (0,)), 4).any()


def test_vectors_noise_and_rounding() -> None:
    def say() -> tuple[Any, ...]:
        return ((jnp.int32(0), jnp.array([0.3, -0.8])),) * 3

    plain = many(goods(message=Vector()), say, 3)
    np.testing.assert_allclose(plain[0, 0], [0.3, -0.8, 1, 0.3, -0.8, 1], atol=1e-6)
    noisy = many(goods(message=Vector(), noise=0.5), say).reshape(-1, 3, 2, 3)[..., :2]
    np.testing.assert_allclose(noisy.mean(axis=(0, 1, 2)), [0.3, -0.8], atol=0.03)
    np.testing.assert_allclose(noisy.std(axis=0), 0.5, atol=0.04)
    one_bit = many(goods(message=Vector(), bits=2), say, 1)
    np.testing.assert_allclose(one_bit[0, 0, :2], [1, -1])
    two_bits = many(goods(message=Vector(), bits=4), say, 1)
    np.testing.assert_allclose(two_bits[0, 0, :2], [1 / 3, -1], atol=1e-6)  # of -1, -1/3, 1/3, 1


def test_bits_cut_symbols_off() -> None:
    game = goods(message=Symbols(vocabulary=4, length=3), bits=5)  # two of them take 4 bits
    state, _ = game.reset(KEY)
    _, step = game.step(KEY, state, actions((0, 1, 2), (3, 3, 3), (0, 0, 0)))
    assert heard(game, step.obs, 2)[0, 0].tolist() == [*one_hot(0), *one_hot(1), 0, 0, 0, 0, 1]


def test_a_message_has_its_price_and_silence_none() -> None:
    game, free = (goods(price=price, message=Symbols(optional=True)) for price in (0.25, 0.0))
    state, _ = game.reset(KEY)
    _, paid = game.step(KEY, state, actions((0,), (1,), (4,)))
    _, unpaid = free.step(KEY, state, actions((0,), (1,), (4,)))
    np.testing.assert_allclose(jnp.stack(unpaid.reward) - jnp.stack(paid.reward), [0, 0.25, 0.25], atol=1e-6)
    np.testing.assert_array_equal(jnp.stack(paid.game_reward), jnp.stack(unpaid.reward))


def test_links_and_reach() -> None:
    game = goods(links=((0, 1), (2, 1)))
    state, _ = game.reset(KEY)
    _, step = game.step(KEY, state, actions((1,), (1,), (1,)))
    assert [bool(heard(game, step.obs, seat).any()) for seat in range(3)] == [False, True, False]
    assert not game.symmetric
    near = Channel(game=make_game("simple-spread"), reach=0.5)
    state, _ = near.reset(KEY)
    places = jnp.array([[0.0, 0.0], [0.4, 0.0], [0.8, 0.0]])
    inner = state.inner._replace(position=state.inner.position.at[:3].set(places))
    _, step = near.step(KEY, state._replace(inner=inner), actions((1,), (1,), (1,)))
    fresh = [heard(near, step.obs, seat)[:, 0, -1].tolist() for seat in range(3)]
    assert fresh == [[1, 0], [1, 1], [0, 1]]  # the middle one hears both, the others only the middle one


def test_ablations() -> None:
    silence = many(goods(ablation="silence"), lambda: actions((2,), (1,), (0,)), 4)
    assert not silence.any()
    shuffle = many(goods(ablation="shuffle"), lambda: actions((2,), (2,), (2,)))
    np.testing.assert_allclose(shuffle.reshape(-1, 5).mean(axis=0), [0.25] * 4 + [1], atol=0.02)


def test_joint_choices_are_action_and_message_in_one() -> None:
    joint, separate = goods(choices="joint", to="addressed"), goods(to="addressed")
    assert joint.seats[0].action == Discrete(2 * 4 * 2)
    state, _ = joint.reset(KEY)
    own = tuple(
        jnp.int32(action + 2 * (word + 4 * to)) for action, word, to in ((1, 3, 1), (0, 2, 0), (1, 1, 1))
    )
    parts = tuple(tuple(map(jnp.int32, x)) for x in ((1, 3, 1), (0, 2, 0), (1, 1, 1)))
    first, second = joint.step(KEY, state, own)[1], separate.step(KEY, state, parts)[1]
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


TALKING: list[Any] = [
    lambda: goods(history=2, delay=1, loss=0.5, noise=0.2, to="addressed", price=0.1),
    lambda: Channel(game=make_game("alternating-offers"), message=Symbols(length=2)),
    lambda: Channel(game=PaddedSeats(game=make_game("simple-speaker-listener")), choices="joint"),
    lambda: Channel(game=make_game("coin"), message=Vector(), bits=8, reach=1.5),
    lambda: Channel(game=make_game("probe-odd-seats")),
]


@pytest.mark.long
@pytest.mark.parametrize("make", TALKING)
def test_talking_games_hold_the_contract(make: Callable[[], Channel]) -> None:
    check_game(make())


def test_who_waits_says_nothing() -> None:
    game = Channel(game=make_game("alternating-offers"))
    state, _ = game.reset(KEY)
    half = jnp.array([0.5])
    _, step = game.step(KEY, state, ((half, jnp.int32(1)), (half, jnp.int32(2))))
    assert np.asarray(step.obs[1][1]).tolist() == [*one_hot(1), 1]
    assert not np.asarray(step.obs[0][1]).any()


@pytest.mark.parametrize("message", [Symbols(length=2), Vector()])
def test_learners_talk(message: Any) -> None:
    game = Channel(game=make_game("public-goods", players=2, horizon=4), message=message)
    check_agent(make_agent("ppo", network="mlp", **{"network.width": 8}), game, (0, 1), batch=4, steps=4)


def test_it_is_drawn() -> None:
    game = goods(message=Symbols(length=2))
    state, _ = game.reset(KEY)
    state, _ = game.step(KEY, state, actions((0, 1), (2, 3), (3, 3)))
    drawing = game.draw(state)
    assert isinstance(drawing, Stack)
    assert isinstance(drawing.scenes[-1], Table)
    text = write(drawing).plain
    assert "a b" in text
    assert "c d" in text


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        ("symbols,vocabulary=0", "vocabulary = 0 is not possible"),
        ("symbols,length=0", "length = 0"),
        ("symbols,noise=2", "noise = 2"),
        ("symbols,loss=-1", "loss"),
        ("symbols,delay=-1", "delay"),
        ("symbols,history=0", "history"),
        ("symbols,words=3", "There is no setting of the channel named 'words'"),
        ("symbols,reach=1", "does not say where seats are"),
        ('symbols,{"links": [[0, 7]]}', "links"),
        ("signs", "There is no kind of message named 'signs'"),
        ("vector,choices=joint", "choices"),
        ("symbols,vocabulary", "symbols,vocabulary=4,noise=0.1"),
        ("symbols,vocabulary=100,length=3,choices=joint", "separate: joint ones would be 2,000,000"),
    ],
)
def test_bad_channels_are_refused_by_name(
    channel: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["train", "public-goods", "ppo", "--channel", channel, "--dry-run"]) == 2
    assert said in capsys.readouterr().err


def test_channels_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ComityError, match="a game of several seats"):
        Channel(game=make_game("probe-choice"))
    with pytest.raises(ComityError, match="choices = joint would work"):
        Channel(game=PaddedSeats(game=make_game("simple-speaker-listener")))
    game = make_game("coin")
    talking = with_channel(game, "symbols,vocabulary=8,to=addressed,noise=0.1")
    assert talking == Channel(game=game, message=Symbols(vocabulary=8), to="addressed", noise=0.1)
    assert with_channel(talking, "none") == game
    assert with_channel(talking, "vector") == Channel(game=game, message=Vector())
