"""How teams talk: attention by hand, seats in any order, who hears whom, gradients from seat to seat."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.nets.talk import TALKS, Attention, Audience, MeanTalk

KEY = jax.random.key(0)
ALL = ~jnp.eye(3, dtype=jnp.bool_)


def features(*shape: int) -> Any:
    return jax.random.normal(jax.random.key(7), (*shape, 4))


def test_attention_by_hand() -> None:
    """One head, written out with loops: a_ij = softmax_j(q_i k_j / sqrt(d)), without oneself."""
    attend, h = Attention(4, 1, 2, KEY), features(3)
    q, k, v = (np.asarray(h @ part.weight) for part in (attend.question, attend.signature, attend.message))
    out = np.zeros((3, 4))
    for i in range(3):
        others = [j for j in range(3) if j != i]
        fit = np.array([np.exp(q[i] @ k[j] / np.sqrt(2)) for j in others])
        heard = sum(share * v[j] for share, j in zip(fit / fit.sum(), others, strict=True))
        out[i] = np.tanh(np.concatenate([h[i], heard]) @ attend.join.weight + attend.join.bias)
        np.testing.assert_allclose(attend.weights(h, ALL)[0, i, others], fit / fit.sum(), rtol=1e-5)
        assert attend.weights(h, ALL)[0, i, i] == 0.0
    np.testing.assert_allclose(attend(h, ALL), out, rtol=1e-5, atol=1e-6)


def test_heads_are_joined() -> None:
    """Two heads are two attentions of one head whose messages stand side by side."""
    both, h = Attention(4, 2, 3, KEY), features(3)
    weights = both.weights(h, ALL)
    for head in range(2):
        part = slice(3 * head, 3 * head + 3)
        q, k = h @ both.question.weight[:, part], h @ both.signature.weight[:, part]
        fit = jnp.where(ALL, q @ k.T / np.float32(np.sqrt(3)), -jnp.inf)
        np.testing.assert_allclose(weights[head], jax.nn.softmax(fit, axis=-1), rtol=1e-5)
    heard = jnp.concatenate(
        [weights[i] @ (h @ both.message.weight[:, 3 * i : 3 * i + 3]) for i in range(2)], axis=-1
    )
    expected = jnp.tanh(both.join(jnp.concatenate([h, heard], axis=-1)))
    np.testing.assert_allclose(both(h, ALL), expected, rtol=1e-5, atol=1e-6)


def test_commnet_by_hand() -> None:
    talk, h = MeanTalk(4, 1, KEY), features(3)
    mean = np.stack(
        [np.asarray(h)[[1, 2]].mean(0), np.asarray(h)[[0, 2]].mean(0), np.asarray(h)[[0, 1]].mean(0)]
    )
    expected = np.tanh(np.asarray(talk.own[0](h)) + mean @ np.asarray(talk.heard[0].weight))
    np.testing.assert_allclose(talk(h, ALL), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", TALKS.rows())
def test_seats_in_another_order_give_the_same_in_that_order(name: str) -> None:
    talk = TALKS.load(name)().build(4, KEY)
    h, order = features(5, 6), np.array([3, 0, 5, 1, 4, 2])
    hears = jax.random.bernoulli(jax.random.key(3), 0.5, (5, 6, 6)) & ~jnp.eye(6, dtype=jnp.bool_)[None]
    np.testing.assert_allclose(
        talk(h, hears)[:, order], talk(h[:, order], hears[:, order][:, :, order]), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("name", TALKS.rows())
def test_who_is_not_heard_does_not_matter(name: str) -> None:
    talk = TALKS.load(name)(rounds=1).build(4, KEY)
    h = features(3)
    hears = ALL.at[0, 2].set(False)
    changed = h.at[2].add(1.0)
    first, second = talk(h, hears), talk(changed, hears)
    np.testing.assert_array_equal(first[0], second[0])
    assert not np.allclose(first[1], second[1])
    nobody = talk(h, jnp.zeros((3, 3), jnp.bool_))
    np.testing.assert_allclose(nobody[0], talk(h[:1], jnp.zeros((1, 1), jnp.bool_))[0], rtol=1e-5)
    assert np.isfinite(nobody).all()


@pytest.mark.parametrize("name", TALKS.rows())
def test_gradients_from_seat_to_seat_by_finite_differences(name: str) -> None:
    """What a speaker should have known better, told by what a listener did with it."""
    talk = TALKS.load(name)(rounds=2).build(4, KEY)

    def listener(known: Any) -> Any:
        h = features(3).at[1].set(known)
        return jnp.square(talk(h, ALL)[0]).sum()

    known = features(3)[1]
    gradient = jax.grad(listener)(known)
    assert np.abs(gradient).max() > 1e-3
    for i in range(4):
        step = 1e-2 * jax.nn.one_hot(i, 4)
        slope = (listener(known + step) - listener(known - step)) / 2e-2
        np.testing.assert_allclose(slope, gradient[i], rtol=2e-2, atol=2e-4)
    weights = eqx.filter_grad(lambda net: jnp.square(net(features(3), ALL)[0]).sum())(talk)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(weights) if leaf.ndim == 2)


def test_audiences() -> None:
    obs = jnp.array([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0], [0.0, 1.0, 0.0]])
    near = Audience(reach=1.5, places=(0, 1)).hears(obs)
    assert near.tolist() == [[False, False, True], [False, False, False], [True, False, False]]
    there = Audience(presence=2).hears(obs)
    assert there.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    assert Audience(reach=5.0, places=(0, 1)).hears(obs)[0].tolist() == [False, True, True]
    with pytest.raises(ComityError, match="audience"):
        Audience(presence=3).check(3)
    with pytest.raises(ComityError, match="places given"):
        Audience(reach=1.0).check(3)
