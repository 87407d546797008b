"""What actors that follow critics of actions share: how they begin and act, and the steps of both."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core.agent import Act, Agent, Context, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.core.memory import PRIORITIES, Memory
from comity.core.spaces import Discrete
from comity.core.tunable import is_off
from comity.learn import actor_net
from comity.learn.action_numbers import check_numbers
from comity.learn.actor_batch import ActorBatch, read_batch
from comity.learn.actor_net import ActorNet, ActorParams, Choices, Drawing, Kind, Play, magnitude, play
from comity.learn.optimisers import Adam, apply_gradients, slow_copy
from comity.learn.other_actors import OthersActions, likelihood_loss, new_models, other_teams
from comity.learn.q_critics import QCritic, QCritics
from comity.learn.replay import UniformReplay
from comity.learn.temperature import Temperature
from comity.nets.layered import refuse_normaliser
from comity.nets.mlp import MLP
from comity.nets.network import Network
from comity.returns.surrogates import weighted_mean


class Optimisers(NamedTuple):
    """The memories of the optimisers."""

    actor: optax.OptState
    critics: optax.OptState
    temperature: optax.OptState
    models: optax.OptState


class ActorState(NamedTuple):
    """What is learned: actor and critics with slow copies, temperatures, models of other teams' actors.

    `log_temperature` has one number for each seat of the game, or is empty; `slow_actor` is None where
    targets come from the actor itself; `updates` is how often the critics have learned.
    """

    actor: ActorNet
    slow_actor: ActorNet | None
    critics: QCritics
    slow_critics: QCritics
    log_temperature: PyTree
    models: dict[str, ActorNet]
    optimisers: Optimisers
    updates: Int[Array, ""]


class ReplayActorAgent(Agent):
    r"""An actor that climbs the value of its actions, and critics that learn this value from a replay.

    .. math:: Q(s, a) \leftarrow r + \gamma (1 - d) \min_k \bar Q_k(s', a'), \qquad
              \theta \leftarrow \theta + \eta \nabla_\theta Q(s, \pi_\theta(o))

    :math:`d` is 1 where the game terminated, and 0 where the clock ran out. With a central critic all seats'
    actions stand in :math:`a`: in :math:`a'` those that their actors would take, in the second equation
    those that they took, but for one's own.
    """

    network: Network = MLP(width=64, depth=2)  # the shape of the actor's network
    critic: QCritic = QCritic()  # what its actions are worth
    optimiser: Adam = Adam(learning_rate=1e-3, max_grad_norm=10.0)  # how parameters follow gradients
    memory: Memory = UniformReplay(capacity=100_000, batch=256)  # what it learns from
    final_learning_rate: float = 1.0  # share of the learning rates left at the end, reached linearly
    discount: float = 0.99  # what the next step's reward counts
    target_tau: float = 0.005  # how fast the slow copies follow
    policy_delay: int = 1  # updates of the critics for one of the actor and of the slow copies
    choices: Choices = "exact"
    """how one of several choices follows its value: exact, by the expectation over all of them, or gumbel,
    by the straight-through Gumbel-softmax"""
    gumbel_temperature: float = 1.0  # of its gradients: low is less biased, and noisier
    output_coef: float = 0.0  # weight of the mean square of the actor's outputs: keeps them from saturating

    tunable: ClassVar[tuple[str, ...]] = ("final_learning_rate", "discount", "target_tau", "output_coef")
    kind: ClassVar[Kind]  # how numbers are drawn
    slow: ClassVar[bool]  # whether targets come from a slow copy of the actor
    pessimistic: ClassVar[bool]  # whether the actor climbs the least of the critics' values, or the first's

    def __check_init__(self) -> None:
        for name in ("final_learning_rate", "discount"):
            require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "between 0 and 1")
        require(0 < self.target_tau <= 1, "target_tau", self.target_tau, "above 0 and at most 1")
        require(self.policy_delay >= 1, "policy_delay", self.policy_delay, "at least 1")
        require(self.gumbel_temperature > 0, "gumbel_temperature", self.gumbel_temperature, "above 0")
        require(self.output_coef >= 0, "output_coef", self.output_coef, "at least 0")

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """The actors of other teams, where a central critic is given them."""
        given = self.critic.central and self.critic.others == "given"
        return frozenset({"others"}) if given else frozenset()

    # ---- What an algorithm says ------------------------------------------------------------------------

    @property
    @abstractmethod
    def entropy(self) -> Temperature | None:
        """What entropy is worth; None: nothing."""

    @abstractmethod
    def next_play(self, actor: ActorNet, drawing: Drawing, key: Key) -> Play:
        """What the actor would do next, as targets value it."""

    # ---- How it begins and acts ------------------------------------------------------------------------

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        refuse_normaliser(self.network)
        for seat in spec.team(seats):
            self.network.check(seat.observation)
            check_numbers(seat.name, seat.action)
        self.critic.check(spec, seats, self.network, self.choices)
        if self.critic.central and not getattr(self.memory, "joint", True):
            raise ComityError("A critic that reads what all seats do needs memory.joint true.")

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> ActorState:
        actor_key, critic_key, model_key = jax.random.split(key, 3)
        actor = ActorNet(self.network, spec.seats[seats[0]], self.kind, actor_key)
        critics = self.critic.build(spec, seats, self.network, self.choices, critic_key)
        inferred = self.critic.central and self.critic.others == "inferred"
        models = new_models(spec, seats, self.network, model_key) if inferred else {}
        temperature = () if self.entropy is None else self.entropy.first(len(spec.seats))
        parts = zip(self._optimisers(), (actor, critics, temperature, models), strict=True)
        memories = Optimisers(*(optimiser.init(part) for optimiser, part in parts))
        slow_actor = actor if self.slow else None
        return ActorState(actor, slow_actor, critics, critics, temperature, models, memories, jnp.int32(0))

    def policy(self, state: ActorState) -> ActorParams:
        return ActorParams(state.actor, jnp.float32(0.0))

    def initial_carry(self, params: ActorParams) -> PyTree:
        return params.actor.torso.initial_carry()

    def act(self, params: ActorParams, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return actor_net.act(params, carry, obs, key)

    def most_likely(self, params: ActorParams, carry: PyTree, obs: PyTree, key: Key) -> Act:
        return actor_net.most_likely(params, carry, obs)

    def action_probabilities(
        self, params: ActorParams, carry: PyTree, obs: PyTree, choices: int
    ) -> Float[Array, " choices"]:
        return actor_net.probabilities(params, carry, obs)

    # ---- How it learns ---------------------------------------------------------------------------------

    def update(
        self, state: ActorState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[ActorState, Metrics]:
        target_key, other_key, actor_key = jax.random.split(key, 3)
        rate = 1.0 + (self.final_learning_rate - 1.0) * context.progress
        read = read_batch(
            batch, self.critic.view, state.actor, state.critics, state.slow_critics, self._burn_in
        )
        now, following = other_teams(
            state.critics, state.models, state.actor, context.others, batch, self._burn_in, other_key
        )
        target, entropy = self.targets(state, read, following, target_key)
        state, values, metrics = self.learn_critics(state, read, target, rate)
        metrics["entropy"] = weighted_mean(entropy, read.alive)
        if state.models:
            state, metrics["others_loss"] = self.learn_models(state, batch, rate)

        def follow(state: ActorState) -> ActorState:
            return self.follow(state, read, now, rate, actor_key)

        if self.policy_delay == 1:
            state = follow(state)
        else:
            due = state.updates % self.policy_delay == 1  # this update is counted already
            state = jax.lax.cond(due, follow, lambda state: state, state)
        if self.entropy is not None:
            metrics["temperature"] = jnp.exp(state.log_temperature)[jnp.asarray(batch.seats)].mean()
        if read.importance is not None:
            weight = read.streams.weight
            surprise = (jnp.abs(target - values) * weight).sum(axis=(0, 1))
            metrics[PRIORITIES] = surprise / jnp.maximum(weight.sum(axis=(0, 1)), 1.0)
        return state, metrics

    def targets(
        self, state: ActorState, read: ActorBatch, others: OthersActions, key: Key
    ) -> tuple[Float[Array, "time row game"], Float[Array, "time seat game"]]:
        """What the values should have been, and the entropy of what the actor would do next."""
        play_key, mates_key = jax.random.split(key)
        actor = state.actor if state.slow_actor is None else state.slow_actor
        _, memory = read.actor.unroll(actor.torso)
        drawing = actor.of(read.actor.step_after(actor.torso, memory), read.actor.following)
        following = self.next_play(actor, drawing, play_key)
        # Critics are linear in one's own choice, so they take its distribution; of mates they read one draw.
        exact = isinstance(actor.action, Discrete) and self.choices == "exact"
        mates = actor.numbers(drawing, mates_key) if exact else following.numbers
        everyone = read.with_team(others, mates)
        values = read.next_values(state.slow_critics, following.numbers, everyone)
        bonus = self._bonus(state, read, following.entropy * read.goes_on.astype(jnp.float32))
        next_value = jnp.stack(values).min(axis=0) + bonus
        target: Array = jax.lax.stop_gradient(read.streams.n_step(next_value, self.discount, 1))
        return target, following.entropy

    def learn_critics(
        self, state: ActorState, read: ActorBatch, target: Array, rate: Float[Array, ""]
    ) -> tuple[ActorState, Float[Array, "time row game"], Metrics]:
        """The state after a step of the critics, what the first said before it, and metrics."""
        weight = read.critic_weight

        def loss(critics: QCritics) -> tuple[Array, Array]:
            values = jnp.stack(read.played_values(critics))
            misses = 0.5 * jnp.square(values - target[None]).sum(axis=0)
            return (misses * weight).sum() / jnp.maximum(read.streams.weight.sum(), 1.0), values[0]

        (error, values), gradient = jax.value_and_grad(loss, has_aux=True)(state.critics)
        memories, optimiser = state.optimisers, self._optimisers().critics
        critics, memory = apply_gradients(optimiser, gradient, memories.critics, state.critics, rate)
        metrics = {
            "loss": error,
            "value": weighted_mean(values, read.streams.weight),
            "gradient_norm": optax.tree.norm(gradient),
        }
        learned = state._replace(
            critics=critics, optimisers=memories._replace(critics=memory), updates=state.updates + 1
        )
        return learned, values, metrics

    def learn_models(
        self, state: ActorState, batch: TeamBatch, rate: Float[Array, ""]
    ) -> tuple[ActorState, Float[Array, ""]]:
        """The state after a step of the models of other teams' actors, and their loss."""
        loss, gradient = jax.value_and_grad(likelihood_loss)(state.models, batch, self._burn_in)
        memories, optimiser = state.optimisers, self._optimisers().models
        models, memory = apply_gradients(optimiser, gradient, memories.models, state.models, rate)
        return state._replace(models=models, optimisers=memories._replace(models=memory)), loss

    def follow(
        self, state: ActorState, read: ActorBatch, others: OthersActions, rate: Float[Array, ""], key: Key
    ) -> ActorState:
        """The state after a step of the actor, of the temperatures, and of the slow copies."""
        optimisers, memories, tau = self._optimisers(), state.optimisers, self.target_tau
        gradient, (drawing, entropy) = jax.grad(self.actor_loss, has_aux=True)(
            state.actor, state, read, others, key
        )
        actor, memory = apply_gradients(optimisers.actor, gradient, memories.actor, state.actor, rate)
        memories = memories._replace(actor=memory)
        temperature = state.log_temperature
        if self.entropy is not None and not is_off(self.entropy.learning_rate):
            own = self.entropy.gradient(drawing, entropy, read.decides)
            above = jnp.zeros_like(temperature).at[jnp.asarray(read.team)].set(own)
            temperature, memory = apply_gradients(
                optimisers.temperature, above, memories.temperature, temperature, rate
            )
            memories = memories._replace(temperature=memory)
        return state._replace(
            actor=actor,
            slow_actor=None if state.slow_actor is None else slow_copy(state.slow_actor, actor, tau),
            slow_critics=slow_copy(state.slow_critics, state.critics, tau),
            log_temperature=temperature,
            optimisers=memories,
        )

    def actor_loss(
        self, actor: ActorNet, state: ActorState, read: ActorBatch, others: OthersActions, key: Key
    ) -> tuple[Float[Array, ""], tuple[Drawing, Float[Array, "time seat game"]]]:
        """Minus the value of what the actor would do; what it draws from, and the entropy of that."""
        drawing = actor.of(read.actor.unroll(actor.torso)[0], read.actor.now)
        play_key, mates_key = jax.random.split(key)
        found = play(drawing, play_key, self.choices, self.gumbel_temperature)
        everyone = read.everyone
        if self.critic.beside == "current":
            mates = jax.lax.stop_gradient(actor.numbers(drawing, mates_key))
            everyone = read.with_team(others, mates)
        values = read.values_of(state.critics, found.numbers, everyone)
        value = jnp.stack(values).min(axis=0) if self.pessimistic else values[0]
        gain = value + self._bonus(state, read, found.entropy * read.decides)
        decides = jnp.minimum(read.per_row(read.decides), 1.0)
        cost = self.output_coef * weighted_mean(magnitude(drawing), read.decides)
        return cost - weighted_mean(gain, decides), (drawing, found.entropy)

    def _bonus(
        self, state: ActorState, read: ActorBatch, entropy: Float[Array, "time seat game"]
    ) -> Float[Array, "time row game"]:
        """What entropy is worth: to each seat, or to the team as one."""
        if self.entropy is None:
            return jnp.zeros_like(read.streams.reward)
        each = jnp.exp(state.log_temperature)[jnp.asarray(read.team)][None, :, None]
        return read.per_row(jnp.broadcast_to(each, entropy.shape) * entropy)

    def _optimisers(self) -> Optimisers:
        adam = self.optimiser
        soft = optax.identity() if self.entropy is None else self.entropy.optimiser()
        return Optimisers(adam.build(), adam.build(self.critic.learning_rate), soft, adam.build())

    @property
    def _burn_in(self) -> int:
        steps: int = getattr(self.memory, "burn_in", 0)
        return steps
