"""Values of actions: a network, what it says along sequences, and how it acts."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch
from comity.core.game import Seat
from comity.core.spaces import Discrete, legal
from comity.learn.sequences import first_carry
from comity.nets.heads import NEVER
from comity.nets.linear import Linear
from comity.nets.network import Network
from comity.nets.torso import Torso

HEAD_SCALE = 0.1


class QNet(eqx.Module):
    r"""The value of each action, [..., action]; one that is not legal is worth next to minus infinity.

    With `duelling` it is :math:`V(s) + A(s, a) - \mathrm{mean}_{a'} A(s, a')` (Wang et al., 2016,
    arXiv:1511.06581).
    """

    torso: Torso
    head: Linear
    value: Linear | None

    def __init__(self, network: Network, seat: Seat, duelling: bool, key: Key) -> None:
        assert isinstance(seat.action, Discrete)
        torso_key, head_key, value_key = jax.random.split(key, 3)
        self.torso = network.build(seat.observation, torso_key)
        features, bias = self.torso.features, network.head_bias
        self.head = Linear(features, seat.action.n, HEAD_SCALE, head_key, bias)
        self.value = Linear(features, 1, HEAD_SCALE, value_key, bias) if duelling else None

    def of(self, features: Float[Array, "... features"], obs: PyTree) -> Float[Array, "... action"]:
        """The values from features of an observation."""
        values = self.head(features)
        if self.value is not None:
            values = self.value(features) + values - values.mean(axis=-1, keepdims=True)
        mask = legal(self.torso.observation, obs)
        return values if mask is None else jnp.where(mask, values, NEVER)

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Float[Array, "... action"]]:
        """The memory after an observation, and the values there."""
        carry, features = self.torso.step(carry, obs)
        return carry, self.of(features, obs)

    def along(self, batch: TeamBatch) -> Float[Array, "time seat game action"]:
        """The values along a batch, from the memory that it begins with."""
        carry = first_carry(self.torso, batch)
        return self.of(self.torso.unroll(carry, batch.obs, batch.resets)[0], batch.obs)

    def along_with_next(self, batch: TeamBatch) -> tuple[Array, Array]:
        """The same, and the values of each step's true successor, also where an episode ended."""
        carry = first_carry(self.torso, batch)
        features, after = self.torso.unroll(carry, batch.obs, batch.resets)
        following = self.torso.step(after, batch.next_obs)[1]
        return self.of(features, batch.obs), self.of(following, batch.next_obs)


class EpsilonGreedy(NamedTuple):
    """What acts: action values, and how often a legal action is drawn evenly instead of the best one."""

    q: QNet
    epsilon: Float[Array, ""]

    def probabilities(self, values: Float[Array, "... action"]) -> Float[Array, "... action"]:
        """How likely each action is; the first of several best ones is taken."""
        possible = (values > NEVER / 2).astype(jnp.float32)
        evenly = possible / jnp.maximum(possible.sum(axis=-1, keepdims=True), 1.0)
        best = jax.nn.one_hot(jnp.argmax(values, axis=-1), values.shape[-1], dtype=jnp.float32)
        return self.epsilon * evenly + (1.0 - self.epsilon) * best

    def draw(self, values: Float[Array, " action"], key: Key) -> Array:
        """The best action, or now and then any legal one."""
        explore_key, draw_key = jax.random.split(key)
        drawn = jax.random.categorical(draw_key, jnp.where(values > NEVER / 2, 0.0, NEVER))
        explores = jax.random.uniform(explore_key) < self.epsilon
        return jnp.where(explores, drawn, jnp.argmax(values)).astype(jnp.int32)
