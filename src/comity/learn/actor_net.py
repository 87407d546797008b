"""Actors that learn through critics of actions: their networks, what these draw, and how they act."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act
from comity.core.game import Seat
from comity.core.spaces import Box, Discrete, Space, legal
from comity.learn.action_numbers import count_numbers, from_numbers, within_bounds
from comity.nets.distributions import Categorical, Gaussian, SquashedGaussian
from comity.nets.heads import NEVER, POLICY_SCALE
from comity.nets.linear import Linear
from comity.nets.network import Network
from comity.nets.torso import Torso

Kind = Literal["point", "squashed", "plain"]
Choices = Literal["exact", "gumbel"]
LOWEST_LOG_STD, HIGHEST_LOG_STD = -5.0, 2.0


class Point(eqx.Module):
    """Numbers without chance: through tanh where they have bounds."""

    mean: Float[Array, "... n"]
    bounded: bool = eqx.field(static=True)

    def sample(self, key: Key) -> Float[Array, "... n"]:
        return self.mean

    def mode(self) -> Float[Array, "... n"]:
        """The most likely sample, before any squashing."""
        return self.mean

    def action(self, raw: Float[Array, "... n"]) -> Float[Array, "... n"]:
        return jnp.tanh(raw) if self.bounded else raw


Drawing = Categorical | Point | SquashedGaussian | Gaussian


class ActorNet(eqx.Module):
    """From observations to what a seat does, in the numbers that critics read (`learn.action_numbers`).

    Choices have logits. Numbers are a `point`, or have a mean and a spread that depend on what is seen, and
    go through tanh where they have bounds (`squashed`) or are cut there (`plain`, for models of others).
    """

    torso: Torso
    head: Linear
    action: Space = eqx.field(static=True)
    kind: Kind = eqx.field(static=True)

    def __init__(self, network: Network, seat: Seat, kind: Kind, key: Key) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = network.build(seat.observation, torso_key)
        spread = isinstance(seat.action, Box) and kind != "point"
        outputs = count_numbers(seat.action) * (2 if spread else 1)
        self.head = Linear(self.torso.features, outputs, POLICY_SCALE, head_key, network.head_bias)
        self.action, self.kind = seat.action, kind

    def of(self, features: Float[Array, "... features"], obs: PyTree) -> Drawing:
        """What is drawn from, from features of the observation."""
        out = self.head(features)
        if isinstance(self.action, Discrete):
            mask = legal(self.torso.observation, obs)
            return Categorical(out if mask is None else jnp.where(mask, out, NEVER))
        assert isinstance(self.action, Box)
        if self.kind == "point":
            return Point(out, self.action.bounded)
        mean, spread = jnp.split(out, 2, axis=-1)
        if self.action.bounded and self.kind == "squashed":
            return SquashedGaussian(mean, limited_log_std(spread), -1.0, 1.0)
        return Gaussian(mean, limited_log_std(spread))

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Drawing]:
        """The memory after an observation, and what is drawn from there."""
        carry, features = self.torso.step(carry, obs)
        return carry, self.of(features, obs)

    def numbers(self, drawing: Drawing, key: Key) -> Float[Array, "... numbers"]:
        """One draw."""
        raw = drawing.sample(key)
        if isinstance(drawing, Categorical):
            return jax.nn.one_hot(raw, drawing.logits.shape[-1], dtype=jnp.float32)
        return within_bounds(self.action, drawing.action(raw))


def limited_log_std(out: Float[Array, "... n"]) -> Float[Array, "... n"]:
    """The logarithm of a spread between its bounds: 0 at 0, with slope 1 there, and never flat."""
    upper = HIGHEST_LOG_STD * jnp.tanh(out / HIGHEST_LOG_STD)
    return jnp.where(out > 0, upper, LOWEST_LOG_STD * jnp.tanh(out / LOWEST_LOG_STD))


class Play(NamedTuple):
    """What a critic values, with a gradient to the actor, and the entropy of it (0 of what has none).

    `numbers` are a draw; of choices the probabilities, or a draw whose gradient is that of a softmax.
    """

    numbers: Float[Array, "... numbers"]
    entropy: Float[Array, "..."]


def play(drawing: Drawing, key: Key, choices: Choices, temperature: float) -> Play:
    r"""A draw by reparameterisation.

    Of choices it is the distribution (`exact`: critics are linear in it), or by the straight-through
    Gumbel-softmax (Jang et al., 2017, arXiv:1611.01144) the one-hot :math:`\arg\max_i (l_i + g_i)` with the
    gradient of :math:`\mathrm{softmax}((l + g) / \tau)`. Entropies are exact for choices, and
    :math:`-\log \pi(a)` of the draw for numbers.
    """
    if isinstance(drawing, Categorical):
        entropy = drawing.entropy()
        if choices == "exact":
            return Play(jax.nn.softmax(drawing.logits), entropy)
        noisy = drawing.logits + jax.random.gumbel(key, drawing.logits.shape, jnp.float32)
        soft = jax.nn.softmax(noisy / temperature)
        hard = jax.nn.one_hot(jnp.argmax(noisy, axis=-1), noisy.shape[-1], dtype=jnp.float32)
        return Play(jax.lax.stop_gradient(hard - soft) + soft, entropy)
    raw = drawing.sample(key)
    if isinstance(drawing, Point):
        return Play(drawing.action(raw), jnp.zeros(raw.shape[:-1], jnp.float32))
    return Play(drawing.action(raw), -drawing.log_prob(raw))


def entropy_target(drawing: Drawing, per_number: float | Array, of_choices: float | Array) -> Array:
    """The entropy that is aimed at: a share of that of even play, or so much for each number."""
    if isinstance(drawing, Categorical):
        return of_choices * jnp.log((drawing.logits > NEVER / 2).sum(axis=-1).astype(jnp.float32))
    shape = drawing.mean.shape
    return jnp.broadcast_to(jnp.asarray(per_number * shape[-1], jnp.float32), shape[:-1])


def magnitude(drawing: Drawing) -> Float[Array, "..."]:
    """The mean square of an actor's outputs before any squashing."""
    if isinstance(drawing, Categorical):
        out = jnp.where(drawing.logits > NEVER / 2, drawing.logits, 0.0)
        return jnp.square(out).mean(axis=-1)
    return jnp.square(drawing.mean).mean(axis=-1)


