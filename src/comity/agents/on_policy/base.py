"""What learners with a policy and a critic share: how they begin, act, value what was played and step."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import Acting, ActingAgent
from comity.core.agent import Context, Explained, Metrics
from comity.core.batch import TeamBatch
from comity.core.errors import require
from comity.core.game import GameSpec, Seat
from comity.core.tunable import is_off
from comity.learn.advantages import Normalise, normalised
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import CriticBatch, CriticValues, critic_values, recorded_values
from comity.learn.critics import Critic, CriticTargets
from comity.learn.optimisers import Adam, apply_gradients
from comity.learn.policies import Policy
from comity.learn.schedules import Decay
from comity.nets.gru import GRU
from comity.nets.heads import check_action
from comity.nets.network import Network


class LearnerState(NamedTuple):
    """Policy, critic, its slow copy if there is one, the optimisers' memories, an adaptive step's factor.

    `past` is what episodes under way came to so far, for learners that ask for it (`agents/shaping`).
    """

    policy: Policy
    critic: CriticNet
    target: CriticNet | None
    optimiser: optax.OptState
    critic_optimiser: optax.OptState
    pace: Float[Array, ""]
    past: PyTree = ()


class Shaped(NamedTuple):
    """The advantages that a policy follows, [time, seat, game], and metrics on how they came about."""

    advantage: Float[Array, "time seat game"]
    metrics: Metrics


Shape = Callable[[CriticValues], Shaped]  # from what the critic says along its batch


class PolicyGradientAgent(ActingAgent):
    """A policy that follows advantages, and a critic from which they are measured.

    Subclasses say how they are measured, and in `learn` how the policy follows. A learner that shapes others
    (`agents/shaping`) hands `learn` other advantages than its own, and perhaps more for the critic to learn
    from; all else is shared.
    """

    network: Network = GRU()  # the shape of the policy
    critic: Critic = Critic()  # what advantages are measured from
    optimiser: Adam = Adam()  # how the parameters follow gradients
    schedule: Decay = Decay()  # what is left of rates and bonuses at the end
    discount: float = 0.96  # what the next step's reward counts
    entropy_coef: float = 0.01  # weight of the entropy bonus
    normalise_advantages: Normalise = "none"
    """by their spread (scale), or to mean 0 and variance 1 over the batch (unbiased: as torch has it) or over
    each minibatch"""
    advantage_clip: float = 0.0  # largest advantage after normalising; 0: no limit

    tunable: ClassVar[tuple[str, ...]] = ("discount", "entropy_coef")
    reuses_values: ClassVar[bool] = False  # whether `learn` takes values as they were while playing

    def __check_init__(self) -> None:
        require(0.0 <= self.discount <= 1.0, "discount", self.discount, "between 0 and 1")
        for name in ("entropy_coef", "advantage_clip"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")

    # ---- How it begins and acts ------------------------------------------------------------------------

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        for seat in spec.team(seats):
            self.network.check(seat.observation)
            check_action(seat.action)
        self.critic.check(spec, seats, self.network)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> LearnerState:
        return self.init_with(key, spec, seats, outputs=1)

    def init_with(self, key: Key, spec: GameSpec, seats: tuple[int, ...], outputs: int) -> LearnerState:
        """The state before any learning, with a critic of so many kinds of reward."""
        policy_key, critic_key = jax.random.split(key)
        policy = self._clip_std(self.build_policy(spec.seats[seats[0]], policy_key), jnp.float32(0.0))
        critic = self.critic.build(spec, seats, critic_key, self.network, policy.torso.features, outputs)
        together = is_off(self.critic.learning_rate)
        optimiser, critic_optimiser = self._optimisers()
        return LearnerState(
            policy,
            critic,
            critic if self.critic.target_tau < 1 else None,
            optimiser.init((policy, critic) if together else policy),
            () if together else critic_optimiser.init(critic),
            jnp.float32(1.0),
        )

    def build_policy(self, seat: Seat, key: Key) -> Policy:
        """A policy with new weights; by default the network and one head."""
        return Policy(self.network, seat, key)

    def behaviour(self, state: LearnerState, progress: Float[Array, ""]) -> Acting:
        along = self._critic_remembers(state) or self._critic_records(state)
        return Acting(state.policy, state.critic if along else None)

    # ---- How it learns ---------------------------------------------------------------------------------

    def update(
        self, state: LearnerState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[LearnerState, Metrics]:
        read = self.critic_batch(state, batch)

        def own(values: CriticValues) -> Shaped:
            return Shaped(self.own_advantages(values, read, batch), {})

        learned, metrics = self.learn(state, batch, read, own, context, key)
        return self.once_started(state, learned, batch, context), metrics

    @abstractmethod
    def learn(
        self,
        state: LearnerState,
        batch: TeamBatch,
        read: CriticBatch,
        shape: Shape,
        context: Context,
        key: Key,
    ) -> tuple[LearnerState, Metrics]:
        """The state once the policy followed `shape` and the critic learned from `read`."""

    def once_started(
        self, before: LearnerState, after: LearnerState, batch: TeamBatch, context: Context
    ) -> LearnerState:
        """The state after an update, or while learning has not started what was merely observed."""
        first = self.schedule.learning_starts
        if first == 0:
            return after
        waiting = self.observe(before, batch)
        return jax.tree.map(lambda x, y: jnp.where(context.progress >= first, x, y), after, waiting)

    def explain(self, state: LearnerState, batch: TeamBatch) -> Explained:
        read = self.critic_batch(state, batch)
        values = self.values(state.critic, state.policy, read)
        own = self.own_advantages(values, read, batch)
        nobody = jnp.zeros((0, *own.shape), own.dtype)
        return Explained(values.value[..., 0], own, nobody, nobody, own)

    def pace_metrics(self, state: LearnerState, context: Context) -> Metrics:
        """The learning rate of the policy's next step, and the spread of continuous actions."""
        rate = self.optimiser.learning_rate * self._rate_factor(state, context.progress)
        std = state.policy.std
        return {"learning_rate": rate} | ({} if std is None else {"std": std})

    def observe(self, state: LearnerState, batch: TeamBatch) -> LearnerState:
        return self.update_statistics(state, batch, self.critic_batch(state, batch))

    def critic_batch(self, state: LearnerState, batch: TeamBatch) -> CriticBatch:
        """What the critic learns from along the team's own seats."""
        if self.critic.shared:
            return self.critic.batch(batch, batch.carry[0])
        return self.critic.batch(batch, batch.carry[1] if self._critic_remembers(state) else None)

    @abstractmethod
    def own_advantages(
        self, values: CriticValues, read: CriticBatch, batch: TeamBatch
    ) -> Float[Array, "time seat game"]:
        """Advantages of the team's own rewards, normalised as asked for."""

    def normalised(
        self, advantage: Float[Array, "time seat game"], weight: Float[Array, "time seat game"]
    ) -> Float[Array, "time seat game"]:
        """Advantages of a whole batch; those of minibatches are normalised, and only then limited, there."""
        if self.normalise_advantages == "minibatch":
            return advantage
        return normalised(advantage, weight, self.normalise_advantages, self.advantage_clip)

    def values(self, critic: CriticNet, policy: Policy, read: CriticBatch) -> CriticValues:
        """What a critic says along a batch, on its own torso or else the policy's."""
        return critic_values(critic, critic.torso if critic.torso is not None else policy.torso, read)

    def played_values(self, state: LearnerState, batch: TeamBatch, read: CriticBatch) -> CriticValues:
        """What the critic said of what was played: as recorded, or else read again; no gradient."""
        if (
            self._critic_records(state)
            and read.inputs is batch.obs
            and not isinstance(batch.extras.value, tuple)
        ):
            return recorded_values(batch.extras.value, batch.bootstrap.value, batch.ended)
        return jax.lax.stop_gradient(self.values(state.critic, state.policy, read))

    def slow_values(self, state: LearnerState, now: CriticValues, read: CriticBatch) -> CriticValues:
        """What the slow copy of the critic says, or the critic itself where there is none; no gradient."""
        slow = now if state.target is None else self.values(state.target, state.policy, read)
        return jax.lax.stop_gradient(slow)

    def entropy_weight(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        """The weight of the entropy bonus when so much of the training is done."""
        return self.entropy_coef * self.schedule.at(self.schedule.final_entropy, progress)

    def apply_gradients(
        self, state: LearnerState, gradients: tuple[Policy, CriticNet], progress: Float[Array, ""]
    ) -> LearnerState:
        """The state after one step of the optimisers, of the slow copy and of what bounds the spread."""
        schedule = self.schedule
        begun = (progress >= schedule.critic_only_fraction).astype(jnp.float32)
        rate = self._rate_factor(state, progress)
        optimiser, critic_optimiser = self._optimisers()
        policy_gradient = jax.tree.map(lambda x: begun * x, gradients[0])
        if is_off(self.critic.learning_rate):
            (policy, critic), memory = apply_gradients(
                optimiser, (policy_gradient, gradients[1]), state.optimiser,
                (state.policy, state.critic), rate,
            )  # fmt: skip
            critic_memory = state.critic_optimiser
        else:
            policy, memory = apply_gradients(optimiser, policy_gradient, state.optimiser, state.policy, rate)
            critic, critic_memory = apply_gradients(
                critic_optimiser, gradients[1], state.critic_optimiser, state.critic,
                schedule.at(schedule.final_critic_learning_rate, progress),
            )  # fmt: skip
        target = state.target
        if target is not None:
            tau = self.critic.target_tau
            target = jax.tree.map(lambda old, new: old + tau * (new - old), target, critic)
        policy = self._clip_std(policy, progress)
        return LearnerState(policy, critic, target, memory, critic_memory, state.pace)

    def renormalise(self, state: LearnerState, targets: CriticTargets, read: CriticBatch) -> LearnerState:
        """The state with the statistics of returns up to date, and the head with them if asked for."""
        norm, critic = self.critic.norm, state.critic
        if norm.return_ema == 0:
            return state
        statistics = critic.statistics.update(targets.chosen / critic.unit, read.weight, norm.return_ema)
        if norm.popart:
            head = statistics.rescale(critic.head, critic.statistics, max(critic.actions, 1))
            critic = eqx.tree_at(lambda critic: critic.head, critic, head)
        return state._replace(critic=eqx.tree_at(lambda critic: critic.statistics, critic, statistics))

    def _rate_factor(self, state: LearnerState, progress: Float[Array, ""]) -> Float[Array, ""]:
        """What the policy's learning rate is multiplied with: the adaptive pace and the schedule."""
        return state.pace * self.schedule.at(self.schedule.final_learning_rate, progress)

    def update_statistics(self, state: LearnerState, batch: TeamBatch, read: CriticBatch) -> LearnerState:
        """The state after the running statistics of observations took in what was seen."""
        torso = state.policy.torso.update_statistics(batch.obs, batch.weight)
        policy = eqx.tree_at(lambda policy: policy.torso, state.policy, torso)
        critic = state.critic
        if critic.torso is not None:
            seats = jax.tree.leaves(read.inputs)[0].shape[1]
            # A view that all seats share was seen where any of them was there.
            weight = read.weight if seats > 1 else read.weight.max(axis=1, keepdims=True)
            grown = critic.torso.update_statistics(read.inputs, weight)
            critic = eqx.tree_at(lambda critic: critic.torso, critic, grown)
        return state._replace(policy=policy, critic=critic)

    def _critic_remembers(self, state: LearnerState) -> bool:
        """Whether the critic has a memory that follows the play."""
        torso = state.critic.torso
        return self.critic.acts_along and torso is not None and bool(jax.tree.leaves(torso.initial_carry()))

    def _critic_records(self, state: LearnerState) -> bool:
        """Whether acting tells the critic's value too, since it reads the very features of the policy."""
        plain = self.critic.kind == "value" and state.critic.outputs == 1
        return self.critic.shared and plain and self.reuses_values

    def _optimisers(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        return self.optimiser.build(), self.optimiser.build(self.critic.learning_rate)

    def _clip_std(self, policy: Policy, progress: Float[Array, ""]) -> Policy:
        if self.schedule.max_std == 0:
            return policy
        return policy.clip_std(self.schedule.max_std * self.schedule.at(self.schedule.final_std, progress))


class ActorCriticAgent(PolicyGradientAgent):
    """Advantages are those of returns over the critic's values."""

    gae_lambda: float = 0.95  # lambda of generalised advantages: 0 is TD(0), 1 Monte-Carlo

    tunable: ClassVar[tuple[str, ...]] = ("discount", "gae_lambda", "entropy_coef")

    def __check_init__(self) -> None:
        require(0.0 <= self.gae_lambda <= 1.0, "gae_lambda", self.gae_lambda, "between 0 and 1")

    def own_advantages(
        self, values: CriticValues, read: CriticBatch, batch: TeamBatch
    ) -> Float[Array, "time seat game"]:
        """Generalised advantages of the team's own rewards, normalised as asked for."""
        advantage = self.critic.advantages(values, read, 0, self.discount, self.gae_lambda)
        return self.normalised(jax.lax.stop_gradient(advantage), batch.decides)


def refuse_minibatches(rule: Normalise) -> None:
    """Raises if a learner that has no minibatches is to normalise over them."""
    require(rule != "minibatch", "normalise_advantages", rule, "none, scale, batch or unbiased here")
