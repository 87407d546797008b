r"""How the seats of a team tell each other what they know before they act: CommNet, TarMAC and IC3Net.

Features h [seat, feature] go in, and features of the same length come out after some rounds:

    CommNet, IC3Net   h_i <- tanh(H h_i + C c_i),   c_i the mean of the h_j that i hears
    TarMAC            h_i <- tanh(W [h_i, c_i]),    c_i = sum_j a_ij v_j,  a_i = softmax_j(q_i k_j / sqrt(d))

Nobody hears itself; who hears nobody has c = 0. TarMAC attends with several heads, whose messages are joined.
In IC3Net each seat opens a gate, or does not, by a choice of its own that is learned as its actions are.

Source: Sukhbaatar, Szlam and Fergus, 2016, arXiv:1605.07736; Das et al., 2019, arXiv:1810.11187; Singh, Jain
and Sukhbaatar, 2019, arXiv:1812.09755.
"""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from jaxtyping import PRNGKeyArray as Key

from comity.core.errors import require
from comity.core.registry import Registry, Row
from comity.nets.linear import Linear

TALKS = Registry(
    "way to talk",
    {
        "commnet": Row("comity.nets.talk:CommNetTalk", "the mean of what the others know"),
        "tarmac": Row("comity.nets.talk:TarMACTalk", "attention to what the others say"),
        "ic3net": Row("comity.nets.talk:IC3NetTalk", "the mean of those who choose to speak"),
    },
    "comity.talks",
)
NEVER = -1e9


class Audience(eqx.Module):
    """Who hears whom, as far as observations say so: as vectors, in the form in which networks read them."""

    reach: float = 0.0  # how far messages carry; 0: any distance
    places: tuple[int, ...] = ()  # which numbers of an observation say where a seat is
    presence: int | None = None  # which number of an observation is above 0 for a seat that is there

    def __check_init__(self) -> None:
        require(self.reach >= 0, "reach", self.reach, "at least 0")

    def check(self, length: int) -> None:
        """Raises if observations of this length do not have these numbers."""
        named = (*self.places, *(() if self.presence is None else (self.presence,)))
        known = all(0 <= place < length for place in named)
        require(known, "audience", named, f"numbers of the observation, from 0 to {length - 1}")
        require(
            not self.reach or bool(self.places), "audience.reach", self.reach, "0, or places given with it"
        )

    def hears(self, obs: Float[Array, "... seat number"]) -> Bool[Array, "... seat seat"]:
        """Entry [i, j]: whether i hears j."""
        seats = obs.shape[-2]
        found = jnp.broadcast_to(~jnp.eye(seats, dtype=jnp.bool_), (*obs.shape[:-1], seats))
        if self.reach > 0:
            at = obs[..., jnp.array(self.places)]
            apart = jnp.square(at[..., :, None, :] - at[..., None, :, :]).sum(axis=-1)
            found &= apart <= self.reach**2
        if self.presence is not None:
            there = obs[..., self.presence] > 0
            found &= there[..., :, None] & there[..., None, :]
        return found


class TalkNet(eqx.Module):
    """What a team's seats learn to say, and to make of it."""

    @abstractmethod
    def __call__(
        self, features: Float[Array, "... seat feature"], hears: Bool[Array, "... seat seat"]
    ) -> Float[Array, "... seat feature"]:
        """Features after all rounds."""


class Talk(eqx.Module):
    """Settings of a way to talk."""

    options: ClassVar[Registry] = TALKS
    gated: ClassVar[bool] = False  # whether seats choose to speak

    audience: eqx.AbstractVar[Audience]

    @abstractmethod
    def build(self, features: int, key: Key) -> TalkNet:
        """A network with new weights."""


class CommNetTalk(Talk):
    """Everybody hears the mean of what the others know, some rounds over."""

    rounds: int = 2  # how often the seats tell each other
    audience: Audience = Audience()  # who hears whom

    def __check_init__(self) -> None:
        require(self.rounds >= 1, "rounds", self.rounds, "at least 1")

    def build(self, features: int, key: Key) -> TalkNet:
        return MeanTalk(features, self.rounds, key)


