"""What the actor-critics that shape their opponents share: policy, critics, advantages and schedules."""

from abc import abstractmethod
from functools import partial
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.critics import Critic, Estimate, Kind, choices, estimate
from comity.agents.gradient.actor_critic import clipped_adam, optimise
from comity.agents.policies import Policy
from comity.agents.shaping.views import given, others_reward, successors, views
from comity.agents.streams import Streams, advantages, join, streams
from comity.core.errors import ComityError, require
from comity.core.types import Agent, Experience, Seat, Trajectory
from comity.nets.distributions import Categorical
from comity.nets.heads import check_action
from comity.nets.torsos import Network, Torso, refuse_normaliser
from comity.returns.advantages import lambda_returns
from comity.returns.alignment import time_discount
from comity.returns.surrogates import normalise, weighted_mean


class Acting(NamedTuple):
    """What acts: the policy, and the critic where others are to be given its values."""

    policy: Policy
    critic: Critic | None


class Extras(NamedTuple):
    """What is kept of each act: `probabilities` of discrete actions, values that are given to others."""

    raw: PyTree
    log_prob: Float[Array, "..."]
    probabilities: PyTree
    value: PyTree
    action_values: PyTree


class ShapingState(NamedTuple):
    """Policy, critic, the slow copy of the critic, and the optimisers' memories."""

    policy: Policy
    critic: Critic
    target: Critic
    policy_memory: optax.OptState
    critic_memory: optax.OptState


class Shaped(NamedTuple):
    """Advantages of the learner's streams, [time, stream]: own, own past, the shaping term, their sum."""

    own: Float[Array, "time stream"]
    past: Float[Array, "time stream"]
    term: Float[Array, "time stream"]
    total: Float[Array, "time stream"]


class Other(NamedTuple):
    """Another player beside the learner's streams, [time, stream], as the learner's critic sees it.

    `advantage` may be scaled; `returns` are lambda-returns and `next_value` is 0 after a termination.
    `each` are the values of all its actions and `action` the one that it took, where the critic tells them.
    """

    advantage: Float[Array, "*time stream"]
    reward: Float[Array, "*time stream"]
    returns: Float[Array, "*time stream"]
    next_value: Float[Array, "*time stream"]
    each: PyTree
    action: PyTree


class Lesson(NamedTuple):
    """What a critic learns from, leaves [time, stream, ...]: streams, their successors, and the rewards.

    There is one reward, or two: one's own and that of the others together.
    """

    data: Streams
    next_obs: PyTree
    rewards: tuple[Float[Array, "time stream"], ...]


