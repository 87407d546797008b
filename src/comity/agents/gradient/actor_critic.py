"""A policy and a value network, and the part of a learner that is the same for all that use them."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.policies import Policy
from comity.agents.streams import Streams, advantages, next_values, streams
from comity.core.errors import require
from comity.core.spaces import Space
from comity.core.types import Agent, Experience, Seat
from comity.nets.distributions import Distribution
from comity.nets.heads import ValueHead, check_action
from comity.nets.torsos import Network, Torso
from comity.returns.surrogates import weighted_mean


class Extras(NamedTuple):
    """What an actor-critic keeps of each act: the sample before squashing, its log-probability, the value.

    The value is in units of reward, and 0 if the critic does not sit with the policy.
    """

    raw: PyTree
    log_prob: Float[Array, "..."]
    value: Float[Array, "..."]


class Scale(NamedTuple):
    """Running mean and mean square of returns, and the weight that they have gathered.

    A critic's values are in units of their spread, from their mean, so that its errors are of one size
    whatever the game pays.
    """

    mean: Float[Array, ""]
    square: Float[Array, ""]
    weight: Float[Array, ""]

    @classmethod
    def start(cls) -> "Scale":
        """Units of reward, until something was seen."""
        return cls(jnp.float32(0.0), jnp.float32(0.0), jnp.float32(0.0))

    @property
    def middle(self) -> Float[Array, ""]:
        return self.mean / jnp.maximum(self.weight, 1e-6)

    @property
    def spread(self) -> Float[Array, ""]:
        variance = self.square / jnp.maximum(self.weight, 1e-6) - jnp.square(self.middle)
        return jnp.where(self.weight > 0, jnp.sqrt(jnp.maximum(variance, 1e-4)), 1.0)

    def after(
        self, returns: Float[Array, "time stream"], weight: Float[Array, "time stream"], rate: float
    ) -> "Scale":
        """The statistics with some more returns, older ones counting a little less."""
        mean, square = weighted_mean(returns, weight), weighted_mean(jnp.square(returns), weight)
        keep = 1.0 - rate
        return Scale(
            keep * self.mean + rate * mean, keep * self.square + rate * square, keep * self.weight + rate
        )

    def to_reward(self, value: Float[Array, "..."]) -> Float[Array, "..."]:
        """A value of the critic, in units of reward."""
        return self.middle + self.spread * value

    def to_critic(self, value: Float[Array, "..."]) -> Float[Array, "..."]:
        """A value in units of reward, in those of the critic."""
        return (value - self.middle) / self.spread

    def rescaled(self, head: ValueHead, before: "Scale") -> ValueHead:
        """A head whose values mean in these units what they meant in those before (PopArt)."""
        ratio = before.spread / self.spread
        shift = (before.middle - self.middle) / self.spread
        linear = head.linear
        assert linear.bias is not None
        changed = (ratio * linear.weight, ratio * linear.bias + shift)
        return eqx.tree_at(lambda own: (own.linear.weight, own.linear.bias), head, changed)


class ActorCritic(eqx.Module):
    """A policy and a value, each with its own torso or sharing one.

    The value may see something else than the policy (`sees`); what acts then goes without it. The networks
    say it in units of `scale`, which is not learned by gradients.
    """

    policy: Policy
    value_torso: Torso | None
    value_head: ValueHead | None
    scale: Scale

    def __init__(
        self, network: Network, seat: Seat, key: Key, critic_network: Network, sees: Space | None = None
    ) -> None:
        policy_key, torso_key, head_key = jax.random.split(key, 3)
        self.policy = Policy(network, seat, policy_key)
        self.value_torso = None
        features, tabular = self.policy.torso.features, network.kind == "tabular"
        if not network.shared or sees is not None:
            self.value_torso = Torso(critic_network, seat.observation if sees is None else sees, torso_key)
            features, tabular = self.value_torso.features, critic_network.kind == "tabular"
        self.value_head = ValueHead(features, head_key, not tabular)
        self.scale = Scale.start()

    def start(self) -> tuple[PyTree, PyTree]:
        """The memories of policy and value at the start of an episode."""
        return self.policy.torso.start(), () if self.value_torso is None else self.value_torso.start()

    def step(self, carry: PyTree, obs: PyTree) -> tuple[PyTree, Distribution, Float[Array, "..."]]:
        """The memories after an observation, the action's distribution and the value, in units of reward."""
        policy_carry, features = self.policy.torso.step(carry[0], obs)
        distribution = self.policy.of(features, obs)
        if self.value_head is None:
            return (policy_carry, ()), distribution, jnp.float32(0.0)
        if self.value_torso is None:
            return (policy_carry, ()), distribution, self.scale.to_reward(self.value_head(features))
        value_carry, value_features = self.value_torso.step(carry[1], obs)
        value = self.scale.to_reward(self.value_head(value_features))
        return (policy_carry, value_carry), distribution, value

    def unroll(
        self,
        carry: PyTree,
        obs: PyTree,
        resets: Bool[Array, "time ..."],
        seen: PyTree = None,
        age: Int[Array, "..."] | None = None,
    ) -> tuple[Distribution, Float[Array, "time ..."]]:
        """The same for a whole trajectory, time first, with the value in units of `scale`.

        `seen` is what the value sees if not `obs`; episodes have lasted `age` steps before. If it is there
        once for several streams, their value is the same and is computed once.
        """
        features, _ = self.policy.torso.unroll(carry[0], obs, resets)
        distribution = self.policy.of(features, obs)
        assert self.value_head is not None
        if self.value_torso is None:
            return distribution, self.value_head(features)
        if seen is None:
            value_features, _ = self.value_torso.unroll(carry[1], obs, resets)
            return distribution, self.value_head(value_features)
        return distribution, for_each(self.look(seen, resets, age)[0], resets.shape[1])

    def look(
        self, seen: PyTree, resets: Bool[Array, "time ..."], age: Int[Array, "..."] | None
    ) -> tuple[Float[Array, "time ..."], PyTree]:
        """The value along what it sees itself, and its memory after each step."""
        torso, head = self.value_torso, self.value_head
        assert torso is not None
        assert head is not None
        count = jax.tree.leaves(seen)[0].shape[1]
        start = torso.starts(count, None if age is None else age[:count])
        features, memory = torso.unroll(start, seen, resets[:, :count])
        return head(features), memory

    def alone(self) -> "ActorCritic":
        """The policy without its critic, for acting."""
        return eqx.tree_at(
            lambda net: (net.value_torso, net.value_head), self, (None, None), is_leaf=lambda x: x is None
        )

    def seen(self, obs: PyTree, others: PyTree, weight: Float[Array, "time stream"]) -> "ActorCritic":
        """The networks after their running statistics took in what was seen."""
        net = eqx.tree_at(lambda net: net.policy.torso, self, self.policy.torso.seen(obs, weight))
        if net.value_torso is None:
            return net
        if others is not None:  # one view for several streams was seen where any of them was there
            count = jax.tree.leaves(others)[0].shape[1]
            weight = weight.reshape((len(weight), -1, count)).max(axis=1)
        grown = net.value_torso.seen(obs if others is None else others, weight)
        return eqx.tree_at(lambda net: net.value_torso, net, grown)