class ActorParams(NamedTuple):
    """What acts: an actor, and how much noise it adds, which is none in evaluation.

    It is the standard deviation of each number, in units of half its range, or the share of evenly drawn
    choices.
    """

    actor: ActorNet
    noise: Float[Array, ""]


def act(params: ActorParams, carry: PyTree, obs: PyTree, key: Key) -> Act:
    """One action, with the noise that the parameters say."""
    actor = params.actor
    draw_key, noise_key, even_key = jax.random.split(key, 3)
    carry, drawing = actor.step(carry, obs)
    numbers = actor.numbers(drawing, draw_key)
    if isinstance(drawing, Categorical):
        even = jax.random.categorical(even_key, jnp.where(drawing.logits > NEVER / 2, 0.0, NEVER))
        evenly = jax.nn.one_hot(even, numbers.shape[-1], dtype=jnp.float32)
        numbers = jnp.where(jax.random.uniform(noise_key) < params.noise, evenly, numbers)
    else:
        noise = jax.random.normal(noise_key, numbers.shape, jnp.float32)
        numbers = within_bounds(actor.action, numbers + params.noise * noise)
    return Act(from_numbers(actor.action, numbers), carry, ())


def most_likely(params: ActorParams, carry: PyTree, obs: PyTree) -> Act:
    """The action that is most likely, without noise."""
    carry, drawing = params.actor.step(carry, obs)
    if isinstance(drawing, Categorical):
        return Act(drawing.mode().astype(jnp.int32), carry, ())
    numbers = within_bounds(params.actor.action, drawing.action(drawing.mode()))
    return Act(from_numbers(params.actor.action, numbers), carry, ())


def probabilities(params: ActorParams, carry: PyTree, obs: PyTree) -> Float[Array, " choices"]:
    """How likely each choice is."""
    _, drawing = params.actor.step(carry, obs)
    assert isinstance(drawing, Categorical)
    possible = (drawing.logits > NEVER / 2).astype(jnp.float32)
    evenly = possible / jnp.maximum(possible.sum(), 1.0)
    return params.noise * evenly + (1.0 - params.noise) * jax.nn.softmax(drawing.logits)