class ShapingActorCritic(Agent):
    """A policy gradient learner whose advantage has a term of the others' advantages."""

    network: eqx.AbstractVar[Network]
    critic_network: eqx.AbstractVar[Network]
    opponent_critic: eqx.AbstractVar[Literal["own-view", "learned", "given"]]
    learn_from: eqx.AbstractVar[Literal["own", "all"]]
    weight: eqx.AbstractVar[float]
    discount: eqx.AbstractVar[float]
    discount_time: eqx.AbstractVar[bool]
    own_trace: eqx.AbstractVar[float]
    past_trace: eqx.AbstractVar[float]
    opponent_trace: eqx.AbstractVar[float]
    normalise: eqx.AbstractVar[Literal["none", "scale", "standardise"]]
    advantage_clip: eqx.AbstractVar[float]
    entropy: eqx.AbstractVar[float]
    final_entropy: eqx.AbstractVar[float]
    learning_rate: eqx.AbstractVar[float]
    final_learning_rate: eqx.AbstractVar[float]
    critic_learning_rate: eqx.AbstractVar[float]
    final_critic_learning_rate: eqx.AbstractVar[float]
    decay_from: eqx.AbstractVar[float]
    critic_first: eqx.AbstractVar[float]
    target_rate: eqx.AbstractVar[float]
    max_gradient: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        require(bool(jnp.isfinite(self.weight)), "weight", self.weight, "a finite number")
        shares = ["discount", "decay_from", "critic_first"]
        shares += [f"{name}_trace" for name in ("own", "past", "opponent")]
        shares += [f"final_{name}" for name in ("entropy", "learning_rate", "critic_learning_rate")]
        for name in shares:
            value = getattr(self, name)
            require(0.0 <= value <= 1.0, name, value, "between 0 and 1")
        require(0.0 < self.target_rate <= 1.0, "target_rate", self.target_rate, "above 0 and at most 1")
        for name in ("learning_rate", "critic_learning_rate", "max_gradient"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")

    @property
    def critic_kind(self) -> Kind:
        """What the critic values."""
        return "action-value"

    @property
    def target_trace(self) -> float:
        """Lambda of the targets of a critic of states."""
        return 0.0

    @property
    def unit(self) -> float:
        """What one unit of the critic is worth."""
        return 1.0

    @property
    def action_trace(self) -> float:
        """Lambda of the targets of a critic of actions."""
        return 0.0

    @property
    def spreads(self) -> tuple[float, float]:
        """The largest spread of continuous actions at the start, and the share of it left at the end."""
        return 1.0, 1.0

    def check(self, seat: Seat) -> None:
        refuse_normaliser(self.network, self.critic_network)
        self.network.check(seat.observation)
        if not self.network.shared:
            self.critic_network.check(seat.observation)
        check_action(seat.action)
        if self.critic_kind == "action-value" and choices(seat.action) == 0:
            raise ComityError("A critic of actions needs discrete actions: use critic value in this game.")
        if self.critic_kind == "after-state" and not any(seat.drawn):
            raise ComityError(
                "A critic of after-states needs a game that says which numbers it draws anew at each step, "
                "and this one does not: use critic value."
            )

    def init(self, key: Key, seat: Seat) -> ShapingState:
        policy_key, critic_key = jax.random.split(key)
        policy = self._narrowed(Policy(self.network, seat, policy_key), jnp.float32(0.0))
        features = policy.torso.features if self.network.shared else None
        rewards = 2 if self.opponent_critic == "learned" else 1
        network = self.network if self.network.shared else self.critic_network
        critic = Critic(network, features, seat, rewards, self.critic_kind, critic_key, self.unit)
        policy_optimiser, critic_optimiser = self.optimisers()
        return ShapingState(
            policy, critic, critic, policy_optimiser.init(policy), critic_optimiser.init(critic)
        )

    def optimisers(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        """Adam on clipped gradients for the policy and for the critic."""
        policy_rate, critic_rate = self.learning_rate, self.critic_learning_rate
        return (
            clipped_adam(policy_rate, self.max_gradient, 1e-6),
            clipped_adam(critic_rate, self.max_gradient, 1e-6),
        )

    def params(self, state: ShapingState) -> Acting:
        return Acting(state.policy, state.critic if self.opponent_critic == "given" else None)

    def start(self, params: Acting) -> PyTree:
        own = params.critic.torso if params.critic is not None else None
        return params.policy.torso.start(), own.start() if own is not None else ()

    def act(self, params: Acting, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, Extras]:
        memory, features = params.policy.torso.step(carry[0], obs)
        distribution = params.policy.of(features, obs)
        raw = distribution.sample(key)
        probabilities: PyTree = ()
        if isinstance(distribution, Categorical):
            probabilities = jax.nn.softmax(distribution.logits)
        critic_memory = carry[1]
        value: PyTree = ()
        action_values: PyTree = ()
        if params.critic is not None:
            if params.critic.torso is not None:
                critic_memory, features = params.critic.torso.step(carry[1], obs)
            own = params.critic.read(features)[..., 0, :]
            value = (own * probabilities).sum() if params.critic.actions else own[0]
            action_values = own if params.critic.actions else ()
        extras = Extras(raw, distribution.log_prob(raw), probabilities, value, action_values)
        action = params.policy.head.shape_action(distribution.action(raw))
        return action, (memory, critic_memory), extras

    def update(
        self, state: ShapingState, experience: Experience, key: Key
    ) -> tuple[ShapingState, dict[str, Array]]:
        """One step of gradient ascent along the shaped advantages."""
        data = streams(experience.joint, experience.seats)
        lesson = self.lesson(experience.joint, experience.seats)
        entropy_weight = self.entropy * self.faded(self.final_entropy, experience.progress)

        def loss(policy, critic):  # type: ignore[no-untyped-def]
            now = self.says(critic, policy.torso, lesson)
            shaped = self.shaped(state, experience, now)
            distribution = policy.unroll(data.carry[0], data.obs, data.resets)
            gain = weighted_mean(shaped.total * distribution.log_prob(data.extras.raw), data.weight)
            entropy = weighted_mean(distribution.entropy(), data.weight)
            critic_loss = self.critic_loss(now, state, lesson)
            total = -gain - entropy_weight * entropy + critic_loss
            metrics = {"loss": total, "entropy": entropy, "critic_loss": critic_loss}
            return total, {**metrics, **sizes(shaped)}

        gradients, metrics = jax.grad(loss, argnums=(0, 1), has_aux=True)(state.policy, state.critic)
        state = self.learned(state, gradients, experience.progress)
        return state, {**metrics, "gradient_norm": optax.tree.norm(gradients[0])}

    @abstractmethod
    def pull(
        self, own: Float[Array, "time stream"], ended: Bool[Array, "time stream"], other: Other
    ) -> tuple[Float[Array, "time stream"], Float[Array, "time stream"]]:
        """What my own advantages came to so far, and the term by which it shapes the other player."""

    def shaped(self, state: ShapingState, experience: Experience, now: Estimate | None = None) -> Shaped:
        """The learner's advantages, with the shaping term added. Nothing here is differentiated.

        `now` is what the critic says along its lesson, if that is known already.
        """
        joint, seats = experience.joint, experience.seats
        if now is None:
            now = self.says(state.critic, state.policy.torso, self.lesson(joint, seats))
        own_data = streams(joint, seats)
        by_seat = _by_seat(jax.lax.stop_gradient(now), self._taught(joint, seats))
        says = join([by_seat[seat] for seat in seats])
        own, past = (
            self._scaled(self._advantage(own_data, says, 0, trace), own_data.weight)
            for trace in (self.own_trace, self.past_trace)
        )
        ended = own_data.ended
        so_far, term = jnp.zeros_like(own), jnp.zeros_like(own)
        for other in self._others(state, joint, seats, by_seat, own_data):
            so_far, pull = self.pull(past, ended, other)
            term = term + pull
        total = own + self.weight * term
        if self.discount_time:
            total = total * jax.vmap(partial(time_discount, discount=self.discount), 1, 1)(ended)
        return jax.lax.stop_gradient(Shaped(own, so_far, term, total))

    def lesson(self, joint: Trajectory, seats: tuple[int, ...]) -> Lesson:
        """What the critic learns from in a rollout in which some seats learn."""
        own_seat, seats = seats[0], self._taught(joint, seats)
        data = views(joint, seats, own_seat, self.critic_kind == "action-value")
        rewards: tuple[Array, ...] = (data.reward,)
        if self.opponent_critic == "learned":
            rewards = (data.reward, others_reward(joint, seats))
        return Lesson(data, successors(joint, seats), rewards)

    def _taught(self, joint: Trajectory, seats: tuple[int, ...]) -> tuple[int, ...]:
        """The seats that the critic learns from in a rollout in which some seats learn."""
        everyone = self.opponent_critic == "own-view" and self.learn_from == "all"
        return tuple(range(len(joint.obs))) if everyone else seats

    def says(self, critic: Critic, torso: Torso, lesson: Lesson) -> Estimate:
        """What a critic, on its own torso or else the policy's, says along a lesson."""
        own = critic.torso if critic.torso is not None else torso
        return estimate(critic, own, lesson.data, lesson.next_obs)

    def critic_loss(self, now: Estimate, state: ShapingState, lesson: Lesson) -> Float[Array, ""]:
        """Huber loss to targets of the slow critic: TD(lambda) for values, SARSA(lambda) for action values.

        `now` is what the critic says along the lesson; without a slow copy the targets are made of it too.
        After-states are values that are learned twice: as they are seen, and before chance has its say.
        """
        data, _, rewards = lesson
        slow = now if self.target_rate == 1.0 else self.says(state.target, state.policy.torso, lesson)
        slow = jax.lax.stop_gradient(slow)
        losses = []
        for i, reward in enumerate(rewards):
            if self.critic_kind == "action-value":
                chosen, following = slow.chosen[..., i], slow.next_chosen[..., i]
                target = reward + self.discount * jnp.where(data.terminated, 0.0, following)
                if self.action_trace > 0:
                    target = chosen + advantages(
                        data._replace(reward=reward), chosen, following, self.discount, self.action_trace
                    )
            elif self.critic_kind == "after-state":
                target = self._returns(data._replace(reward=reward), slow, i)
                # What follows a step is worth the return from the next one on, where there is one.
                goes_on = jnp.where(data.ended[:-1], 0.0, data.weight[:-1])
                misses = self._miss(now.next_value[:-1, :, i], target[1:])
                losses.append(weighted_mean(misses, goes_on))
            else:
                target = slow.value[..., i] + self._advantage(
                    data._replace(reward=reward), slow, i, self.target_trace
                )
            losses.append(weighted_mean(self._miss(now.chosen[..., i], target), data.weight))
        return jnp.stack(losses).mean()

    def _miss(self, value: Array, target: Array) -> Array:
        """How far values are off, in the critic's units."""
        return optax.losses.huber_loss(value / self.unit, target / self.unit)

    def learned(
        self,
        state: ShapingState,
        gradients: tuple[Policy, Critic],
        progress: Float[Array, ""],
    ) -> ShapingState:
        """The state after one step of both optimisers."""
        policy_gradient, critic_gradient = gradients
        begun = (progress >= self.critic_first).astype(jnp.float32)
        policy_gradient = jax.tree.map(lambda x: begun * x, policy_gradient)
        policy_optimiser, critic_optimiser = self.optimisers()
        policy, policy_memory = optimise(
            policy_optimiser, policy_gradient, state.policy_memory, state.policy,
            self.faded(self.final_learning_rate, progress),
        )  # fmt: skip
        critic, critic_memory = optimise(
            critic_optimiser, critic_gradient, state.critic_memory, state.critic,
            self.faded(self.final_critic_learning_rate, progress),
        )  # fmt: skip
        policy = self._narrowed(policy, progress)
        target = critic
        if self.target_rate < 1.0:
            follow = partial(jax.tree.map, lambda old, new: old + self.target_rate * (new - old))
            target = follow(state.target, critic)
        return ShapingState(policy, critic, target, policy_memory, critic_memory)

    def faded(self, final: float, progress: Float[Array, ""]) -> Float[Array, ""]:
        """A factor that is 1 until `decay_from` of the training and then falls linearly to `final`."""
        rest = max(1.0 - self.decay_from, 1e-6)
        return 1.0 + (final - 1.0) * jnp.clip((progress - self.decay_from) / rest, 0.0, 1.0)

    def _narrowed(self, policy: Policy, progress: Float[Array, ""]) -> Policy:
        """The policy with the spread of continuous actions held below its bound, which may fall."""
        if policy.head.log_std is None:
            return policy
        largest, final = self.spreads
        bound = jnp.log(largest * self.faded(final, progress))
        return eqx.tree_at(lambda p: p.head.log_std, policy, jnp.minimum(policy.head.log_std, bound))

    def _advantage(
        self, data: Streams, says: Estimate, reward: int, trace: float
    ) -> Float[Array, "time stream"]:
        value, following = says.value[..., reward], says.next_value[..., reward]
        return advantages(data, value, following, self.discount, trace)

    def _returns(self, data: Streams, says: Estimate, reward: int) -> Float[Array, "time stream"]:
        """Lambda-returns that bootstrap from after-states only, so that chance is averaged at each step."""
        following = says.next_value[..., reward]
        before = jnp.concatenate([jnp.zeros_like(following[:1]), following[:-1]])
        each = partial(lambda_returns, discount=self.discount, trace=self.target_trace)
        return jax.vmap(each, in_axes=1, out_axes=1)(
            data.reward, before, following, data.terminated, data.ended
        )

    def _scaled(self, advantage: Array, weight: Array) -> Array:
        if self.normalise == "standardise":
            advantage = normalise(advantage, weight)
        elif self.normalise == "scale":
            spread = jnp.sqrt(weighted_mean(jnp.square(advantage), weight) + 1e-6)
            advantage = advantage / spread
        if self.advantage_clip > 0:
            advantage = jnp.clip(advantage, -self.advantage_clip, self.advantage_clip)
        return advantage

    def _others(
        self,
        state: ShapingState,
        joint: Trajectory,
        seats: tuple[int, ...],
        known: dict[int, Estimate],
        own_data: Streams,
    ) -> list[Other]:
        """The other players beside the learner's streams, one entry for each (equation 66).

        `known` is what the critic says in the seats that it learns from. A learned critic knows the others'
        reward only as a sum, so there is one entry for all of them.
        """
        if self.opponent_critic == "learned":
            summed = own_data._replace(reward=others_reward(joint, seats))
            says = join([known[seat] for seat in seats])
            return [self._other(summed, says, 1, summed.reward, ())]
        by_seat = []
        count = len(joint.obs)
        for seat in range(count):
            if self.opponent_critic == "given":
                data = streams(joint, (seat,))
                seen = given(data, self.critic_kind == "action-value")
            else:
                data = views(joint, (seat,), seats[0], state.critic.actions > 0)
                seen = known[seat] if seat in known else self._seen(state, joint, seat, data)
            other = self._other(data, seen, 0, data.weight * data.reward, data.action)
            # Who left has no advantage any more.
            by_seat.append(other._replace(advantage=data.weight * other.advantage))
        return [join([by_seat[(seat + turn) % count] for seat in seats]) for turn in range(1, count)]

    def _seen(self, state: ShapingState, joint: Trajectory, seat: int, data: Streams) -> Estimate:
        """What the critic says along the view of a seat that it does not learn from."""
        lesson = Lesson(data, successors(joint, (seat,)), ())
        return jax.lax.stop_gradient(self.says(state.critic, state.policy.torso, lesson))

    def _other(self, data: Streams, says: Estimate, index: int, reward: Array, action: PyTree) -> Other:
        advantage = self._advantage(data, says, index, self.opponent_trace)
        returns = says.value[..., index] + advantage
        following = jnp.where(data.terminated, 0.0, says.next_value[..., index])
        scaled = self._scaled(advantage, data.weight)
        return Other(scaled, reward, returns, following, says.each[..., index, :], action)


def _by_seat(says: Estimate, seats: tuple[int, ...]) -> dict[int, Estimate]:
    """What a critic says along the joined streams of some seats, seat by seat."""
    parts = jax.tree.map(lambda x: jnp.split(x, len(seats), axis=1), says)
    return {seat: Estimate(*(part[i] for part in parts)) for i, seat in enumerate(seats)}


def sizes(shaped: Shaped) -> dict[str, Array]:
    """How large the parts of the shaped advantage are, for the metrics."""
    return {
        "own_advantage": jnp.std(shaped.own),
        "past_advantage": jnp.std(shaped.past),
        "alignment": jnp.std(shaped.term),
    }
