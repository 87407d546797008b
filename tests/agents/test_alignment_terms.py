"""The aligned advantage against slow loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.agents.on_policy.a2c import A2C
from comity.nets import GRU
from comity.play.specs import make_game
from tests.agents.shaped import (
    Played,
    find,
    plain,
    plain_critic,
    plain_learner,
    played,
    shaken_critic,
    slow_advantages,
    slow_terms,
)

GAMMA = 0.9


@pytest.fixture(scope="module")
def dilemma() -> Played:
    return played(make_game("prisoners-dilemma", horizon=4), plain())


@pytest.fixture(scope="module")
def goods() -> Played:
    return played(make_game("public-goods", players=3, horizon=3), plain())


@pytest.mark.parametrize("seats", [(0, 1, 2), (2, 0)])
def test_three_players_sum_over_the_others(goods: Played, seats: tuple[int, ...]) -> None:
    joint, state = goods
    assert np.asarray(joint.step.truncated).any()
    found = find(plain(weight=0.7), goods, seats)
    own, past, others = (slow_advantages(GAMMA, state, joint, share) for share in (0.8, 0.0, 0.5))
    term = slow_terms(GAMMA, joint, past, others)
    order = list(seats)
    np.testing.assert_allclose(found.own, own[:, order], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.term, term[:, order], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.total, (own + 0.7 * term)[:, order], rtol=1e-4, atol=1e-4)
    assert np.abs(found.term).max() > 0.1


def test_goodwill_counts_as_a_past_that_went_well(goods: Played) -> None:
    simple, kind = (find(agent, goods, (0,)) for agent in (plain(), plain(goodwill=0.3)))
    others = slow_advantages(GAMMA, goods.state, goods.joint, 0.5)
    np.testing.assert_allclose(kind.past, simple.past + 0.3, rtol=1e-5)
    both = others[:, 1:2] + others[:, 2:3]
    np.testing.assert_allclose(kind.term, simple.term + 0.3 * both, rtol=1e-3, atol=1e-4)


def test_masks_act_on_each_pair_of_players(goods: Played) -> None:
    found = find(plain(masked_cases=("empathetic", "vengeful")), goods, (0,))
    others = slow_advantages(GAMMA, goods.state, goods.joint, 0.5)
    expected = np.zeros(found.term.shape)
    for other in (1, 2):
        product = np.asarray(found.past) * others[:, other : other + 1]
        expected += np.where(product > 0, product, 0.0)
    np.testing.assert_allclose(found.term, expected, rtol=1e-4, atol=1e-4)


def test_action_values_mean_over_the_policy(dilemma: Played) -> None:
    """With an action-value critic, V is the mean of Q under the policy that was played."""
    critic = plain_critic(kind="action-value")
    agent = plain(plain_learner(A2C, critic=critic))
    spec = make_game("prisoners-dilemma").spec
    net = shaken_critic(critic.build(spec, (0,), jax.random.key(0), GRU(), 5), 7)
    joint, state = dilemma.joint, dilemma.state._replace(critic=net)
    found = find(agent, Played(joint, state), (0, 1))
    own, past, others = (slow_advantages(GAMMA, state, joint, share, True) for share in (0.8, 0.0, 0.5))
    np.testing.assert_allclose(found.own, own, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.term, slow_terms(GAMMA, joint, past, others), rtol=1e-4, atol=1e-4)


def test_a_seat_that_left_is_not_aligned_with(dilemma: Played) -> None:
    """After the second player has left, its advantage is no part of anybody's term."""
    joint, state = dilemma
    stays = jnp.zeros((7, 3), jnp.bool_).at[0].set(True)
    joint = joint._replace(
        alive=(joint.alive[0], jnp.concatenate([stays[:1], stays[:-1]])),
        step=joint.step._replace(alive=(joint.step.alive[0], stays)),
    )
    found = find(plain(weight=0.6), Played(joint, state), (0,))
    assert np.abs(found.past[2:]).max() > 0.1
    np.testing.assert_array_equal(found.term[2:], 0.0)
