r"""Differentiable inter-agent learning (Foerster et al., 2016, arXiv:1605.06676): errors cross messages.

Each seat has action values and a message m, both from one recurrent network that reads what is seen, what is
heard and who it is. While learning a message goes through noise and is kept near 0 or 1, so that it can be
read as bits afterwards (the discretise/regularise unit):

.. math:: \hat m = \mathrm{sigmoid}(m + \sigma\epsilon)\ \text{while learning},\qquad
          \hat m = 1[m > 0]\ \text{when it plays}

What the listener's values are wrong by is the speaker's error too: the gradient of

.. math:: \sum_t \big(r_t + \gamma \max_a Q^{slow}_{t+1}(a) - Q_t(a_t)\big)^2

goes through the messages, back in time and from seat to seat. Seats speak and hear when they act, in games of
turns when it is theirs; what is said stays until somebody speaks again, as on a switch.
"""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import Key as KeyArray
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.spaces import Box, Discrete, Masked, Space, legal, plain
from comity.learn.optimisers import Adam, apply_gradients
from comity.learn.schedules import Linear
from comity.nets.gru import GRU
from comity.nets.linear import Linear as Dense
from comity.nets.network import Network
from comity.nets.torso import Torso
from comity.returns.surrogates import weighted_mean

ILLEGAL = -1e9


class TalkingQ(eqx.Module):
    """Action values and a message, from what is seen, heard, and who one is."""

    torso: Torso
    values: Dense
    message: Dense
    observation: Space = eqx.field(static=True)


class Acting(NamedTuple):
    """What acts: the network, how often an action is drawn, and the noise on messages; 0: they are bits."""

    net: TalkingQ
    epsilon: Float[Array, ""]
    noise: Float[Array, ""]


class Memory(NamedTuple):
    """A seat's recurrent state, and the last that was said, leaves [seat, ...]."""

    hidden: PyTree
    heard: Float[Array, "... bit"]


class State(NamedTuple):
    """What is learned: the network, its slow copy, the optimiser's memory."""

    net: TalkingQ
    slow: TalkingQ
    optimiser: optax.OptState


class Thought(NamedTuple):
    """What the seats make of a step: values of their actions, and messages before any noise."""

    values: Float[Array, "seat action"]
    message: Float[Array, "seat bit"]


