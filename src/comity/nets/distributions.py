"""Distributions over actions. `raw` is the sample before any squashing: keep it, never invert it."""

import math
from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key


class Categorical(eqx.Module):
    """A choice among n, from unnormalised log-probabilities."""

    logits: Float[Array, "... n"]

    def sample(self, key: Key) -> Int[Array, "..."]:
        return jax.random.categorical(key, self.logits)

    def mode(self) -> Int[Array, "..."]:
        """The most likely sample."""
        return jnp.argmax(self.logits, axis=-1)

    def action(self, raw: PyTree) -> PyTree:
        return raw

    def log_prob(self, raw: Int[Array, "..."]) -> Float[Array, "..."]:
        log_probs = jax.nn.log_softmax(self.logits)
        return jnp.take_along_axis(log_probs, raw[..., None], axis=-1)[..., 0]

    def entropy(self) -> Float[Array, "..."]:
        log_probs = jax.nn.log_softmax(self.logits)
        return -(jnp.exp(log_probs) * log_probs).sum(axis=-1)

    def kl(self, other: "Categorical") -> Float[Array, "..."]:
        """KL(self || other)."""
        mine, others = jax.nn.log_softmax(self.logits), jax.nn.log_softmax(other.logits)
        return (jnp.exp(mine) * (mine - others)).sum(axis=-1)


class SquashedGaussian(eqx.Module):
    r"""A Gaussian through tanh, scaled to an interval: :math:`a = m + s\tanh(u), u \sim N(\mu, \sigma)`.

    The log-probability is that of the action, :math:`\log N(u) - \sum\log(s(1 - \tanh^2 u))`, computed from
    `u` as :math:`2(\log 2 - u - \mathrm{softplus}(-2u))`, which is exact for large :math:`|u|`.
    """

    mean: Float[Array, "... n"]
    log_std: Float[Array, "... n"]
    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)

    def sample(self, key: Key) -> Float[Array, "... n"]:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_std) * noise

    def mode(self) -> Float[Array, "... n"]:
        """The most likely sample, before any squashing."""
        return self.mean

    def action(self, raw: Float[Array, "... n"]) -> Float[Array, "... n"]:
        half = (self.high - self.low) / 2
        return (self.low + self.high) / 2 + half * jnp.tanh(raw)

    def log_prob(self, raw: Float[Array, "... n"]) -> Float[Array, "..."]:
        z = (raw - self.mean) * jnp.exp(-self.log_std)
        normal = -0.5 * jnp.square(z) - self.log_std - 0.5 * math.log(2 * math.pi)
        return (normal - self._log_slope(raw)).sum(axis=-1)

    def entropy(self) -> Float[Array, "..."]:
        r"""The Gaussian's entropy plus the squashing's effect at the mean (a first-order estimate)."""
        gaussian = self.log_std + 0.5 * math.log(2 * math.pi * math.e)
        return (gaussian + self._log_slope(self.mean)).sum(axis=-1)

    def kl(self, other: "SquashedGaussian") -> Float[Array, "..."]:
        """KL(self || other), for the same interval."""
        return _gaussian_kl(self, other)

    def _log_slope(self, raw: Float[Array, "... n"]) -> Float[Array, "... n"]:
        tanh_slope = 2.0 * (math.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))
        return tanh_slope + math.log((self.high - self.low) / 2)


class Gaussian(eqx.Module):
    """A Gaussian with independent parts, for actions without bounds."""

    mean: Float[Array, "... n"]
    log_std: Float[Array, "... n"]

    def sample(self, key: Key) -> Float[Array, "... n"]:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_std) * noise

    def mode(self) -> Float[Array, "... n"]:
        """The most likely sample, before any squashing."""
        return self.mean

    def action(self, raw: Float[Array, "... n"]) -> Float[Array, "... n"]:
        return raw

    def log_prob(self, raw: Float[Array, "... n"]) -> Float[Array, "..."]:
        z = (raw - self.mean) * jnp.exp(-self.log_std)
        return (-0.5 * jnp.square(z) - self.log_std - 0.5 * math.log(2 * math.pi)).sum(axis=-1)

    def entropy(self) -> Float[Array, "..."]:
        return (self.log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(axis=-1)

    def kl(self, other: "Gaussian") -> Float[Array, "..."]:
        """KL(self || other)."""
        return _gaussian_kl(self, other)


class Choices(eqx.Module):
    """Several choices or arrays of numbers at once, independent of each other given what is seen."""

    parts: "tuple[Categorical | SquashedGaussian | Gaussian, ...]"

    def sample(self, key: Key) -> PyTree:
        keys = jax.random.split(key, len(self.parts))
        return tuple(part.sample(k) for part, k in zip(self.parts, keys, strict=True))

    def mode(self) -> PyTree:
        """The most likely sample of each part."""
        return tuple(part.mode() for part in self.parts)

    def action(self, raw: PyTree) -> PyTree:
        return tuple(part.action(own) for part, own in zip(self.parts, raw, strict=True))

    def log_prob(self, raw: PyTree) -> Float[Array, "..."]:
        each = [part.log_prob(own) for part, own in zip(self.parts, raw, strict=True)]
        return sum(each[1:], each[0])

    def entropy(self) -> Float[Array, "..."]:
        each = [part.entropy() for part in self.parts]
        return sum(each[1:], each[0])

    def kl(self, other: "Choices") -> Float[Array, "..."]:
        """KL(self || other)."""
        each = [part.kl(theirs) for part, theirs in zip(self.parts, other.parts, strict=True)]  # type: ignore[arg-type]
        return sum(each[1:], each[0])


def _gaussian_kl(mine: "Gaussian | SquashedGaussian", other: "Gaussian | SquashedGaussian") -> Array:
    """KL between Gaussians with independent parts; squashing both alike does not change it."""
    ratio = jnp.exp(2.0 * (mine.log_std - other.log_std))
    shift = jnp.square((mine.mean - other.mean) * jnp.exp(-other.log_std))
    return (0.5 * (ratio + shift - 1.0) + other.log_std - mine.log_std).sum(axis=-1)


class Dependent(eqx.Module):
    """What the seats of a team do where it depends on what they draw first, such as who speaks."""

    @abstractmethod
    def sample(self, key: Key) -> PyTree:
        """A sample."""

    @abstractmethod
    def mode(self) -> PyTree:
        """The most likely sample."""

    @abstractmethod
    def action(self, raw: PyTree) -> PyTree:
        """The actions in a sample."""

    @abstractmethod
    def log_prob(self, raw: PyTree) -> Float[Array, "..."]:
        """The logarithm of a sample's probability."""

    @abstractmethod
    def entropy(self) -> Float[Array, "..."]:
        """The entropy."""

    @abstractmethod
    def kl(self, other: PyTree) -> Float[Array, "..."]:
        """KL(self || other)."""


Distribution = Categorical | Choices | SquashedGaussian | Gaussian | Dependent
