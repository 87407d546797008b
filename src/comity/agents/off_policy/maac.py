r"""Multi-actor attention critic (Iqbal and Sha, 2019, arXiv:1810.02912): soft actors, one attentive critic.

.. math:: Q_i(o, a) \leftarrow r_i + \gamma (1 - d)\, E_{a' \sim \bar\pi}\big[\bar Q_i(o', a')
          - \alpha \log \bar\pi_i(a'_i|o'_i)\big], \qquad
          \nabla J_i = \nabla E_{a \sim \pi}\big[Q_i(o, a) - \alpha \log \pi_i(a_i|o_i)\big]

The others' actions are drawn from their policies; over a seat's own actions the mean is taken exactly, in the
target as in the gradient. The paper draws them too: its multi-agent baseline, the mean over the seat's own
actions, then makes an unbiased estimate of this gradient. The bonus of the successor is discounted and ends
with the game, as the successor's value does.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import ActingAgent
from comity.core import spaces
from comity.core.agent import Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.memory import PRIORITIES, Memory
from comity.core.spaces import Discrete, describe
from comity.learn.optimisers import Adam, apply_gradients, slow_copy
from comity.learn.policies import Policy
from comity.learn.replay import UniformReplay
from comity.learn.sequences import after_burn_in, first_carry, seat_streams
from comity.nets.attention_critic import AttentionCritic
from comity.nets.distributions import Categorical
from comity.nets.layered import refuse_normaliser
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.returns.surrogates import weighted_mean
from comity.returns.td import action_value, soft_value


class Attention(eqx.Module):
    """The shape of a critic that attends to the others."""

    width: int = 128  # units of each of its layers, over all heads
    heads: int = 4  # how many things it attends to at once

    def __check_init__(self) -> None:
        require(self.heads >= 1, "attention.heads", self.heads, "at least 1")
        fits = self.width >= 1 and self.width % self.heads == 0
        require(fits, "attention.width", self.width, f"a multiple of the {self.heads} heads")


class Nets(NamedTuple):
    """The policy that all seats of the team share, and the critic of them all."""

    policy: Policy
    critic: AttentionCritic


class MAACState(NamedTuple):
    """What is learned: the networks, their slow copies, the optimisers' memories."""

    policy: Policy
    critic: AttentionCritic
    slow: Nets
    optimiser: optax.OptState
    critic_optimiser: optax.OptState


