"""Recurrent networks along time: the quick way back gives the derivatives of the plain one."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.spaces import Box, Discrete, Space
from comity.nets import torsos
from comity.nets.torsos import Network, Torso

KEYS = jax.random.split(jax.random.key(1), 3)
RESETS = jax.random.bernoulli(KEYS[0], 0.2, (7, 3))
SEEN: dict[Space, Any] = {
    Box((5,)): jax.random.normal(KEYS[1], (7, 3, 5)),
    Discrete(4): jax.random.randint(KEYS[2], (7, 3), 0, 4),
}


def derivatives(arrays: Any, fixed: Any, obs: Any) -> Any:
    """First derivatives, second ones by two ways, and those by what is seen and by the first memory."""

    def worth(arrays: Any, obs: Any, start: Any) -> Any:
        net = eqx.combine(arrays, fixed)
        features, memory = net.unroll(start, obs, RESETS)
        late = (jnp.sin(features) * jnp.arange(7.0)[:, None, None]).sum()
        return late + sum(jnp.square(x).sum() for x in jax.tree.leaves(memory.hidden))

    start = jax.tree.map(lambda x: x + 0.3, eqx.combine(arrays, fixed).starts(3))
    slope = jax.grad(lambda arrays: worth(arrays, obs, start))
    size = jax.grad(lambda arrays: sum(jnp.square(x).sum() for x in jax.tree.leaves(slope(arrays))))
    ones = jax.tree.map(jnp.ones_like, arrays)
    found = [slope(arrays), size(arrays), jax.jvp(slope, (arrays,), (ones,))[1]]
    found.append(jax.grad(worth, argnums=2)(arrays, obs, start))
    if jnp.issubdtype(obs.dtype, jnp.floating):
        found.append(jax.grad(worth, argnums=1)(arrays, obs, start))
    return found


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("space", SEEN)
def test_the_way_back_is_that_of_a_scan(kind: Any, space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    net = Torso(Network(kind=kind, width=4, depth=1, after=1, stack=2), space, jax.random.key(0))
    arrays, fixed = eqx.partition(net, eqx.is_array)
    found = []
    for few in (0, 3):
        monkeypatch.setattr(torsos, "FEW_STREAMS", few)
        found.append(jax.jit(lambda arrays, obs: derivatives(arrays, fixed, obs))(arrays, SEEN[space]))
    for plain, quick in zip(jax.tree.leaves(found[0]), jax.tree.leaves(found[1]), strict=True):
        np.testing.assert_allclose(plain, quick, rtol=1e-3, atol=1e-3 * (1.0 + np.abs(plain).max()))
