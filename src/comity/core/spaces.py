"""What a seat may observe and do: choices, boxes of numbers, planes of bits, tuples of these, legal choices.

A space is a static, hashable description. Functions here take values with any number of leading axes, so
that one call serves a single observation as well as a whole trajectory.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import ComityError


@dataclass(frozen=True)
class Discrete:
    """One of `n` choices, an integer from 0 to n - 1, each with an optional label for people."""

    n: int
    labels: tuple[str, ...] = field(default=(), compare=False)  # for people: spaces are equal without them

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ComityError(f"A discrete space needs at least one choice, not {self.n}.")
        if self.labels and len(self.labels) != self.n:
            raise ComityError(f"A discrete space of {self.n} choices cannot have {len(self.labels)} labels.")

    def label(self, index: int) -> str:
        """What people call the choice."""
        return self.labels[index] if self.labels else str(index)


@dataclass(frozen=True)
class Box:
    """An array of real numbers of a shape, each between `low` and `high`."""

    shape: tuple[int, ...]
    low: float = -math.inf
    high: float = math.inf

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high


@dataclass(frozen=True)
class Bits:
    """Planes of truth values, packed: bit c of the whole number at a place says whether plane c is set there.

    A window of a large world takes as many numbers as it has places, however many planes it has.
    """

    shape: tuple[int, int, int]  # planes, height, width

    def __post_init__(self) -> None:
        if not 1 <= self.shape[0] <= 31:
            raise ComityError(f"Planes of bits can be 1 to 31, not {self.shape[0]}.")


@dataclass(frozen=True)
class Masked:
    """What is seen, together with which of the seat's `choices` are legal: a pair (seen, truth values)."""

    observation: "Space"
    choices: int


if TYPE_CHECKING:
    Space = Discrete | Box | Bits | Masked | tuple["Space", ...]
else:  # checkers of types at run time do not look into tuples in tuples
    Space = Discrete | Box | Bits | Masked | tuple


def plain(space: Space) -> Space:
    """What is seen, without the mask if there is one."""
    return space.observation if isinstance(space, Masked) else space


def planes(space: Space) -> tuple[int, ...] | None:
    """The shape of an observation that is made of planes [planes, height, width], else None."""
    seen = plain(space)
    return seen.shape if isinstance(seen, Box | Bits) and len(seen.shape) == 3 else None


def legal(space: Space, value: PyTree) -> Bool[Array, "... choices"] | None:
    """Which choices are legal, or None where all are."""
    return value[1] if isinstance(space, Masked) else None


def describe(space: Space) -> str:
    """The space in a few words, for tables and error messages."""
    match space:
        case Discrete(n=n):
            return f"{n} choices"
        case Box(shape=shape):
            return f"numbers of shape {shape}"
        case Bits(shape=shape):
            return f"planes of bits of shape {shape}"
        case Masked(observation=inner):
            return f"{describe(inner)} with legal choices"
        case _:
            return "(" + ", ".join(describe(part) for part in space) + ")"


def say(space: Space, value: PyTree) -> str:
    """A concrete value in a few words, for people: the label of a choice, some numbers of an array."""
    match space:
        case Discrete():
            return space.label(int(value))
        case Box() | Bits():
            numbers = np.ravel(value)
            more = " ..." if len(numbers) > 6 else ""
            return " ".join(f"{number:.2f}" for number in numbers[:6]) + more
        case Masked(observation=inner):
            return say(inner, value[0])
        case _:
            return ", ".join(say(part, own) for part, own in zip(space, value, strict=True))


def flat_size(space: Space) -> int:
    """The length of the vector that `encode` makes."""
    match space:
        case Discrete(n=n):
            return n
        case Box(shape=shape) | Bits(shape=shape):
            return math.prod(shape)
        case Masked(observation=inner):
            return flat_size(inner)
        case _:
            return sum(flat_size(part) for part in space)


