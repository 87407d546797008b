"""Uniform replay: what is kept, what is drawn, and what is refused."""

import itertools
import random

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from comity.core import free_memory
from comity.core.batch import TeamBatch, Trajectory
from comity.core.errors import ComityError
from comity.core.game import TimeStep
from comity.core.settings import build
from comity.core.spaces import Box
from comity.learn.replay import ReplayState, UniformReplay
from comity.nets.gru import GRU

LENGTH, SEATS, GAMES = 3, (1, 4), 2


def rollout(first: int, length: int = LENGTH, games: int = GAMES, episode: int = 5) -> TeamBatch:
    """Steps numbered on from `first`; the number of a step, seat and game is in its observation and reward.

    Episodes of all games last `episode` steps and end by the clock.
    """
    time = jnp.arange(first, first + length)
    number = time[:, None, None] * 100 + jnp.array(SEATS)[None, :, None] * 10 + jnp.arange(games)[None, None]
    shape = number.shape
    no, yes = jnp.zeros(shape, jnp.bool_), jnp.ones(shape, jnp.bool_)
    ends = jnp.broadcast_to(((time + 1) % episode == 0)[:, None, None], shape)
    return TeamBatch(
        obs=(number, jnp.stack([number, -number], axis=-1)),
        next_obs=(number + 100, jnp.stack([number, -number], axis=-1) + 100),
        action=number % 7,
        extras=(),
        bootstrap=(),
        reward=number.astype(jnp.float32),
        terminated=no,
        truncated=ends,
        resets=jnp.concatenate([jnp.zeros_like(ends[:1]), ends[:-1]]),
        alive=yes,
        acts=yes,
        next_acts=yes,
        carry=(),
        state=number[:, 0],
        next_state=number[:, 0] + 100,
        age=jnp.full(games, first % episode, jnp.int32),
        everyone=None,
        seats=SEATS,
    )


