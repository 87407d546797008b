"""Joint values with known answers: what each mixer can say of a game, and what it cannot."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from comity.agents.off_policy.dqn import DQN
from comity.agents.off_policy.pqn import PQNVDN
from comity.agents.off_policy.qmix import QMIX
from comity.agents.off_policy.qplex import QPLEX
from comity.agents.off_policy.team import joint_value, no_state
from comity.agents.off_policy.vdn import VDN
from comity.core.errors import ComityError
from comity.learn.optimisers import Adam
from comity.learn.replay import UniformReplay
from comity.nets.mixers import DuplexMixer, MonotonicMixer, SeatValues
from comity.nets.tabular import Tabular
from tests.agents.off_policy import NON_MONOTONIC, RISKY, TWO, learned, matrix_game, spec_of, two_step

FAST = Adam(learning_rate=0.02, max_grad_norm=0.0)
SETTINGS: dict[str, Any] = {"network": Tabular(), "optimiser": FAST, "discount": 1.0, "target_tau": 0.1}


def values(state: Any, places: int = 1) -> np.ndarray:
    """The table of a seat's own action values, [place, action]."""
    return np.asarray(state.nets.q.head.weight)


def joint_table(agent: Any, state: Any, batch: Any) -> np.ndarray:
    q = state.nets.q.along(batch)
    return np.asarray(agent.value(state.nets, q, batch.action, batch.alive, batch.state))[0, 0]


@pytest.mark.parametrize("payoffs", [NON_MONOTONIC, RISKY])
def test_vdn_is_the_additive_fit_of_uniform_play(payoffs: np.ndarray) -> None:
    count = len(payoffs)
    agent, batch = VDN(**SETTINGS), matrix_game(payoffs)
    state = learned(agent, batch, spec_of(1, count), 1500)
    exact = payoffs.mean(1)[:, None] + payoffs.mean(0)[None] - payoffs.mean()
    np.testing.assert_allclose(joint_table(agent, state, batch), exact.reshape(-1), atol=0.02)
    wanted = {3: [-6.22, -4.89, -3.56], 2: [-1.5, 2.5, 6.5]}[count]
    np.testing.assert_allclose(sorted({round(float(x), 2) for x in exact.reshape(-1)}), wanted)


def test_qmix_solves_the_two_step_game_and_vdn_does_not() -> None:
    batch, spec = two_step(), spec_of(3, 2)
    vdn, qmix = VDN(**SETTINGS), QMIX(**SETTINGS)
    sums, mixed = learned(vdn, batch, spec, 2500), learned(qmix, batch, spec, 2500)
    np.testing.assert_allclose(joint_table(vdn, sums, batch)[8:], [-1.5, 2.5, 2.5, 6.5], atol=0.05)
    assert np.argmax(values(sums)[0]) == 0  # the safe game: 7
    np.testing.assert_allclose(joint_table(qmix, mixed, batch)[8:], [0.0, 1.0, 1.0, 8.0], atol=0.3)
    assert np.argmax(values(mixed)[0]) == 1  # the risky game
    assert np.argmax(values(mixed)[2]) == 1  # and 8 in it


@pytest.mark.parametrize(("kind", "paid"), [(VDN, 0.0), (QMIX, 0.0), (QPLEX, 8.0)])
def test_only_qplex_finds_the_best_of_the_non_monotonic_game(kind: Any, paid: float) -> None:
    agent, batch = kind(**SETTINGS), matrix_game(NON_MONOTONIC)
    for seed in range(3):
        state = learned(agent, batch, spec_of(1, 3), 3000, seed)
        best = int(np.argmax(values(state)[0]))
        assert NON_MONOTONIC[best, best] == paid
    if kind is QPLEX:
        np.testing.assert_allclose(joint_table(agent, state, batch), NON_MONOTONIC.reshape(-1), atol=1.0)


def seat_values(q: Array, action: Array) -> SeatValues:
    chosen = jnp.take_along_axis(q, action[..., None], axis=-1)[..., 0]
    return SeatValues(chosen, q.max(axis=-1), jax.nn.one_hot(action, q.shape[-1], dtype=jnp.float32))


def _total(mixer: Any, values: SeatValues, state: Array, chosen: Array) -> Array:
    return jnp.asarray(mixer(values._replace(chosen=chosen), state).sum())