def leading_axes(space: Space, value: PyTree) -> int:
    """How many axes a value has before those of the space: none for a single observation."""
    match space:
        case Discrete():
            return int(jnp.ndim(value))
        case Box(shape=shape):
            return int(jnp.ndim(value)) - len(shape)
        case Bits():
            return int(jnp.ndim(value)) - 2
        case Masked(observation=inner):
            return leading_axes(inner, value[0])
        case _:
            return leading_axes(space[0], value[0])


def encode(space: Space, value: PyTree) -> Float[Array, "..."]:
    """A value as one vector for a network: one-hot for choices, flat for boxes, joined for tuples.

    Bounded numbers are scaled: vectors to [-1, 1], planes and images to [0, 1].
    """
    match space:
        case Discrete(n=n):
            return jax.nn.one_hot(value, n, dtype=jnp.float32)
        case Box(shape=shape):
            array = jnp.asarray(value, jnp.float32)
            if space.bounded:
                array = (array - space.low) / (space.high - space.low)
                array = 2.0 * array - 1.0 if len(shape) == 1 else array
            return array.reshape((*array.shape[: array.ndim - len(shape)], math.prod(shape)))
        case Bits(shape=shape):
            places = jnp.asarray(value, jnp.int32)[..., None, :, :]
            which = jnp.arange(shape[0]).reshape((1,) * (places.ndim - 3) + (shape[0], 1, 1))
            set_there = places >> which & 1
            flat = set_there.reshape((*places.shape[:-3], math.prod(shape)))
            return flat.astype(jnp.float32)
        case Masked(observation=inner):
            return encode(inner, value[0])
        case _:
            parts = [encode(part, item) for part, item in zip(space, value, strict=True)]
            return jnp.concatenate(parts, axis=-1)


def sample(space: Space, key: Key) -> PyTree:
    """A value drawn evenly from the space; unbounded numbers are drawn from a normal distribution."""
    match space:
        case Discrete(n=n):
            return jax.random.randint(key, (), 0, n)
        case Box(shape=shape, low=low, high=high):
            if space.bounded:
                return jax.random.uniform(key, shape, jnp.float32, low, high)
            return jnp.clip(jax.random.normal(key, shape, jnp.float32), low, high)
        case Bits(shape=shape):
            return jax.random.randint(key, shape[1:], 0, 2 ** shape[0], jnp.int32)
        case Masked(observation=inner, choices=choices):
            inner_key, mask_key, sure_key = jax.random.split(key, 3)
            sure = jax.nn.one_hot(jax.random.randint(sure_key, (), 0, choices), choices, dtype=jnp.bool_)
            return sample(inner, inner_key), jax.random.bernoulli(mask_key, 0.5, (choices,)) | sure
        case _:
            keys = jax.random.split(key, len(space))
            return tuple(sample(part, k) for part, k in zip(space, keys, strict=True))


def contains(space: Space, value: PyTree) -> bool:
    """Whether a concrete, unbatched value belongs to the space; on the host, for checks and tests."""
    match space:
        case Discrete(n=n):
            array = np.asarray(value)
            return array.shape == () and np.issubdtype(array.dtype, np.integer) and 0 <= int(array) < n
        case Box(shape=shape, low=low, high=high):
            array = np.asarray(value)
            return (
                array.shape == shape
                and np.issubdtype(array.dtype, np.number)
                and bool(np.all((array >= low) & (array <= high)))
            )
        case Bits(shape=shape):
            array = np.asarray(value)
            whole = array.shape == shape[1:] and np.issubdtype(array.dtype, np.integer)
            return whole and bool(np.all((array >= 0) & (array < 2 ** shape[0])))
        case Masked(observation=inner, choices=choices):
            mask = np.asarray(value[1])
            fits = mask.shape == (choices,) and mask.dtype == np.bool_ and bool(mask.any())
            return fits and contains(inner, value[0])
        case _:
            return len(value) == len(space) and all(
                contains(part, item) for part, item in zip(space, value, strict=True)
            )
