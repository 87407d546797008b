"""What Advantage Alignment and its proximal form share: policy, critics and the aligned advantage."""

from abc import abstractmethod
from functools import partial
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import optimise
from comity.agents.shaping.critics import Critic, Estimate, Kind, choices, estimate
from comity.agents.shaping.views import given, others_reward, successors, views
from comity.agents.streams import Streams, streams
from comity.core.errors import ComityError, require
from comity.core.types import Agent, Experience, Seat, Trajectory
from comity.nets.distributions import Categorical, Distribution
from comity.nets.heads import PolicyHead, check_action
from comity.nets.torsos import Network, Torso
from comity.returns.advantages import gae, lambda_returns
from comity.returns.alignment import CASES, Case, Past, alignment, past_advantages, time_discount
from comity.returns.surrogates import normalise, weighted_mean


class Policy(eqx.Module):
    """A torso and a head."""

    torso: Torso
    head: PolicyHead

    def __init__(self, network: Network, seat: Seat, key: Key) -> None:
        torso_key, head_key = jax.random.split(key)
        self.torso = Torso(network, seat.observation, torso_key)
        self.head = PolicyHead(self.torso.features, seat.action, head_key, network.kind != "tabular")

    def unroll(self, carry: PyTree, obs: PyTree, resets: Bool[Array, "time ..."]) -> Distribution:
        return self.head(self.torso.unroll(carry, obs, resets)[0])


class Acting(NamedTuple):
    """What acts: the policy, and the critic where others are to be given its values."""

    policy: Policy
    critic: Critic | None


class Extras(NamedTuple):
    """What is kept of each act; `probabilities` for discrete actions, `value` where it is given to others."""

    raw: PyTree
    log_prob: Float[Array, "..."]
    probabilities: PyTree
    value: PyTree


class AlignedState(NamedTuple):
    """Policy, critic, the slow copy of the critic, and the optimisers' memories."""

    policy: Policy
    critic: Critic
    target: Critic
    policy_memory: optax.OptState
    critic_memory: optax.OptState


class Aligned(NamedTuple):
    """Advantages of the learner's streams, [time, stream]: own, own past, the alignment term, their sum."""

    own: Float[Array, "time stream"]
    past: Float[Array, "time stream"]
    term: Float[Array, "time stream"]
    total: Float[Array, "time stream"]