class LearnerState(NamedTuple):
    """The networks, the optimiser's memory and the factor of an adaptive step size."""

    net: ActorCritic
    optimiser: optax.OptState
    pace: Float[Array, ""]


class Values(NamedTuple):
    """What a critic said along streams, in units of reward, and what it saw if not what the policy saw.

    `seen` may have fewer streams: those of the first seat of several whose value is the same.
    """

    value: Float[Array, "time stream"]
    next_value: Float[Array, "time stream"]
    seen: PyTree


class ActorCriticAgent(Agent):
    """A learner that acts with an `ActorCritic`; subclasses say how it learns."""

    network: eqx.AbstractVar[Network]
    learning_rate: eqx.AbstractVar[float]
    final_learning_rate: eqx.AbstractVar[float]
    discount: eqx.AbstractVar[float]
    trace: eqx.AbstractVar[float]
    entropy: eqx.AbstractVar[float]
    final_entropy: eqx.AbstractVar[float]
    max_gradient: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.max_gradient > 0, "max_gradient", self.max_gradient, "above 0")
        for name in ("discount", "trace", "final_learning_rate", "final_entropy"):
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")

    @property
    def value_network(self) -> Network:
        """The shape of the critic."""
        return self.network

    def check(self, seat: Seat) -> None:
        self.network.check(seat.observation)
        check_action(seat.action)

    def optimiser(self) -> optax.GradientTransformation:
        """Adam on clipped gradients."""
        return clipped_adam(self.learning_rate, self.max_gradient)

    def init(self, key: Key, seat: Seat) -> LearnerState:
        return self.first_state(ActorCritic(self.network, seat, key, self.value_network))

    def first_state(self, net: ActorCritic) -> LearnerState:
        """The state before any learning."""
        memory = self.optimiser().init(eqx.filter(net, eqx.is_array))
        return LearnerState(net, memory, jnp.float32(1.0))

    def params(self, state: LearnerState) -> ActorCritic:
        return state.net

    def start(self, params: ActorCritic) -> PyTree:
        return params.start()

    def act(self, params: ActorCritic, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, Extras]:
        carry, distribution, value = params.step(carry, obs)
        raw = distribution.sample(key)
        action = params.policy.head.shape_action(distribution.action(raw))
        return action, carry, Extras(raw, distribution.log_prob(raw), value)

    def watch(self, state: LearnerState, experience: Experience) -> LearnerState:
        data = streams(experience.joint, experience.seats)
        return state._replace(net=state.net.seen(data.obs, self.seen(state, experience), data.weight))

    def seen(self, state: LearnerState, experience: Experience) -> PyTree:
        """What the critic saw along the learner's streams; None if it is what the policy saw."""
        return None

    def values(self, state: LearnerState, experience: Experience, data: Streams) -> Values:
        """What the critic says along the learner's streams: what it said when they were played."""
        value = data.extras.value
        return Values(value, next_values(value, data.successor.value, data.ended), None)

    def advantages(self, data: Streams, values: Values) -> tuple[Array, Array]:
        """Generalised advantages and the returns that the critic should have said."""
        advantage = advantages(data, values.value, values.next_value, self.discount, self.trace)
        return advantage, advantage + values.value

    def descend(
        self, state: LearnerState, gradient: PyTree, progress: Float[Array, ""]
    ) -> tuple[LearnerState, Float[Array, ""]]:
        """The state after one step of the optimiser, and the norm of the gradient before clipping."""
        scale = state.pace * linear(self.final_learning_rate, progress)
        net, optimiser = optimise(self.optimiser(), gradient, state.optimiser, state.net, scale)
        return state._replace(net=net, optimiser=optimiser), optax.tree.norm(gradient)


def for_each(value: Float[Array, "time game"], streams: int) -> Float[Array, "time stream"]:
    """Values of games as those of the streams of some seats, one seat's after another's."""
    return jnp.tile(value, (1, streams // value.shape[1]))


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