class IC3NetTalk(Talk):
    """As CommNet, but each seat chooses in every step whether it is heard."""

    rounds: int = 1  # how often the seats tell each other
    audience: Audience = Audience()  # who could hear whom

    gated: ClassVar[bool] = True

    def __check_init__(self) -> None:
        require(self.rounds >= 1, "rounds", self.rounds, "at least 1")

    def build(self, features: int, key: Key) -> TalkNet:
        return MeanTalk(features, self.rounds, key)


class TarMACTalk(Talk):
    """Everybody attends to those whose messages fit what it asks for."""

    rounds: int = 2  # how often the seats tell each other
    heads: int = 2  # of the attention, each with a question and a message of its own
    size: int = 16  # numbers in a question, and in a message
    audience: Audience = Audience()  # who hears whom

    def __check_init__(self) -> None:
        for name in ("rounds", "heads", "size"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")

    def build(self, features: int, key: Key) -> TalkNet:
        return AttentionTalk(features, self.rounds, self.heads, self.size, key)


class MeanTalk(TalkNet):
    """CommNet's rounds."""

    own: tuple[Linear, ...]
    heard: tuple[Linear, ...]

    def __init__(self, features: int, rounds: int, key: Key) -> None:
        keys = jax.random.split(key, 2 * rounds)
        self.own = tuple(Linear(features, features, 1.0, k) for k in keys[:rounds])
        self.heard = tuple(Linear(features, features, 1.0, k, use_bias=False) for k in keys[rounds:])

    def __call__(
        self, features: Float[Array, "... seat feature"], hears: Bool[Array, "... seat seat"]
    ) -> Float[Array, "... seat feature"]:
        weights = hears.astype(jnp.float32)
        weights = weights / jnp.maximum(weights.sum(axis=-1, keepdims=True), 1.0)
        for own, heard in zip(self.own, self.heard, strict=True):
            features = jnp.tanh(own(features) + heard(weights @ features))
        return features


class Attention(eqx.Module):
    """One round of TarMAC: everybody asks, and gets the messages that fit."""

    question: Linear
    signature: Linear
    message: Linear
    join: Linear
    heads: int = eqx.field(static=True)

    def __init__(self, features: int, heads: int, size: int, key: Key) -> None:
        keys = jax.random.split(key, 4)
        self.question, self.signature, self.message = (
            Linear(features, heads * size, 1.0, k, use_bias=False) for k in keys[:3]
        )
        self.join = Linear(features + heads * size, features, 1.0, keys[3])
        self.heads = heads

    def weights(
        self, features: Float[Array, "... seat feature"], hears: Bool[Array, "... seat seat"]
    ) -> Float[Array, "... head seat seat"]:
        """How much each seat attends to each; 0 for whom it does not hear."""
        questions, signatures = (
            self._by_head(self.question(features)),
            self._by_head(self.signature(features)),
        )
        fit = questions @ jnp.swapaxes(signatures, -1, -2) / questions.shape[-1] ** 0.5
        heard = hears[..., None, :, :]
        heard = jnp.broadcast_to(heard, fit.shape)
        return jnp.where(heard, jax.nn.softmax(jnp.where(heard, fit, NEVER), axis=-1), 0.0)

    def __call__(
        self, features: Float[Array, "... seat feature"], hears: Bool[Array, "... seat seat"]
    ) -> Float[Array, "... seat feature"]:
        got = self.weights(features, hears) @ self._by_head(self.message(features))
        flat = jnp.swapaxes(got, -2, -3).reshape((*features.shape[:-1], -1))
        return jnp.tanh(self.join(jnp.concatenate([features, flat], axis=-1)))

    def _by_head(self, x: Float[Array, "... seat number"]) -> Float[Array, "... head seat size"]:
        return jnp.swapaxes(x.reshape((*x.shape[:-1], self.heads, x.shape[-1] // self.heads)), -2, -3)


class AttentionTalk(TalkNet):
    """TarMAC's rounds."""

    rounds: tuple[Attention, ...]

    def __init__(self, features: int, rounds: int, heads: int, size: int, key: Key) -> None:
        self.rounds = tuple(Attention(features, heads, size, k) for k in jax.random.split(key, rounds))

    def __call__(
        self, features: Float[Array, "... seat feature"], hears: Bool[Array, "... seat seat"]
    ) -> Float[Array, "... seat feature"]:
        for attend in self.rounds:
            features = attend(features, hears)
        return features