class AlignedAgent(Agent):
    """A policy gradient learner whose advantage is aligned with those of the others."""

    network: eqx.AbstractVar[Network]
    critic_network: eqx.AbstractVar[Network]
    critic: eqx.AbstractVar[Kind]
    opponent_critic: eqx.AbstractVar[Literal["own-view", "learned", "given"]]
    learn_from: eqx.AbstractVar[Literal["own", "all"]]
    weight: eqx.AbstractVar[float]
    past: eqx.AbstractVar[Past]
    past_discount: eqx.AbstractVar[float]
    without: eqx.AbstractVar[tuple[Case, ...]]
    discount: eqx.AbstractVar[float]
    discount_time: eqx.AbstractVar[bool]
    own_trace: eqx.AbstractVar[float]
    past_trace: eqx.AbstractVar[float]
    opponent_trace: eqx.AbstractVar[float]
    critic_trace: eqx.AbstractVar[float]
    normalise: eqx.AbstractVar[Literal["none", "scale", "standardise"]]
    advantage_clip: eqx.AbstractVar[float]
    past_clip: eqx.AbstractVar[float]
    entropy: eqx.AbstractVar[float]
    final_entropy: eqx.AbstractVar[float]
    learning_rate: eqx.AbstractVar[float]
    final_learning_rate: eqx.AbstractVar[float]
    critic_learning_rate: eqx.AbstractVar[float]
    final_critic_learning_rate: eqx.AbstractVar[float]
    decay_from: eqx.AbstractVar[float]
    critic_first: eqx.AbstractVar[float]
    target_rate: eqx.AbstractVar[float]
    spread: eqx.AbstractVar[float]
    final_spread: eqx.AbstractVar[float]
    max_gradient: eqx.AbstractVar[float]

    def __check_init__(self) -> None:
        require(bool(jnp.isfinite(self.weight)), "weight", self.weight, "a finite number")
        for case in self.without:
            require(case in CASES, "without", case, f"one of {', '.join(CASES)}")
        shares = ["discount", "past_discount", "decay_from", "critic_first"]
        shares += [f"{name}_trace" for name in ("own", "past", "opponent", "critic")]
        shares += [f"final_{name}" for name in ("entropy", "learning_rate", "critic_learning_rate")]
        shares += ["final_spread"]
        for name in shares:
            value = getattr(self, name)
            require(0.0 <= value <= 1.0, name, value, "between 0 and 1")
        if self.critic == "after-state":
            allowed = "own-view or learned with critic after-state"
            require(self.opponent_critic != "given", "opponent_critic", self.opponent_critic, allowed)
        require(0.0 < self.target_rate <= 1.0, "target_rate", self.target_rate, "above 0 and at most 1")
        for name in ("learning_rate", "critic_learning_rate", "spread", "max_gradient"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")

    def check(self, seat: Seat) -> None:
        self.network.check(seat.observation)
        if not self.network.shared:
            self.critic_network.check(seat.observation)
        check_action(seat.action)
        if self.critic == "action-value" and choices(seat.action) == 0:
            raise ComityError("A critic of actions needs discrete actions: use critic value in this game.")
        if self.critic == "after-state" and not any(seat.drawn):
            raise ComityError(
                "A critic of after-states needs a game that says which numbers it draws anew at each step, "
                "and this one does not: use critic value."
            )

    def init(self, key: Key, seat: Seat) -> AlignedState:
        policy_key, critic_key = jax.random.split(key)
        policy = self._narrowed(Policy(self.network, seat, policy_key), jnp.float32(0.0))
        features = policy.torso.features if self.network.shared else None
        rewards = 2 if self.opponent_critic == "learned" else 1
        network = self.network if self.network.shared else self.critic_network
        critic = Critic(network, features, seat, rewards, self.critic, critic_key)
        policy_optimiser, critic_optimiser = self.optimisers()
        return AlignedState(
            policy, critic, critic, policy_optimiser.init(policy), critic_optimiser.init(critic)
        )

    def optimisers(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        """Adam on clipped gradients for the policy and for the critic."""
        clip = optax.clip_by_global_norm(self.max_gradient)
        return tuple(
            optax.chain(clip, optax.adam(rate, eps=1e-6))
            for rate in (self.learning_rate, self.critic_learning_rate)
        )

    def params(self, state: AlignedState) -> Acting:
        return Acting(state.policy, state.critic if self.opponent_critic == "given" else None)

    def start(self, params: Acting) -> PyTree:
        own = params.critic.torso if params.critic is not None else None
        return params.policy.torso.start(), own.start() if own is not None else ()

    def act(self, params: Acting, carry: PyTree, obs: PyTree, key: Key) -> tuple[PyTree, PyTree, Extras]:
        memory, features = params.policy.torso.step(carry[0], obs)
        distribution = params.policy.head(features)
        raw = distribution.sample(key)
        probabilities: PyTree = ()
        if isinstance(distribution, Categorical):
            probabilities = jax.nn.softmax(distribution.logits)
        critic_memory = carry[1]
        value: PyTree = ()
        if params.critic is not None:
            if params.critic.torso is not None:
                critic_memory, features = params.critic.torso.step(carry[1], obs)
            own = params.critic.read(features)[..., 0, :]
            value = (own * probabilities).sum() if params.critic.actions else own[0]
        extras = Extras(raw, distribution.log_prob(raw), probabilities, value)
        action = params.policy.head.shape_action(distribution.action(raw))
        return action, (memory, critic_memory), extras

    @abstractmethod
    def update(
        self, state: AlignedState, experience: Experience, key: Key
    ) -> tuple[AlignedState, dict[str, Array]]:
        """One step of learning."""

    def aligned(self, state: AlignedState, experience: Experience) -> Aligned:
        """The learner's advantages, with the alignment term added. Nothing here is differentiated."""
        joint, seats = experience.joint, experience.seats
        own_data = streams(joint, seats)
        says = self._says(state, joint, seats, own_data)
        own, past = (
            self._scaled(self._advantage(own_data, says, 0, trace), own_data.weight)
            for trace in (self.own_trace, self.past_trace)
        )
        ended = own_data.ended
        over_streams = partial(jax.vmap, in_axes=1, out_axes=1)
        so_far = over_streams(
            partial(past_advantages, discount=self.discount, form=self.past, past_discount=self.past_discount)
        )(past, ended)
        if self.past_clip > 0:
            so_far = jnp.clip(so_far, -self.past_clip, self.past_clip)
        term = jnp.zeros_like(own)
        for others in self._others(state, joint, seats, says, own_data):
            pair = over_streams(partial(alignment, without=self.without))(so_far, others)
            term = term + pair
        total = own + self.weight * term
        if self.discount_time:
            total = total * over_streams(partial(time_discount, discount=self.discount))(ended)
        return jax.lax.stop_gradient(Aligned(own, so_far, term, total))

    def critic_loss(
        self,
        critic: Critic,
        torso: Torso | None,
        state: AlignedState,
        joint: Trajectory,
        seats: tuple[int, ...],
    ) -> Float[Array, ""]:
        """Huber loss to targets of the slow critic: TD(lambda) for values, SARSA for action values.

        After-states are values that are learned twice: as they are seen, and before chance has its say.
        """
        own_seat = seats[0]
        if self.opponent_critic == "own-view" and self.learn_from == "all":
            seats = tuple(range(len(joint.obs)))
        data = views(joint, seats, own_seat, critic.actions > 0)
        next_obs = successors(joint, seats)
        torso = critic.torso if critic.torso is not None else torso
        assert torso is not None
        now = estimate(critic, torso, data, next_obs)
        slow_torso = state.target.torso if state.target.torso is not None else state.policy.torso
        slow = jax.lax.stop_gradient(estimate(state.target, slow_torso, data, next_obs))
        rewards = [data.reward]
        if critic.rewards == 2:
            rewards.append(others_reward(joint, seats))
        losses = []
        for i, reward in enumerate(rewards):
            if self.critic == "action-value":
                following = jnp.where(data.terminated, 0.0, slow.next_chosen[..., i])
                target = reward + self.discount * following
            elif self.critic == "after-state":
                target = self._returns(data._replace(reward=reward), slow, i)
                # What follows a step is worth the return from the next one on, where there is one.
                goes_on = jnp.where(data.ended[:-1], 0.0, data.weight[:-1])
                misses = optax.losses.huber_loss(now.next_value[:-1, :, i], target[1:])
                losses.append(weighted_mean(misses, goes_on))
            else:
                target = slow.value[..., i] + self._advantage(
                    data._replace(reward=reward), slow, i, self.critic_trace
                )
            losses.append(weighted_mean(optax.losses.huber_loss(now.chosen[..., i], target), data.weight))
        return jnp.stack(losses).mean()

    def learned(
        self,
        state: AlignedState,
        gradients: tuple[Policy, Critic],
        progress: Float[Array, ""],
    ) -> AlignedState:
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
        target = jax.tree.map(lambda old, new: old + self.target_rate * (new - old), state.target, critic)
        return AlignedState(policy, critic, target, policy_memory, critic_memory)

    def faded(self, final: float, progress: Float[Array, ""]) -> Float[Array, ""]:
        """A factor that is 1 until `decay_from` of the training and then falls linearly to `final`."""
        rest = max(1.0 - self.decay_from, 1e-6)
        return 1.0 + (final - 1.0) * jnp.clip((progress - self.decay_from) / rest, 0.0, 1.0)

    def _narrowed(self, policy: Policy, progress: Float[Array, ""]) -> Policy:
        """The policy with the spread of continuous actions held below its bound, which may fall."""
        if policy.head.log_std is None:
            return policy
        bound = jnp.log(self.spread * self.faded(self.final_spread, progress))
        return eqx.tree_at(lambda p: p.head.log_std, policy, jnp.minimum(policy.head.log_std, bound))

    def _says(
        self, state: AlignedState, joint: Trajectory, seats: tuple[int, ...], data: Streams
    ) -> Estimate:
        torso = state.critic.torso if state.critic.torso is not None else state.policy.torso
        return estimate(state.critic, torso, data, successors(joint, seats))

    def _advantage(
        self, data: Streams, says: Estimate, reward: int, trace: float
    ) -> Float[Array, "time stream"]:
        each = partial(gae, discount=self.discount, trace=trace)
        return jax.vmap(each, in_axes=1, out_axes=1)(
            data.reward, says.value[..., reward], says.next_value[..., reward], data.terminated, data.ended
        )

    def _returns(self, data: Streams, says: Estimate, reward: int) -> Float[Array, "time stream"]:
        """Lambda-returns that bootstrap from after-states only, so that chance is averaged at each step."""
        following = says.next_value[..., reward]
        before = jnp.concatenate([jnp.zeros_like(following[:1]), following[:-1]])
        each = partial(lambda_returns, discount=self.discount, trace=self.critic_trace)
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
        state: AlignedState,
        joint: Trajectory,
        seats: tuple[int, ...],
        says: Estimate,
        own_data: Streams,
    ) -> list[Float[Array, "time stream"]]:
        """The others' advantages beside the learner's streams: one array per other player (equation 66).

        A learned critic knows the others' reward only as a sum, so there is one array for all of them.
        """
        if self.opponent_critic == "learned":
            summed = own_data._replace(reward=others_reward(joint, seats))
            return [self._scaled(self._advantage(summed, says, 1, self.opponent_trace), own_data.weight)]
        by_seat = []
        count = len(joint.obs)
        for seat in range(count):
            if self.opponent_critic == "given":
                data = streams(joint, (seat,))
                seen = given(data)
            else:
                data = views(joint, (seat,), seats[0], state.critic.actions > 0)
                seen = self._says(state, joint, (seat,), data)
            advantage = self._scaled(self._advantage(data, seen, 0, self.opponent_trace), data.weight)
            by_seat.append(data.weight * advantage)  # who left has no advantage any more
        return [
            jnp.concatenate([by_seat[(seat + turn) % count] for seat in seats], axis=1)
            for turn in range(1, count)
        ]