def test_qmix_is_monotonic_everywhere() -> None:
    for seed in range(5):
        keys = jax.random.split(jax.random.key(seed), 4)
        mixer = MonotonicMixer(3, 4, 8, 16, keys[0])
        state = 3.0 * jax.random.normal(keys[1], (5, 7, 4))
        q = 5.0 * jax.random.normal(keys[2], (5, 3, 7, 2))
        action = jax.random.randint(keys[3], (5, 3, 7), 0, 2)
        values = seat_values(q, action)

        slopes = jax.grad(partial(_total, mixer, values, state))(values.chosen)
        assert float(slopes.min()) >= 0.0
        assert float(slopes.max()) > 0.0


@pytest.mark.parametrize("width", [8, 32, 128])
def test_a_new_mixer_of_qmix_is_close_to_a_sum(width: int) -> None:
    """Otherwise the errors that a maximum picks come back multiplied, and values diverge."""
    keys = jax.random.split(jax.random.key(0), 4)
    mixer = MonotonicMixer(3, 16, width, 64, keys[0])
    state = jax.random.normal(keys[1], (20, 10, 16))
    q = jax.random.normal(keys[2], (20, 3, 10, 2))
    values = seat_values(q, jax.random.randint(keys[3], (20, 3, 10), 0, 2))
    slopes = jax.grad(partial(_total, mixer, values, state))(values.chosen)
    assert 0.2 < float(slopes.mean()) < 1.5


def test_qplex_is_greedy_where_each_seat_is() -> None:
    """Over all joint actions, that of each seat's best action has the highest value."""
    for seed in range(5):
        keys = jax.random.split(jax.random.key(seed), 3)
        mixer = DuplexMixer(3, 4, 3, 4, 16, keys[0])
        state = jnp.broadcast_to(2.0 * jax.random.normal(keys[1], (1, 1, 4)), (1, 27, 4))
        q = jnp.broadcast_to(4.0 * jax.random.normal(keys[2], (1, 3, 1, 3)), (1, 3, 27, 3))
        joint = np.array(list(np.ndindex(3, 3, 3)))
        total = mixer(seat_values(q, jnp.asarray(joint, jnp.int32).T[None]), state)[0]
        greedy = np.asarray(q)[0, :, 0].argmax(axis=-1)
        assert joint[int(total.argmax())].tolist() == greedy.tolist()


def test_a_team_is_one_stream_and_nothing_is_broadcast() -> None:
    """Targets [game] beside values [game, 1] would make a square: every error would count for every game."""
    batch = matrix_game(RISKY)
    for kind in (VDN, QMIX, QPLEX):
        agent = kind(**SETTINGS)
        state = agent.init(jax.random.key(0), spec_of(1, 2), TWO)
        streams = agent.streams(batch)
        target = agent.targets(state, batch, batch, streams)
        value = agent.value(state.nets, state.nets.q.along(batch), batch.action, batch.alive, batch.state)
        assert target.shape == value.shape == streams.reward.shape == (1, 1, 4)


def test_seats_that_left_add_nothing() -> None:
    agent = VDN(**SETTINGS)
    batch = matrix_game(RISKY)
    state = learned(agent, batch, spec_of(1, 2), 50)
    q = state.nets.q.along(batch)
    gone = batch.alive.at[:, 1].set(False)
    alone = joint_value(state.nets, q, batch.action, gone, no_state(q))[:, 0]
    np.testing.assert_allclose(alone, jnp.take_along_axis(q, batch.action[..., None], -1)[:, 0, :, 0])


def test_a_lone_seat_of_vdn_is_dqn() -> None:
    batch = matrix_game(RISKY)
    one = jax.tree.map(lambda x: x, batch)
    one = one.replace(
        **{
            name: jax.tree.map(lambda x: x[:, :1], getattr(batch, name))
            for name in (
                "obs", "next_obs", "action", "reward", "terminated", "truncated", "resets", "alive", "acts",
                "next_acts",
            )
        }
    )  # fmt: skip
    states = [learned(kind(**SETTINGS), one, spec_of(1, 2), 30) for kind in (DQN, VDN)]
    np.testing.assert_array_equal(values(states[0]), values(states[1]))


def test_pqn_with_a_sum_is_the_additive_fit_too() -> None:
    settings = {name: x for name, x in SETTINGS.items() if name != "target_tau"}
    agent = PQNVDN(**settings, minibatches=1, epochs=1)
    state = learned(agent, matrix_game(RISKY), spec_of(1, 2), 1500)
    np.testing.assert_allclose(values(state)[0].tolist(), [-0.75, 3.25], atol=0.02)


def test_mixers_of_states_need_states() -> None:
    without = UniformReplay(states=False)
    with pytest.raises(ComityError, match=r"memory.states"):
        QMIX(memory=without).check(spec_of(1, 2), TWO)
    with pytest.raises(ComityError, match="use vdn"):
        QPLEX().check(spec_of(1, 2)._replace(state=None), TWO)
