"""Games spread over devices: each device plays and learns from its part, and they agree on sums.

Within `sharded` (which the training program enters, see `comity.training.sharding`) every device sees its own
games and the same parameters. What is summed over games passes through `total` or `mean_over`, so that a mean
is that of all games; where there is one device, these change nothing. A loss of such means has on each device
a gradient that is its own part times the number of devices, so `mean_over` gives the gradient of the whole.

The games of a device are an equal part of each of the groups into which opponents cut the batch: game j of
group g on device d is number g (games / groups) + d (games / groups / devices) + j of all.
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

AXIS = "devices"
T = TypeVar("T")


class Shards(NamedTuple):
    """How many devices share the games, and into how many groups opponents cut these."""

    devices: int = 1
    groups: int = 1


_now = [Shards()]  # what the program that is being traced is spread over


@contextlib.contextmanager
def sharded(shards: Shards) -> Iterator[None]:
    """While this lasts, what is traced is one device's part of a program."""
    _now.append(shards)
    try:
        yield
    finally:
        _now.pop()


def devices() -> int:
    """How many devices share the games of the program that is being traced."""
    return _now[-1].devices


def total(x: T) -> T:
    """Sums over the games of this device as sums over all games."""
    summed: T = x if devices() == 1 else jax.lax.psum(x, AXIS)
    return summed


def mean_over(x: T) -> T:
    """Means over the games of this device as means over all games; gradients as those of the whole."""
    mean: T = x if devices() == 1 else jax.lax.pmean(x, AXIS)
    return mean


def variance(x: Float[Array, "..."]) -> Float[Array, ""]:
    """The variance over all games and all else."""
    if devices() == 1:
        return jnp.var(x)
    return mean_over(jnp.square(x - mean_over(x.mean())).mean())


def std(x: Float[Array, "..."]) -> Float[Array, ""]:
    """The standard deviation over all games and all else."""
    return jnp.std(x) if devices() == 1 else jnp.sqrt(variance(x))


def game_keys(key: Key, games: int) -> KeyArray[Array, " game"]:
    """A key for each of this device's games: those that one device with all games would give them."""
    if devices() == 1:
        return jax.random.split(key, games)
    return jax.random.split(key, games * devices())[_numbers(games)]


def take_games(x: Array, games: Int[Array, " chosen"], axis: int) -> Array:
    """The games of some numbers among all games; of these, this device's part."""
    if devices() == 1:
        return jnp.take(x, games, axis=axis)
    count, groups = devices(), _now[-1].groups
    part = games.shape[0] // count
    own = jax.lax.dynamic_slice_in_dim(games, jax.lax.axis_index(AXIS) * part, part)
    everywhere = jax.lax.all_gather(x, AXIS, axis=axis, tiled=True)
    each = x.shape[axis] // groups  # games of one group on one device
    group, rest = own // (each * count), own % (each * count)
    place = (rest // each) * x.shape[axis] + group * each + rest % each
    return jnp.take(everywhere, place, axis=axis)


def _numbers(games: int) -> Int[Array, " game"]:
    """The numbers of this device's games among all."""
    each = games // _now[-1].groups
    group, place = jnp.divmod(jnp.arange(games), each)
    return group * each * devices() + jax.lax.axis_index(AXIS) * each + place
