"""Joint-action learners: values of joint actions, beliefs that are frequencies, and the answer to them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import comity
from comity.agents.off_policy.jal import JAL
from comity.core.errors import ComityError
from comity.core.spaces import Box
from comity.learn.joint_q import JointQNet, Said, others_actions
from comity.learn.optimisers import Adam
from comity.nets.tabular import Tabular
from tests.agents.off_policy import NON_MONOTONIC, batch_of, learned, spec_of, with_everyone

SETTINGS: dict[str, Any] = {
    "network": Tabular(), "optimiser": Adam(learning_rate=0.03, max_grad_norm=0.0), "minibatches": 1,
    "epochs": 1,
}  # fmt: skip


def said(state: Any) -> Said:
    assert isinstance(state.nets.q, JointQNet)
    return state.nets.q.said(jnp.ones(1))


def test_it_learns_the_whole_table_and_how_often_the_other_does_what() -> None:
    """Both play their first action half of the time, the others a quarter each; one answer fits that."""
    joint = np.array([(a, b) for a in (0, 0, 1, 2) for b in (0, 0, 1, 2)])
    nothing = np.zeros(16, int)
    paid = NON_MONOTONIC[joint[:, 0], joint[:, 1]]
    batch = with_everyone(batch_of(nothing, joint, paid, nothing, np.ones(16, bool), 1))
    agent = JAL(**SETTINGS)
    state = learned(agent, batch, spec_of(1, 3), 2500)
    found = said(state)
    np.testing.assert_allclose(found.joint, NON_MONOTONIC, atol=0.02)
    np.testing.assert_allclose(jnp.exp(found.beliefs[0]), [0.5, 0.25, 0.25], atol=0.005)
    expected = NON_MONOTONIC @ np.array([0.5, 0.25, 0.25])  # -2, -6, -6: the best answer is the first
    np.testing.assert_allclose(found.expected, expected, atol=0.1)
    params = agent.policy(state)
    act = agent.act(params, agent.initial_carry(params), jnp.int32(0), jax.random.key(0))
    assert int(act.action) == 0


def test_what_is_expected_and_what_was_done_of_three_seats() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    joint = jax.random.normal(keys[0], (2, 12))  # own 2, others 3 and 4
    first, second = (
        jax.nn.log_softmax(jax.random.normal(k, (n,))) for k, n in zip(keys[1:], (3, 4), strict=True)
    )
    found = Said(joint, (first, second))
    table = joint.reshape(2, 3, 4)
    chances = jnp.exp(first)[:, None] * jnp.exp(second)[None]
    np.testing.assert_allclose(found.expected, jnp.einsum("abc,bc->a", table, chances), rtol=1e-5)
    for own, one, other in np.ndindex(2, 3, 4):
        done = found.of(jnp.int32(own), (jnp.int32(one), jnp.int32(other)))
        assert float(done) == float(table[own, one, other])
    surprise = found.surprise((jnp.int32(2), jnp.int32(1)))
    np.testing.assert_allclose(surprise, -first[2] - second[1], rtol=1e-6)


def test_each_seat_sees_what_the_others_did_in_its_own_order() -> None:
    batch = with_everyone(batch_of([0, 0], [[0, 1], [1, 2]], [0.0, 0.0], [0, 0], [True, True], 1))
    (other,) = others_actions(batch)
    np.testing.assert_array_equal(other[:, 0], batch.action[:, 1])
    np.testing.assert_array_equal(other[:, 1], batch.action[:, 0])


def test_games_with_too_many_joint_actions_are_refused_with_the_number() -> None:
    with pytest.raises(ComityError, match="1,953,125 joint actions"):
        JAL().check(comity.make_game("simple-spread", players=9).spec, (0,))
    spec = spec_of(1, 2)
    rival = spec.seats[1]._replace(action=Box((2,)))
    with pytest.raises(ComityError, match="what the others choose, and player-1 does numbers"):
        JAL().check(spec._replace(seats=(spec.seats[0], rival)), (0,))
