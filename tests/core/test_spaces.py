"""Spaces: values as vectors, and which values belong to them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from comity.core.errors import ComityError
from comity.core.spaces import Bits, contains, encode, flat_size, sample


def test_bits_are_planes() -> None:
    space = Bits((3, 2, 2))
    value = jnp.asarray([[0b101, 0b010], [0b000, 0b111]], jnp.int16)
    planes = np.asarray([[[1, 0], [0, 1]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]], np.float32)
    np.testing.assert_array_equal(encode(space, value), planes.ravel())
    many = jnp.broadcast_to(value, (4, 5, 2, 2))
    np.testing.assert_array_equal(encode(space, many)[3, 4], planes.ravel())
    assert flat_size(space) == 12
    assert contains(space, np.asarray(value))
    assert not contains(space, np.asarray(value) + 8)
    assert not contains(space, np.asarray(value, np.float32))
    assert contains(space, np.asarray(sample(space, jax.random.key(0))))
    with pytest.raises(ComityError, match="1 to 31"):
        Bits((32, 2, 2))