class DIAL(Agent):
    """Q-learning of a team whose messages carry gradients; whole episodes, on-policy, for discrete
    actions."""

    network: Network = GRU(width=64)  # the shape of the network
    optimiser: Adam = Adam(learning_rate=5e-4, max_grad_norm=10.0)  # how the parameters follow gradients
    epsilon: Linear = Linear(start=0.05, end=0.05, over=1.0)  # share of drawn actions while learning
    bits: int = 1  # of a message
    noise: float = 2.0  # sigma, on messages while learning
    medium: Literal["switch", "others"] = "switch"
    """who hears what: all the mean of the last that spoke, themselves too, or each the mean of the others"""
    discount: float = 1.0  # what the next step's reward counts
    target_tau: float = 0.01  # how fast the slow copy follows

    def __check_init__(self) -> None:
        require(self.bits >= 1, "bits", self.bits, "at least 1")
        require(self.noise > 0, "noise", self.noise, "above 0: without noise messages do not become bits")
        require(0 <= self.discount <= 1, "discount", self.discount, "between 0 and 1")
        require(0 < self.target_tau <= 1, "target_tau", self.target_tau, "above 0 and at most 1")
        require(self.medium in ("switch", "others"), "medium", self.medium, "switch or others")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        for seat in spec.team(seats):
            if not isinstance(seat.action, Discrete):
                raise ComityError(
                    "DIAL has values of discrete actions: a2c and ppo play others, also in teams."
                )
            self.network.check(self._space(spec, seats))

    def _space(self, spec: GameSpec, seats: tuple[int, ...]) -> PyTree:
        """What the network reads: what is seen and heard, and which of all seats it is."""
        return (plain(spec.seats[seats[0]].observation), Box((self.bits,)), Discrete(len(spec.seats)))

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> State:
        keys = jax.random.split(key, 3)
        torso = self.network.build(self._space(spec, seats), keys[0])
        action = spec.seats[seats[0]].action
        assert isinstance(action, Discrete)
        values, message = (
            Dense(torso.features, size, 0.1, k) for size, k in ((action.n, keys[1]), (self.bits, keys[2]))
        )
        net = TalkingQ(torso, values, message, spec.seats[seats[0]].observation)
        return State(net, net, self.optimiser.build().init(net))

    def policy(self, state: State) -> Acting:
        return Acting(state.net, jnp.float32(0.0), jnp.float32(0.0))

    def behaviour(self, state: State, progress: Float[Array, ""]) -> Acting:
        return Acting(state.net, self.epsilon(progress), jnp.float32(self.noise))

    def initial_carry(self, params: Acting) -> Memory:
        return Memory(params.net.torso.initial_carry(), jnp.zeros(self.bits, jnp.float32))

    def act(self, params: Acting, carry: Memory, obs: PyTree, key: Key) -> Act:
        one = jax.tree.map(lambda x: x[None], (carry, obs, key))
        return jax.tree.map(lambda x: x[0], self.act_team(params, *one))

    def act_team(self, params: Acting, carry: Memory, obs: PyTree, keys: KeyArray[Array, " seat"]) -> Act:
        return self._act(params, carry, obs, keys)

    def most_likely(self, params: Acting, carry: Memory, obs: PyTree, key: Key) -> Act:
        return self.act(params._replace(epsilon=jnp.float32(0.0)), carry, obs, key)

    def most_likely_team(
        self, params: Acting, carry: Memory, obs: PyTree, keys: KeyArray[Array, " seat"]
    ) -> Act:
        return self._act(params._replace(epsilon=jnp.float32(0.0)), carry, obs, keys)

    def _act(self, params: Acting, carry: Memory, obs: PyTree, keys: KeyArray[Array, " seat"]) -> Act:
        draw = jax.vmap(lambda key: jax.random.split(key, 3))(keys)
        noise = jax.vmap(lambda key: jax.random.normal(key, (self.bits,), jnp.float32))(draw[:, 0])
        hidden, thought = self.think(params.net, carry, obs)
        mask = _legal(params.net, obs, thought.values)
        explores = jax.vmap(jax.random.uniform)(draw[:, 1]) < params.epsilon
        drawn = jax.vmap(lambda key, mask: jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf)))(
            draw[:, 2], mask
        )
        action = jnp.where(explores, drawn, jnp.argmax(thought.values, axis=-1))
        said = regularise(thought.message, params.noise, noise)
        heard = self.transmit(carry.heard, said, _speaks(params.net, obs, len(said)))
        return Act(action, Memory(hidden, heard), noise)

    def think(self, net: TalkingQ, carry: Memory, obs: PyTree) -> tuple[PyTree, Thought]:
        """The recurrent states after an observation, values of legal actions and messages, leaves [seat,
        ...]."""
        seen = obs[0] if isinstance(net.observation, Masked) else obs
        seats = carry.heard.shape[0]
        heard = carry.heard * _speaks(net, obs, seats)[:, None].astype(jnp.float32)
        hidden, features = net.torso.step(carry.hidden, (seen, heard, jnp.arange(seats)))
        values = net.values(features)
        return hidden, Thought(jnp.where(_legal(net, obs, values), values, ILLEGAL), net.message(features))

    def transmit(
        self, before: Float[Array, "seat bit"], said: Float[Array, "seat bit"], speaks: Bool[Array, " seat"]
    ) -> Float[Array, "seat bit"]:
        """What each seat hears next: the mean of those who spoke, or what it heard before if nobody did."""
        weights = jnp.broadcast_to(speaks.astype(jnp.float32)[None, :], (said.shape[0], said.shape[0]))
        if self.medium == "others":
            weights = weights * (1.0 - jnp.eye(said.shape[0], dtype=jnp.float32))
        total = weights.sum(axis=1, keepdims=True)
        return jnp.where(total > 0, weights @ said / jnp.maximum(total, 1.0), before)

    def unroll(self, net: TalkingQ, batch: TeamBatch) -> Float[Array, "time seat game action"]:
        """Values along what was played, with the noise that messages had then."""
        start = self.initial_carry(Acting(net, jnp.float32(0.0), jnp.float32(0.0)))

        def one_game(carry: Memory, obs: PyTree, resets: Bool[Array, "time seat"], noise: Array) -> Array:
            def step(
                carry: Memory, inputs: tuple[PyTree, Bool[Array, " seat"], Array]
            ) -> tuple[Memory, Array]:
                obs, reset, drawn = inputs
                carry = jax.tree.map(lambda x, new: _where(reset, new, x), carry, start)
                hidden, thought = self.think(net, carry, obs)
                said = regularise(thought.message, jnp.float32(self.noise), drawn)
                speaks = _speaks(net, obs, len(said))
                return Memory(hidden, self.transmit(carry.heard, said, speaks)), thought.values

            return jax.lax.scan(step, carry, (obs, resets, noise))[1]

        return jax.vmap(one_game, (1, 2, 2, 2), 2)(batch.carry, batch.obs, batch.resets, batch.extras)

    def update(self, state: State, batch: TeamBatch, context: Context, key: Key) -> tuple[State, Metrics]:
        after = jnp.where(batch.terminated[:-1], 0.0, self.unroll(state.slow, batch)[1:].max(axis=-1))
        ended = batch.ended
        nothing = jnp.zeros_like(batch.reward[:1])
        target = batch.reward + self.discount * jnp.concatenate([after, nothing])
        # What comes after a rollout, or after the clock ran out, is not known: such steps teach nothing.
        last = jnp.arange(batch.reward.shape[0])[:, None, None] == batch.reward.shape[0] - 1
        unknown = (batch.truncated & ~batch.terminated) | (last & ~ended)
        weight = batch.weight * (1.0 - unknown.astype(jnp.float32))

        def loss(net: TalkingQ) -> tuple[Float[Array, ""], Float[Array, ""]]:
            values = self.unroll(net, batch)
            chosen = jnp.take_along_axis(values, batch.action[..., None], axis=-1)[..., 0]
            return weighted_mean(jnp.square(chosen - jax.lax.stop_gradient(target)), weight), chosen.mean()

        (error, value), gradient = jax.value_and_grad(loss, has_aux=True)(state.net)
        net, memory = apply_gradients(
            self.optimiser.build(), gradient, state.optimiser, state.net, jnp.float32(1.0)
        )
        slow = optax.incremental_update(net, state.slow, self.target_tau)
        return State(net, slow, memory), {"loss": error, "value": value}


def regularise(
    message: Float[Array, "*any"], spread: Float[Array, ""], noise: Float[Array, "*any"]
) -> Float[Array, "*any"]:
    """The discretise/regularise unit: sigmoid(m + sigma noise), or without noise the bit that m stands
    for."""
    return jnp.where(spread > 0, jax.nn.sigmoid(message + spread * noise), (message > 0).astype(jnp.float32))


def _where(reset: Bool[Array, " seat"], new: Array, old: Array) -> Array:
    return jnp.where(reset.reshape((-1,) + (1,) * (old.ndim - 1)), new[None], old)


def _legal(net: TalkingQ, obs: PyTree, values: Float[Array, "seat action"]) -> Bool[Array, "seat action"]:
    """Which actions are legal: all where the game does not say."""
    mask = legal(net.observation, obs)
    return jnp.ones(values.shape, jnp.bool_) if mask is None else mask


def _speaks(net: TalkingQ, obs: PyTree, seats: int) -> Bool[Array, " seat"]:
    """Who acts: a seat that waits has one legal action."""
    mask = legal(net.observation, obs)
    return jnp.ones(seats, jnp.bool_) if mask is None else mask.sum(axis=-1) > 1
