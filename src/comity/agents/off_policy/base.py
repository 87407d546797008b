"""What learners of action values share: how they begin, act and explore, and how values follow targets."""

from abc import abstractmethod
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.memory import PRIORITIES, Memory
from comity.core.spaces import Discrete, describe
from comity.learn.optimisers import Adam, apply_gradients, slow_copy
from comity.learn.q_net import ActionValues, EpsilonGreedy, QNet
from comity.learn.replay import UniformReplay
from comity.learn.schedules import Linear
from comity.learn.sequences import Streams, after_burn_in
from comity.nets.layered import refuse_normaliser
from comity.nets.mixers import Mixer
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.returns.surrogates import weighted_mean

Loss = Literal["squared", "huber"]


class ValueNets(NamedTuple):
    """Action values of a seat, and how those of a team's seats make one value; None: each by itself."""

    q: ActionValues
    mixer: Mixer | None


class ValueState(NamedTuple):
    """What is learned: the networks, their slow copy if there is one, the optimiser's memory."""

    nets: ValueNets
    slow: ValueNets | None
    optimiser: optax.OptState


class ActionValueAgent(Agent):
    """Acts greedily by action values, and explores while learning; for discrete actions."""

    network: Network = MLP(width=64, depth=2)  # the shape of the network
    duelling: bool = False  # whether values are a state's value plus advantages of actions
    optimiser: Adam = Adam(learning_rate=5e-4, max_grad_norm=10.0)  # how the parameters follow gradients
    final_learning_rate: float = 1.0  # share of the learning rate left at the end, reached linearly
    epsilon: Linear = Linear(start=1.0, end=0.05, over=0.3)  # share of drawn actions while learning
    discount: float = 0.99  # what the next step's reward counts
    loss: Loss = "squared"  # of the errors; huber: linear beyond 1

    tunable: ClassVar[tuple[str, ...]] = ("final_learning_rate", "discount")

    def __check_init__(self) -> None:
        require(0 <= self.discount <= 1, "discount", self.discount, "between 0 and 1")
        share = self.final_learning_rate
        require(0 <= share <= 1, "final_learning_rate", share, "between 0 and 1")
        for name in ("start", "end"):
            value = getattr(self.epsilon, name)
            require(0 <= value <= 1, f"epsilon.{name}", value, "between 0 and 1")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        refuse_normaliser(self.network)
        for seat in spec.team(seats):
            self.network.check(seat.observation)
            if not isinstance(seat.action, Discrete):
                raise ComityError(
                    f"Action values need one of several choices, and {seat.name} does "
                    f"{describe(seat.action)}: use ppo."
                )

    def build(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ValueNets:
        """New networks."""
        q_key, mixer_key = jax.random.split(key)
        q = QNet(self.network, spec.seats[seats[0]], self.duelling, q_key)
        return ValueNets(q, self.build_mixer(spec, seats, mixer_key))

    def build_mixer(self, spec: GameSpec, seats: tuple[int, ...], key: Key) -> Mixer | None:
        """How the values of a team's seats make one; by default each seat is valued by itself."""
        return None

    # ---- How it acts -----------------------------------------------------------------------------------

    def policy(self, state: ValueState) -> EpsilonGreedy:
        return EpsilonGreedy(state.nets.q, jnp.float32(0.0))

    def behaviour(self, state: ValueState, progress: Float[Array, ""]) -> EpsilonGreedy:
        return EpsilonGreedy(state.nets.q, jnp.asarray(self.epsilon(progress), jnp.float32))

    def initial_carry(self, params: EpsilonGreedy) -> PyTree:
        return params.q.torso.initial_carry()

    def act(self, params: EpsilonGreedy, carry: PyTree, obs: PyTree, key: Key) -> Act:
        carry, values = params.q.step(carry, obs)
        return Act(params.draw(values, key), carry, ())

    def most_likely(self, params: EpsilonGreedy, carry: PyTree, obs: PyTree, key: Key) -> Act:
        carry, values = params.q.step(carry, obs)
        return Act(jnp.argmax(values).astype(jnp.int32), carry, ())

    def action_probabilities(
        self, params: EpsilonGreedy, carry: PyTree, obs: PyTree, choices: int
    ) -> Float[Array, " choices"]:
        return params.probabilities(params.q.step(carry, obs)[1])

    # ---- How values follow targets ---------------------------------------------------------------------

    @abstractmethod
    def streams(self, batch: TeamBatch) -> Streams:
        """What is paid and where it ends: of each seat, or of the team."""

    def errors(self, value: Array, target: Array) -> Array:
        """The loss of each value."""
        if self.loss == "huber":
            return optax.losses.huber_loss(value, target)
        return 0.5 * jnp.square(value - target)

    def apply_gradients(
        self, state: ValueState, gradient: ValueNets, progress: Float[Array, ""]
    ) -> tuple[ValueNets, optax.OptState]:
        """The networks and the optimiser's memory after one step."""
        rate = 1.0 + (self.final_learning_rate - 1.0) * progress
        return apply_gradients(self.optimiser.build(), gradient, state.optimiser, state.nets, rate)


class ReplayValueAgent(ActionValueAgent):
    r"""Learns action values from a replay, with a slow copy for the targets.

    .. math:: Q(s_t, a_t) \leftarrow \sum_{k<n} \gamma^k r_{t+k}
              + \gamma^n \bar Q(s_{t+n}, \arg\max_a Q(s_{t+n}, a))

    Subclasses say what is valued (`value`): a seat's own action or a team's joint one.
    """

    memory: Memory = UniformReplay(capacity=100_000, batch=128, updates=4)  # what it learns from
    double: bool = True  # whether the network chooses the next action that its slow copy values
    n_step: int = 1  # steps of the targets; sequences of the memory must be as long
    target_tau: float = 0.01  # how fast the slow copy follows

    tunable: ClassVar[tuple[str, ...]] = (*ActionValueAgent.tunable, "target_tau")

    def __check_init__(self) -> None:
        require(self.n_step >= 1, "n_step", self.n_step, "at least 1")
        require(0 < self.target_tau <= 1, "target_tau", self.target_tau, "above 0 and at most 1")

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        super().check(spec, seats)
        length = getattr(self.memory, "length", self.n_step)
        require(self.n_step <= length, "n_step", self.n_step, f"at most memory.length, which is {length}")

    @abstractmethod
    def value(
        self,
        nets: ValueNets,
        q: Float[Array, "time seat game choices"],
        action: Array,
        present: Bool[Array, "time seat game"],
        state: PyTree,
    ) -> Float[Array, "time stream game"]:
        """What is learned: the value of each seat's action, or of the team's joint action.

        `present` says which seats are in the game, `state` is the game's.
        """

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ValueState:
        nets = self.build(key, spec, seats)
        return ValueState(nets, nets, self.optimiser.build().init(nets))

    def update(
        self, state: ValueState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[ValueState, Metrics]:
        assert state.slow is not None
        burn_in = getattr(self.memory, "burn_in", 0)
        online = after_burn_in(state.nets.q.torso, batch, burn_in)
        slowly = after_burn_in(state.slow.q.torso, batch, burn_in)
        streams = self.streams(online)
        target = jax.lax.stop_gradient(self.targets(state, online, slowly, streams))
        weight = streams.weight
        if batch.drawn is not None:
            weight = weight * jnp.broadcast_to(batch.drawn.importance, weight.shape)

        def loss(nets: ValueNets) -> tuple[Array, Array]:
            value = self.value(nets, nets.q.along(online), online.action, online.alive, online.state)
            total = (self.errors(value, target) * weight).sum() / jnp.maximum(streams.weight.sum(), 1.0)
            return total, value

        (error, value), gradient = jax.value_and_grad(loss, has_aux=True)(state.nets)
        nets, memory = self.apply_gradients(state, gradient, context.progress)
        metrics = {
            "loss": error,
            "value": weighted_mean(value, streams.weight),
            "gradient_norm": optax.tree.norm(gradient),
        }
        if batch.drawn is not None:
            surprise = (jnp.abs(target - value) * streams.weight).sum(axis=(0, 1))
            metrics[PRIORITIES] = surprise / jnp.maximum(streams.weight.sum(axis=(0, 1)), 1.0)
        return ValueState(nets, slow_copy(state.slow, nets, self.target_tau), memory), metrics

    def targets(
        self, state: ValueState, online: TeamBatch, slowly: TeamBatch, streams: Streams
    ) -> Float[Array, "time stream game"]:
        """What the values should have been, by the slow copy."""
        assert state.slow is not None
        following = state.slow.q.along_with_next(slowly)[1]
        choosing = state.nets.q.along_with_next(online)[1] if self.double else following
        best = jnp.argmax(choosing, axis=-1)
        next_value = self.value(state.slow, following, best, ~online.terminated, online.next_state)
        return streams.n_step(next_value, self.discount, self.n_step)