def with_other_seats(batch: TeamBatch) -> TeamBatch:
    """The same rollout with what five seats saw and did: a number of the step, the seat and the game."""
    time = (batch.reward[:, 0] // 100).astype(jnp.int32)
    number = [time * 100 + seat * 10 + jnp.arange(GAMES)[None] for seat in range(5)]
    yes, nothing = jnp.ones_like(batch.alive[:, 0]), ((),) * 5
    step = TimeStep(tuple(x + 100 for x in number), (), ~yes, batch.truncated[:, 0], (yes,) * 5)
    everyone = Trajectory(
        tuple(number), (yes,) * 5, tuple(x % 7 for x in number), nothing, nothing, step, nothing, (), (),
        batch.age,
    )  # fmt: skip
    return batch.replace(everyone=everyone, obs=batch.obs[0], next_obs=batch.next_obs[0])


def filled(memory: UniformReplay, rollouts: int, games: int = GAMES) -> ReplayState:
    state = memory.init(jax.eval_shape(lambda: rollout(0, games=games)))
    for number in range(rollouts):
        state = memory.add(state, rollout(number * LENGTH, games=games))
    return state


def in_order(state: ReplayState) -> list[int]:
    """The times of the steps that are stored, oldest first, as the first seat of the first game has them."""
    room = state.steps["reward"].shape[0]
    oldest = 0 if int(state.stored) < room else int(state.next)
    places = [(oldest + i) % room for i in range(int(state.stored))]
    return [int(state.steps["reward"][place, 0, 0]) // 100 for place in places]


@pytest.mark.parametrize("capacity", [6, 7, 8, 20, 41])
def test_it_keeps_what_a_list_would(capacity: int) -> None:
    """Rollouts of several lengths in random order, beside a list that drops its oldest entries."""
    memory = UniformReplay(capacity=capacity * GAMES, batch=4, learning_starts=0)
    lengths = [1, 2, 3, 6]
    state = memory.init(jax.eval_shape(lambda: rollout(0, 6)))
    add = {n: eqx.filter_jit(memory.add) for n in lengths}
    expected: list[int] = []
    draws = random.Random(capacity)
    for _ in range(25):
        length = draws.choice(lengths)
        first = expected[-1] + 1 if expected else 0
        state = add[length](state, rollout(first, length))
        expected = (expected + list(range(first, first + length)))[-capacity:]
        assert in_order(state) == expected
        assert int(state.stored) == len(expected)
    # What a step is made of stays together, for every seat and game.
    flat = state.steps
    for place, seat, game in itertools.product(range(capacity), range(2), range(GAMES)):
        number = int(flat["reward"][place, seat, game])
        assert number % 100 == SEATS[seat] * 10 + game
        assert int(flat["obs"][0][place, seat, game]) == number
        assert flat["obs"][1][place, seat, game].tolist() == [number, -number]
        assert int(flat["next_obs"][0][place, seat, game]) == number + 100
        assert int(flat["action"][place, seat, game]) == number % 7
        assert int(flat["age"][place, game]) == number // 100 % 5


def test_every_step_is_drawn_equally_often() -> None:
    memory = UniformReplay(capacity=7 * GAMES, batch=4000, learning_starts=0)
    state = filled(memory, 4)  # 12 steps through a ring of 7, whose seam is in the middle
    batch = jax.jit(memory.sample)(state, jax.random.key(0))
    assert batch.reward.shape == (1, 2, 4000)
    drawn, counts = np.unique(np.asarray(batch.reward[0, 0]), return_counts=True)
    assert drawn.tolist() == sorted(t * 100 + 10 + g for t in range(5, 12) for g in range(GAMES))
    expected = 4000 / len(drawn)
    assert ((counts - expected) ** 2 / expected).sum() < 34.5  # chi-squared, 13 degrees of freedom, p = 0.001
    # Both seats are of the same step in the same game.
    np.testing.assert_array_equal(batch.reward[0, 1] - batch.reward[0, 0], 30.0)


def test_what_other_seats_saw_and_did_is_of_the_same_step() -> None:
    memory = UniformReplay(capacity=8 * GAMES, batch=64, length=2, learning_starts=0, joint=True)
    state = memory.init(jax.eval_shape(lambda: with_other_seats(rollout(0))))
    for number in range(4):
        state = memory.add(state, with_other_seats(rollout(number * LENGTH)))
    batch = memory.sample(state, jax.random.key(0))
    step = np.asarray(batch.reward[:, 0]) - 10 * SEATS[0]
    for seat in range(5):
        own = step + 10 * seat
        np.testing.assert_array_equal(batch.joint.obs[seat], own)
        np.testing.assert_array_equal(batch.joint.step.obs[seat], own + 100)
        np.testing.assert_array_equal(batch.joint.action[seat], own % 7)
        assert bool(batch.joint.alive[seat][0].all())
    without = UniformReplay(capacity=8 * GAMES, batch=4, learning_starts=0)
    with pytest.raises(ComityError, match=r"memory\.joint"):
        _ = without.sample(filled(without, 2), jax.random.key(0)).joint


@pytest.mark.parametrize("rollouts", [2, 3, 4, 5, 6, 9])
def test_sequences_are_in_order_and_never_over_the_seam(rollouts: int) -> None:
    memory = UniformReplay(capacity=8 * GAMES, batch=512, length=4, learning_starts=0, states=True)
    state = filled(memory, rollouts)
    assert bool(memory.ready(state))
    batch = memory.sample(state, jax.random.key(rollouts))
    assert batch.seats == SEATS
    steps = np.diff(np.asarray(batch.reward), axis=0)
    assert (steps == 100).all()
    stored = in_order(state)
    firsts = {int(x) // 100 for x in np.unique(np.asarray(batch.reward[0]))}
    assert firsts == set(stored[: len(stored) - 3])
    np.testing.assert_array_equal(batch.state, np.asarray(batch.obs[0][:, 0]) - 0)
    # A new episode is marked wherever it begins, at the seam of two rollouts too.
    time = np.asarray(batch.reward).astype(int) // 100
    np.testing.assert_array_equal(batch.resets, time % 5 == 0)
    np.testing.assert_array_equal(batch.age, time[0, 0] % 5)


def test_a_recurrent_network_forgets_at_the_seam_of_rollouts() -> None:
    """Along a sequence that spans rollouts, features after a new episode do not depend on what was before."""
    memory = UniformReplay(capacity=12 * GAMES, batch=64, length=4, learning_starts=0)
    batch = memory.sample(filled(memory, 4), jax.random.key(0))
    torso = GRU(width=4).build(Box((2,)), jax.random.key(1))
    seen = jnp.stack([jnp.sin(batch.reward), jnp.cos(batch.reward)], axis=-1)
    other = seen.at[0].set(9.0)

    def last(seen: Array) -> Array:
        carry = torso.initial_carries(batch.reward.shape[1:])
        return torso.unroll(carry, seen, batch.resets)[0][-1]

    begun = np.asarray(batch.resets[1:].any(axis=0))
    moved = np.abs(np.asarray(last(seen) - last(other))).max(axis=-1) > 1e-6
    np.testing.assert_array_equal(moved, ~begun)


def test_it_is_ready_when_there_is_enough() -> None:
    memory = UniformReplay(capacity=100, batch=4, learning_starts=10)
    readiness = [bool(memory.ready(filled(memory, n))) for n in (0, 1, 2)]
    assert readiness == [False, False, True]  # 0, 6 and 12 steps
    longer = UniformReplay(capacity=100, batch=4, length=5, learning_starts=0)
    assert [bool(longer.ready(filled(longer, n))) for n in (1, 2)] == [False, True]
    # 10 steps of 4 games leave room for 8: learning begins when the ring is full.
    odd = UniformReplay(capacity=15, batch=4, learning_starts=15)
    assert [bool(odd.ready(filled(odd, n, games=4))) for n in (0, 1)] == [False, True]


def test_a_capacity_below_one_rollout_is_refused_with_the_number() -> None:
    template = jax.eval_shape(lambda: rollout(0))
    with pytest.raises(ComityError, match=r"memory.capacity = 5 .* at least 6: one rollout of all games"):
        UniformReplay(capacity=5, learning_starts=0).init(template)
    with pytest.raises(ComityError, match=r"memory.capacity = 9 .* at least 10"):
        UniformReplay(capacity=9, length=5, learning_starts=0).init(template)


def test_a_capacity_above_the_free_memory_is_refused_with_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    template = jax.eval_shape(lambda: rollout(0))
    monkeypatch.setattr(free_memory, "free_memory", lambda: 2_000_000_000)
    # A step of a game takes 2 x (2 x 12 + 4 + 4 + 6) bytes for two seats, and 4 for its age.
    with pytest.raises(
        ComityError, match=r"memory.capacity = 100000000 would take 8.0 GB .* 2.0 GB are free"
    ):
        UniformReplay(capacity=100_000_000).init(template)
    monkeypatch.setattr(free_memory, "free_memory", lambda: None)
    UniformReplay(capacity=1000).init(template)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capacity", 0), ("batch", 0), ("length", 0), ("updates", 0), ("learning_starts", -1),
        ("learning_starts", 101),
    ],
)  # fmt: skip
def test_settings_out_of_range_name_the_field(field: str, value: int) -> None:
    settings = {"capacity": 100, "learning_starts": 0, field: value}
    with pytest.raises(ComityError, match=rf"memory.{field} = {value}"):
        build(UniformReplay, settings, "memory", lambda kind, data, path, default: data)
