"""What is sent over a channel: symbols of a vocabulary, or vectors of numbers."""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.registry import Registry, Row
from comity.core.spaces import Box, Discrete, Space

MESSAGES = Registry(
    "kind of message",
    {
        "symbols": Row("comity.games.transforms.messages:Symbols", "some symbols of a vocabulary"),
        "vector": Row("comity.games.transforms.messages:Vector", "some numbers between -1 and 1"),
    },
    "comity.messages",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Content = Int[Array, " length"] | Float[Array, " length"]


class Message(eqx.Module):
    """One message: what a seat chooses, what becomes of it on the way, and what is seen of it.

    Inside a channel it is `content`, an array [length].
    """

    options: ClassVar[Registry] = MESSAGES

    @property
    @abstractmethod
    def parts(self) -> tuple[Space, ...]:
        """What a seat chooses for a message."""

    @property
    @abstractmethod
    def empty(self) -> Content:
        """The content of no message."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers are seen of a message."""

    @abstractmethod
    def received(self, bits: int | None) -> bool:
        """Whether anything of a message gets through so many bits; None: as many as there are."""

    @abstractmethod
    def read(self, parts: tuple[PyTree, ...]) -> tuple[Content, Bool[Array, ""]]:
        """The content of what a seat chose, and whether it said anything."""

    @abstractmethod
    def limit(self, content: Content, bits: int | None) -> Content:
        """What is left of a message in so many bits."""

    @abstractmethod
    def disturb(self, content: Content, noise: float, key: Key) -> Content:
        """A message after noise."""

    @abstractmethod
    def draw(self, key: Key) -> Content:
        """A message without meaning."""

    @abstractmethod
    def show(self, content: Content) -> Float[Array, " width"]:
        """A message as numbers for a network."""

    @abstractmethod
    def say(self, content: Any) -> str:
        """A message for people, from concrete numbers."""


class Symbols(Message):
    """A message is `length` symbols; each is seen one-hot, and one that did not get through as zeros.

    Noise is the chance that a symbol becomes one of the others, drawn evenly. A symbol takes log2(vocabulary)
    bits. With `optional` there is one more choice for each symbol, 0: to leave it out; who leaves all of them
    out says nothing and pays nothing.
    """

    vocabulary: int = 4  # how many symbols there are
    length: int = 1  # symbols in a message
    optional: bool = False  # whether a seat may say nothing

    def __check_init__(self) -> None:
        require(self.vocabulary >= 1, "vocabulary", self.vocabulary, "at least 1")
        require(self.length >= 1, "length", self.length, "at least 1")

    @property
    def parts(self) -> tuple[Space, ...]:
        labels = self._labels()
        return (Discrete(self.vocabulary + self.optional, labels),) * self.length

    @property
    def empty(self) -> Content:
        return jnp.full(self.length, -1, jnp.int32)

    @property
    def width(self) -> int:
        return self.length * self.vocabulary

    def fitting(self, bits: int | None) -> int:
        """How many symbols fit into so many bits."""
        each = math.log2(self.vocabulary + self.optional)
        return self.length if bits is None or each == 0 else min(self.length, int(bits / each + 1e-9))

    def received(self, bits: int | None) -> bool:
        return self.fitting(bits) > 0

    def read(self, parts: tuple[PyTree, ...]) -> tuple[Content, Bool[Array, ""]]:
        symbols = jnp.stack(parts).astype(jnp.int32) - int(self.optional)  # -1: left out
        return symbols, (symbols >= 0).any()

    def limit(self, content: Content, bits: int | None) -> Content:
        return jnp.where(jnp.arange(self.length) < self.fitting(bits), content, -1)

    def disturb(self, content: Content, noise: float, key: Key) -> Content:
        if noise == 0 or self.vocabulary == 1:
            return content
        flip_key, shift_key = jax.random.split(key)
        shift = jax.random.randint(shift_key, (self.length,), 1, self.vocabulary)
        flips = jax.random.bernoulli(flip_key, noise, (self.length,)) & (content >= 0)
        return jnp.where(flips, (content + shift) % self.vocabulary, content)

    def draw(self, key: Key) -> Content:
        return jax.random.randint(key, (self.length,), 0, self.vocabulary)

    def show(self, content: Content) -> Float[Array, " width"]:
        return jax.nn.one_hot(content, self.vocabulary, dtype=jnp.float32).ravel()

    def say(self, content: Any) -> str:
        names = self._labels()[int(self.optional) :]
        return " ".join("-" if int(symbol) < 0 else names[int(symbol)] for symbol in content)

    def _labels(self) -> tuple[str, ...]:
        few = self.vocabulary <= len(LETTERS)
        names = tuple(LETTERS[: self.vocabulary]) if few else tuple(str(i) for i in range(self.vocabulary))
        return ("silence", *names) if self.optional else names


class Vector(Message):
    """A message is `length` numbers between -1 and 1.

    Noise is the standard deviation of a Gaussian that is added. In so many bits each number is rounded to the
    nearest of 2^(bits // length) evenly spaced ones.
    """

    length: int = 2  # numbers in a message

    def __check_init__(self) -> None:
        require(self.length >= 1, "length", self.length, "at least 1")

    @property
    def parts(self) -> tuple[Space, ...]:
        return (Box((self.length,), -1.0, 1.0),)

    @property
    def empty(self) -> Content:
        return jnp.zeros(self.length, jnp.float32)

    @property
    def width(self) -> int:
        return self.length

    def received(self, bits: int | None) -> bool:
        return bits is None or bits >= self.length

    def read(self, parts: tuple[PyTree, ...]) -> tuple[Content, Bool[Array, ""]]:
        return jnp.clip(parts[0], -1.0, 1.0).astype(jnp.float32), jnp.bool_(True)

    def limit(self, content: Content, bits: int | None) -> Content:
        if bits is None or bits // self.length > 20:  # finer than numbers of 32 bits tell apart
            return content
        steps = 2 ** (bits // self.length) - 1
        return jnp.round((content + 1.0) / 2.0 * steps) / steps * 2.0 - 1.0

    def disturb(self, content: Content, noise: float, key: Key) -> Content:
        if noise == 0:
            return content
        return content + noise * jax.random.normal(key, (self.length,), jnp.float32)

    def draw(self, key: Key) -> Content:
        return jax.random.uniform(key, (self.length,), jnp.float32, -1.0, 1.0)

    def show(self, content: Content) -> Float[Array, " width"]:
        return content

    def say(self, content: Any) -> str:
        return " ".join(f"{float(number):.2f}" for number in content)
