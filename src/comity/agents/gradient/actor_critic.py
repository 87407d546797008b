"""A policy and a value network, and the part of a learner that is the same for all that use them."""

from typing import NamedTuple

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.streams import Streams, advantages, next_values
from comity.core.errors import require
from comity.core.types import Agent, Seat
from comity.nets.distributions import Distribution
from comity.nets.heads import PolicyHead, ValueHead, check_action
from comity.nets.torsos import Network, Torso


class Extras(NamedTuple):
    """What an actor-critic keeps of each act: the sample before squashing, its log-probability, the value."""

    raw: PyTree
    log_prob: Float[Array, "..."]
    value: Float[Array, "..."]


class ActorCritic(eqx.Module):
    """A policy and a value, each with its own torso or sharing one."""

    policy_torso: Torso
    value_torso: Torso | None
    policy_head: PolicyHead
    value_head: ValueHead

    def __init__(self, network: Network, seat: Seat, key: Key) -> None:
        keys = jax.random.split(key, 4)
        bias = network.kind != "tabular"
        self.policy_torso = Torso(network, seat.observation, keys[0])
        self.value_torso = None if network.shared else Torso(network, seat.observation, keys[1])
        self.policy_head = PolicyHead(self.policy_torso.features, seat.action, keys[2], bias)
        self.value_head = ValueHead(self.policy_torso.features, keys[3], bias)

    def start(self) -> tuple[PyTree, PyTree]:
        """The memories of policy and value at the start of an episode."""
        return self.policy_torso.start(), () if self.value_torso is None else self.value_torso.start()

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Distribution, Float[Array, "..."]]:
        """The memories after an observation, the distribution of the action and the value."""
        policy_carry, features = self.policy_torso.step(carry[0], obs)
        if self.value_torso is None:
            return (policy_carry, ()), self.policy_head(features), self.value_head(features)
        value_carry, value_features = self.value_torso.step(carry[1], obs)
        return (policy_carry, value_carry), self.policy_head(features), self.value_head(value_features)

    def unroll(
        self, carry: PyTree, obs: PyTree, resets: Bool[Array, "time ..."]
    ) -> tuple[Distribution, Float[Array, "time ..."]]:
        """The same for a whole trajectory, time first."""
        features, _ = self.policy_torso.unroll(carry[0], obs, resets)
        value_features = features
        if self.value_torso is not None:
            value_features, _ = self.value_torso.unroll(carry[1], obs, resets)
        return self.policy_head(features), self.value_head(value_features)


class LearnerState(NamedTuple):
    """The network and the optimiser's memory."""

    net: ActorCritic
    optimiser: optax.OptState


class ActorCriticAgent(Agent):
    """A learner that acts with an `ActorCritic`; subclasses say how it learns."""

    network: eqx.AbstractVar[Network]
    learning_rate: eqx.AbstractVar[float]
    final_learning_rate: eqx.AbstractVar[float]
    entropy: eqx.AbstractVar[float]
    final_entropy: eqx.AbstractVar[float]
    max_gradient: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.max_gradient > 0, "max_gradient", self.max_gradient, "above 0")
        for name in ("final_learning_rate", "final_entropy"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")

    def check(self, seat: Seat) -> None:
        self.network.check(seat.observation)
        check_action(seat.action)

    def optimiser(self) -> optax.GradientTransformation:
        """Adam on clipped gradients."""
        return clipped_adam(self.learning_rate, self.max_gradient)

    def init(self, key: Key, seat: Seat) -> LearnerState:
        net = ActorCritic(self.network, seat, key)
        return LearnerState(net, self.optimiser().init(eqx.filter(net, eqx.is_array)))

    def params(self, state: LearnerState) -> ActorCritic:
        return state.net

    def start(self, params: ActorCritic) -> PyTree:
        return params.start()

    def act(self, params: ActorCritic, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, Extras]:
        carry, distribution, value = params.step(carry, obs)
        raw = distribution.sample(key)
        action = params.policy_head.shape_action(distribution.action(raw))
        return action, carry, Extras(raw, distribution.log_prob(raw), value)

    def descend(
        self, state: LearnerState, gradient: PyTree, progress: Float[Array, ""]
    ) -> tuple[LearnerState, Float[Array, ""]]:
        """The state after one step of the optimiser, and the norm of the gradient before clipping."""
        scale = linear(self.final_learning_rate, progress)
        net, optimiser = optimise(self.optimiser(), gradient, state.optimiser, state.net, scale)
        return LearnerState(net, optimiser), optax.tree.norm(gradient)


def clipped_adam(rate: float, max_gradient: float, eps: float = 1e-5) -> optax.GradientTransformation:
    """Adam on gradients of limited norm."""
    return optax.chain(optax.clip_by_global_norm(max_gradient), optax.adam(rate, eps=eps))


def optimise(
    optimiser: optax.GradientTransformation,
    gradient: PyTree,
    memory: optax.OptState,
    params: PyTree,
    scale: Float[Array, ""],
) -> tuple[PyTree, optax.OptState]:
    """Parameters and the optimiser's memory after one step, with the step scaled."""
    with jax.numpy_dtype_promotion("standard"):  # Adam raises a float to a whole number of steps
        updates, memory = optimiser.update(gradient, memory)
    return optax.apply_updates(params, jax.tree.map(lambda u: scale * u, updates)), memory


def linear(final: float, progress: Float[Array, ""]) -> Float[Array, ""]:
    """A factor that goes from 1 at the start of the training to `final` at its end."""
    return 1.0 + (final - 1.0) * progress


def stream_advantages(
    data: Streams, discount: float, trace: float
) -> tuple[Float[Array, "time stream"], Float[Array, "time stream"]]:
    """Generalised advantages and value targets, from the values that the rollout recorded."""
    value = data.extras.value
    following = next_values(value, data.successor.value, data.ended)
    advantage = advantages(data, value, following, discount, trace)
    return advantage, advantage + value