class MAAC(ActingAgent):
    """A team of soft actors that learn from a replay; their critic attends to what the others see and do."""

    network: Network = MLP(width=128, depth=2)  # the shape of the policy
    attention: Attention = Attention()  # the shape of the critic
    memory: Memory = UniformReplay(capacity=100_000, batch=512, updates=4)  # what it learns from
    optimiser: Adam = Adam(learning_rate=1e-3, max_grad_norm=0.5)  # how the policy follows gradients
    critic_optimiser: Adam = Adam(learning_rate=1e-3, max_grad_norm=10.0)  # how the critic follows gradients
    temperature: float = 0.01  # alpha: what a unit of entropy counts, in units of reward
    discount: float = 0.99  # what the next step's reward counts
    target_tau: float = 0.005  # how fast the slow copies follow

    tunable: ClassVar[tuple[str, ...]] = ("temperature", "discount", "target_tau")

    def __check_init__(self) -> None:
        require(self.temperature >= 0, "temperature", self.temperature, "at least 0")
        require(0 <= self.discount <= 1, "discount", self.discount, "between 0 and 1")
        require(0 < self.target_tau <= 1, "target_tau", self.target_tau, "above 0 and at most 1")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        refuse_normaliser(self.network)
        for seat in spec.team(seats):
            self.network.check(seat.observation)
            if not isinstance(seat.action, Discrete):
                raise ComityError(
                    f"MAAC values each of several choices, and {seat.name} does {describe(seat.action)}: "
                    f"use mappo."
                )

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> MAACState:
        policy_key, critic_key = jax.random.split(key)
        seat = spec.seats[seats[0]]
        assert isinstance(seat.action, Discrete)
        policy = Policy(self.network, seat, policy_key)
        seen, shape = spaces.flat_size(seat.observation), self.attention
        critic = AttentionCritic(seen, seat.action.n, shape.width, shape.heads, critic_key)
        return MAACState(
            policy,
            critic,
            Nets(policy, critic),
            self.optimiser.build().init(policy),
            self.critic_optimiser.build().init(critic),
        )

    def update(
        self, state: MAACState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[MAACState, Metrics]:
        target_key, act_key = jax.random.split(key)
        burn_in = getattr(self.memory, "burn_in", 0)
        slowly = after_burn_in(state.slow.policy.torso, batch, burn_in)
        batch = after_burn_in(state.policy.torso, batch, burn_in)
        streams = seat_streams(batch)
        target = jax.lax.stop_gradient(self.targets(state, slowly, target_key))
        weight = streams.weight
        if batch.drawn is not None:
            weight = weight * jnp.broadcast_to(batch.drawn.importance, weight.shape)

        def critic_loss(critic: AttentionCritic) -> tuple[Array, Array]:
            value = action_value(
                attended(critic, batch.obs, batch.action, batch.alive, state.policy), batch.action
            )
            error = 0.5 * (jnp.square(value - target) * weight).sum()
            return error / jnp.maximum(streams.weight.sum(), 1.0), value

        def policy_loss(policy: Policy) -> tuple[Array, Metrics]:
            logits = policy_along(policy, batch)[0].logits
            drawn = jax.random.categorical(act_key, jax.lax.stop_gradient(logits))
            values = attended(state.critic, batch.obs, drawn, batch.alive, policy)
            gain = soft_value(jax.lax.stop_gradient(values), jax.nn.log_softmax(logits), self.temperature)
            entropy = weighted_mean(Categorical(logits).entropy(), batch.decides)
            return -weighted_mean(gain, batch.decides), {"entropy": entropy}

        (error, value), slope = jax.value_and_grad(critic_loss, has_aux=True)(state.critic)
        (loss, metrics), gradient = jax.value_and_grad(policy_loss, has_aux=True)(state.policy)
        one = jnp.float32(1.0)
        critic, critic_memory = apply_gradients(
            self.critic_optimiser.build(), slope, state.critic_optimiser, state.critic, one
        )
        policy, memory = apply_gradients(self.optimiser.build(), gradient, state.optimiser, state.policy, one)
        slow = slow_copy(state.slow, Nets(policy, critic), self.target_tau)
        metrics |= {
            "loss": loss,
            "value_loss": error,
            "value": weighted_mean(value, streams.weight),
            "gradient_norm": optax.tree.norm(gradient),
        }
        if batch.drawn is not None:
            surprise = (jnp.abs(target - value) * streams.weight).sum(axis=(0, 1))
            metrics[PRIORITIES] = surprise / jnp.maximum(streams.weight.sum(axis=(0, 1)), 1.0)
        return MAACState(policy, critic, slow, memory, critic_memory), metrics

    def targets(self, state: MAACState, batch: TeamBatch, key: Key) -> Float[Array, "time seat game"]:
        """What the values should have been, by the slow copies; the others' next actions are drawn."""
        following = policy_along(state.slow.policy, batch)[1]
        drawn = following.sample(key)
        values = attended(state.slow.critic, batch.next_obs, drawn, ~batch.terminated, state.slow.policy)
        value = soft_value(values, jax.nn.log_softmax(following.logits), self.temperature)
        return seat_streams(batch).n_step(value, self.discount, 1)


def policy_along(policy: Policy, batch: TeamBatch) -> tuple[Categorical, Categorical]:
    """How the policy acts along a batch, and at each step's true successor."""
    torso = policy.torso
    features, after = torso.unroll(first_carry(torso, batch), batch.obs, batch.resets)
    now = policy.of(features, batch.obs)
    following = policy.of(torso.step(after, batch.next_obs)[1], batch.next_obs)
    assert isinstance(now, Categorical)
    assert isinstance(following, Categorical)
    return now, following


def attended(
    critic: AttentionCritic,
    obs: PyTree,
    action: Array,
    present: Bool[Array, "time seat game"],
    policy: Policy,
) -> Float[Array, "time seat game choices"]:
    """What the critic says of each seat's own actions, beside what the others do."""
    seen = spaces.encode(policy.torso.observation, obs)
    done = jax.nn.one_hot(action, critic.out.weight.shape[1], dtype=jnp.float32)
    inputs = (jnp.swapaxes(x, 1, 2) for x in (seen, done, present))
    return jnp.swapaxes(critic(*inputs), 1, 2)
