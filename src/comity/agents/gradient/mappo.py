r"""Multi-agent PPO (Yu et al., 2022, arXiv:2103.01955): PPO whose critic sees what everybody sees.

Policies act on their own observations, as in PPO; the value that their advantages are measured against reads
the observations of all seats, one's own first. It is used in training only, so players remain decentralised.
Values are learned in units of their own running mean and spread.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.critics import Critic, estimate
from comity.agents.gradient.actor_critic import Extras, clipped_adam, linear, optimise
from comity.agents.gradient.proximal import Proximal, pick
from comity.agents.policies import Policy, PolicyAgent
from comity.agents.streams import Streams, advantages, join, streams
from comity.core.errors import require
from comity.core.types import Experience, Seat
from comity.nets.torsos import Network
from comity.returns.surrogates import normalise, weighted_mean


class Scale(NamedTuple):
    """Running mean and mean square of returns, and the weight that they have gathered."""

    mean: Float[Array, ""]
    square: Float[Array, ""]
    weight: Float[Array, ""]

    @property
    def middle(self) -> Float[Array, ""]:
        return self.mean / jnp.maximum(self.weight, 1e-6)

    @property
    def spread(self) -> Float[Array, ""]:
        variance = self.square / jnp.maximum(self.weight, 1e-6) - jnp.square(self.middle)
        return jnp.where(self.weight > 0, jnp.sqrt(jnp.maximum(variance, 1e-4)), 1.0)

    def after(self, returns: Float[Array, "time stream"], weight: Array, rate: float) -> "Scale":
        """The statistics with some more returns, older ones counting a little less."""
        mean, square = weighted_mean(returns, weight), weighted_mean(jnp.square(returns), weight)
        keep = 1.0 - rate
        return Scale(
            keep * self.mean + rate * mean, keep * self.square + rate * square, keep * self.weight + rate
        )


class TeamState(NamedTuple):
    """The policy, the critic of everybody's view, the optimiser's memory and the scale of values."""

    policy: Policy
    critic: Critic
    optimiser: optax.OptState
    scale: Scale


class MAPPO(PolicyAgent, Proximal):
    """PPO with a centralised critic."""

    network: Network = eqx.field(default_factory=Network)  # the shape of the policy
    critic_network: Network = eqx.field(default_factory=Network)  # the shape of the critic
    learning_rate: float = 1e-3  # Adam's step size
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    discount: float = 0.99  # what the next step's reward counts
    trace: float = 0.95  # lambda of generalised advantage estimation
    clip: float = 0.2  # how far the probability ratio may move from 1
    value_clip: float = 0.2  # how far the value may move in one update; 0 for no limit
    epochs: int = 4  # passes over each rollout
    minibatches: int = 1  # parts of a rollout, each of whole sequences
    entropy: float = 0.01  # weight of the entropy bonus
    final_entropy: float = 1.0  # share of the entropy weight left at the end, reached linearly
    value_weight: float = 1.0  # weight of the value loss
    value_rate: float = 0.01  # how fast the running mean and spread of values follow; 0: values as they are
    max_gradient: float = 10.0  # largest norm of the gradient
    normalise_advantages: bool = True  # whether advantages get mean 0 and variance 1

    def __check_init__(self) -> None:
        for name in ("learning_rate", "max_gradient"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        for name in ("final_learning_rate", "final_entropy", "value_rate"):
            require(0.0 <= getattr(self, name) <= 1.0, name, getattr(self, name), "between 0 and 1")

    def check(self, seat: Seat) -> None:
        super().check(seat)
        self.critic_network.check(seat.everyone or seat.observation)

    def optimiser(self) -> optax.GradientTransformation:
        """Adam on clipped gradients."""
        return clipped_adam(self.learning_rate, self.max_gradient)

    def init(self, key: Key, seat: Seat) -> TeamState:
        policy_key, critic_key = jax.random.split(key)
        policy = Policy(self.network, seat, policy_key)
        central = seat._replace(observation=seat.everyone or (seat.observation,))
        critic = Critic(self.critic_network, None, central, 1, "value", critic_key)
        memory = self.optimiser().init(eqx.filter((policy, critic), eqx.is_array))
        zero = jnp.float32(0.0)
        return TeamState(policy, critic, memory, Scale(zero, zero, zero))

    def params(self, state: TeamState) -> Policy:
        return state.policy

    def update(
        self, state: TeamState, experience: Experience, key: Key
    ) -> tuple[TeamState, dict[str, Array]]:
        joint, seats, progress = experience.joint, experience.seats, experience.progress
        data = streams(joint, seats)
        everything = team_view(joint.obs, seats)
        says = self._values(state, data, everything, team_view(joint.step.obs, seats))
        advantage = advantages(data, *says, self.discount, self.trace)
        target = advantage + says[0]
        scale = (
            state.scale.after(target, data.weight, self.value_rate) if self.value_rate > 0 else state.scale
        )
        units = partial(_units, scale)
        data = data._replace(extras=Extras(data.extras.raw, data.extras.log_prob, units(says[0])))
        if self.normalise_advantages:
            advantage = normalise(advantage, data.weight)
        entropy_weight = self.entropy * linear(self.final_entropy, progress)
        rate = linear(self.final_learning_rate, progress)

        def loss(nets, part, seen):  # type: ignore[no-untyped-def]
            policy, critic = nets
            data, advantage, target = part
            distribution = policy.unroll(data.carry, data.obs, data.resets)
            value = _unroll(critic, seen, data)
            return self.objective(distribution, value, data, advantage, target, entropy_weight)

        def minibatch(state, chosen):  # type: ignore[no-untyped-def]
            part = pick(chosen, data, advantage, units(target))
            seen = jax.tree.map(lambda x: jnp.take(x, chosen, axis=1), everything)
            nets = (state.policy, state.critic)
            gradient, metrics = jax.grad(loss, has_aux=True)(nets, part, seen)
            nets, memory = optimise(self.optimiser(), gradient, state.optimiser, nets, rate)
            metrics["gradient_norm"] = optax.tree.norm(gradient)
            return state._replace(policy=nets[0], critic=nets[1], optimiser=memory), metrics

        state = state._replace(scale=scale)
        state, metrics = jax.lax.scan(minibatch, state, self.parts(key, data.reward.shape[1]))
        return state, jax.tree.map(jnp.mean, metrics)

    def _values(
        self, state: TeamState, data: Streams, seen: PyTree, next_seen: PyTree
    ) -> tuple[Float[Array, "time stream"], Float[Array, "time stream"]]:
        """Values along the streams, and those of the true successors, in units of reward."""
        assert state.critic.torso is not None
        says = estimate(state.critic, state.critic.torso, data._replace(obs=seen), next_seen)
        middle, spread = state.scale.middle, state.scale.spread
        return middle + spread * says.value[..., 0], middle + spread * says.next_value[..., 0]


def team_view(obs: tuple[PyTree, ...], seats: tuple[int, ...]) -> tuple[PyTree, ...]:
    """What everybody sees beside the streams of some seats: their own view first, then those after it."""
    count = len(obs)
    return tuple(join([obs[(seat + turn) % count] for seat in seats]) for turn in range(count))


def _units(scale: Scale, value: Float[Array, "time stream"]) -> Float[Array, "time stream"]:
    return (value - scale.middle) / scale.spread


def _unroll(critic: Critic, seen: PyTree, data: Streams) -> Float[Array, "time stream"]:
    """The critic's values along streams, its memory empty at the start of the rollout."""
    assert critic.torso is not None
    start = critic.torso.starts(data.reward.shape[1])
    return critic.read(critic.torso.unroll(start, seen, data.resets)[0])[..., 0, 0]
