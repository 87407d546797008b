"""Values of joint actions, and beliefs about what the others do: what a joint-action learner is made of."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int
from jaxtyping import PRNGKeyArray as Key

from comity.core.batch import TeamBatch, stack_seats
from comity.core.game import Seat, seat_order
from comity.core.spaces import Discrete
from comity.learn.q_net import HEAD_SCALE, ActionValues, duel
from comity.nets.linear import Linear
from comity.nets.network import Network
from comity.nets.torso import Torso


class Said(NamedTuple):
    """Of one observation: the value of each joint action, and how likely each of the others' actions is.

    `joint` has one axis for a seat's own action and one for the others' joint one; `beliefs` are the
    logarithms of probabilities, one entry for each other seat.
    """

    joint: Float[Array, "... own others"]
    beliefs: tuple[Float[Array, "... action"], ...]

    @property
    def expected(self) -> Float[Array, "... own"]:
        """The value of each own action, over what the others are expected to do."""
        chance = jnp.ones((*self.joint.shape[:-2], 1), self.joint.dtype)
        for belief in self.beliefs:
            chance = (chance[..., :, None] * jnp.exp(belief)[..., None, :]).reshape((*chance.shape[:-1], -1))
        return jnp.einsum("...ab,...b->...a", self.joint, chance)

    def of(self, own: Int[Array, "..."], others: tuple[Int[Array, "..."], ...]) -> Float[Array, "..."]:
        """The value of the joint action that was done."""
        index = own
        for action, belief in zip(others, self.beliefs, strict=True):
            index = index * belief.shape[-1] + action
        flat = self.joint.reshape((*self.joint.shape[:-2], -1))
        return jnp.take_along_axis(flat, index[..., None], axis=-1)[..., 0]

    def surprise(self, others: tuple[Int[Array, "..."], ...]) -> Float[Array, "..."]:
        """How unlikely what the others did was believed to be: minus the sum of the logarithms."""
        found = jnp.zeros(self.joint.shape[:-2], jnp.float32)
        for action, belief in zip(others, self.beliefs, strict=True):
            found = found - jnp.take_along_axis(belief, action[..., None], axis=-1)[..., 0]
        return found


class JointQNet(ActionValues):
    r"""Action values as means over what the others do, :math:`\sum_b Q(s, a, b) \prod_j \hat\pi_j(b_j|s)`.

    All heads read the features of one torso: what the seat itself sees is all that beliefs depend on.
    """

    torso: Torso
    head: Linear
    value: Linear | None
    models: tuple[Linear, ...]
    own: int = eqx.field(static=True)

    def __init__(
        self, network: Network, seat: Seat, others: tuple[Seat, ...], duelling: bool, key: Key
    ) -> None:
        torso_key, head_key, value_key, model_key = jax.random.split(key, 4)
        self.torso = network.build(seat.observation, torso_key)
        features, bias = self.torso.features, network.head_bias
        self.own = choices(seat)
        joint = self.own * math.prod(choices(other) for other in others)
        self.head = Linear(features, joint, HEAD_SCALE, head_key, bias)
        self.value = Linear(features, 1, HEAD_SCALE, value_key, bias) if duelling else None
        self.models = tuple(
            Linear(features, choices(other), HEAD_SCALE, jax.random.fold_in(model_key, i), bias)
            for i, other in enumerate(others)
        )

    def said(self, features: Float[Array, "... features"]) -> Said:
        """All values and beliefs, from features of an observation."""
        flat = duel(self.head(features), None if self.value is None else self.value(features))
        beliefs = tuple(jax.nn.log_softmax(model(features)) for model in self.models)
        return Said(flat.reshape((*flat.shape[:-1], self.own, -1)), beliefs)

    def all_values(self, features: Float[Array, "... features"]) -> Float[Array, "... action"]:
        return self.said(features).expected


def choices(seat: Seat) -> int:
    """How many actions a seat has."""
    assert isinstance(seat.action, Discrete)
    return seat.action.n


def others_actions(batch: TeamBatch) -> tuple[Int[Array, "time seat game"], ...]:
    """What the others did beside each seat of a team, in the order in which that seat sees them."""
    action = batch.joint.action
    orders = [seat_order(seat, batch.seats, len(action))[1:] for seat in batch.seats]
    return tuple(stack_seats([action[order[place]] for order in orders]) for place in range(len(action) - 1))
