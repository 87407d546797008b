"""Values of actions: a network, what it says along sequences, and how it acts."""

from abc import abstractmethod
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


class ActionValues(eqx.Module):
    """The value of each action, [..., action]; one that is not legal is worth next to minus infinity."""

    torso: eqx.AbstractVar[Torso]

    @abstractmethod
    def all_values(self, features: Float[Array, "... features"]) -> Float[Array, "... action"]:
        """The values of all actions, legal or not."""

    def of(self, features: Float[Array, "... features"], obs: PyTree) -> Float[Array, "... action"]:
        """The values from features of an observation."""
        values = self.all_values(features)
        mask = legal(self.torso.observation, obs)
        return values if mask is None else jnp.where(mask, values, NEVER)

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Float[Array, "... action"]]:
        """The memory after an observation, and the values there."""
        carry, features = self.torso.step(carry, obs)
        return carry, self.of(features, obs)

    def features(self, batch: TeamBatch) -> tuple[Array, PyTree]:
        """Features along a batch, from the memory that it begins with, and the memory after each step."""
        return self.torso.unroll(first_carry(self.torso, batch), batch.obs, batch.resets)

    def along(self, batch: TeamBatch) -> Float[Array, "time seat game action"]:
        """The values along a batch."""
        return self.of(self.features(batch)[0], batch.obs)

    def along_with_next(self, batch: TeamBatch) -> tuple[Array, Array]:
        """The same, and the values of each step's true successor, also where an episode ended."""
        features, after = self.features(batch)
        following = self.torso.step(after, batch.next_obs)[1]
        return self.of(features, batch.obs), self.of(following, batch.next_obs)


class QNet(ActionValues):
    r"""The value of each action from one linear head.

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

    def all_values(self, features: Float[Array, "... features"]) -> Float[Array, "... action"]:
        return duel(self.head(features), None if self.value is None else self.value(features))


def duel(
    values: Float[Array, "... action"], state_value: Float[Array, "... 1"] | None
) -> Float[Array, "... action"]:
    """A state's value plus advantages from their mean; without a state's value, the values as they are."""
    if state_value is None:
        return values
    return state_value + values - values.mean(axis=-1, keepdims=True)


class EpsilonGreedy(NamedTuple):
    """What acts: action values, and how often a legal action is drawn evenly instead of the best one."""

    q: ActionValues
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
