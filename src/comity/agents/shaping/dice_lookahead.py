r"""Look-ahead through the others' learning, from what is played: what LOLA-DiCE and POLA share.

An agent imagines that the others take a few steps of learning against its present policy, plays against what
they would become, and follows the gradient of what it earns there, through their learning:

.. math:: \max_{\theta^1} V^1\big(\theta^1, \theta^2 + \Delta\theta^2(\theta^1)\big)
          - \beta\,\mathrm{KL}(\pi^1_{old}\|\pi^1), \qquad
          \Delta\theta^2 = \eta\nabla_{\theta^2}\big(V^2(\theta^1, \theta^2)
          - \beta_{in}\mathrm{KL}(\pi^2_{old}\|\pi^2)\big)

Every value is a loaded-DiCE objective on games played for the purpose (`returns/dice.py`), whose derivatives
of any order are estimates of those of the value.
"""

from functools import partial
from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.critics import Critic, choices, estimate
from comity.agents.gradient.actor_critic import linear, optimise
from comity.agents.policies import Policy, PolicyAgent
from comity.agents.shaping.views import successors, views
from comity.agents.streams import Streams, streams
from comity.core.errors import ComityError, require
from comity.core.types import Experience, Seat, Trajectory, lead
from comity.nets.torsos import Network
from comity.returns.advantages import gae, lambda_returns
from comity.returns.dice import loaded_dice_objective
from comity.returns.surrogates import weighted_mean

Policies = tuple[Policy, ...]


class LookaheadState(NamedTuple):
    """Policy, critic, the model of the others if they are modelled, and the optimisers' memories."""

    policy: Policy
    critic: Critic
    model: PyTree
    policy_memory: optax.OptState
    critic_memory: optax.OptState
    model_memory: PyTree


class DiceLookahead(PolicyAgent):
    """Gradient ascent on what is earned after the others' imagined learning, through it."""

    critic_network: eqx.AbstractVar[Network]
    opponents: eqx.AbstractVar[Literal["given", "modelled"]]
    inner_steps: eqx.AbstractVar[int]
    inner_learning_rate: eqx.AbstractVar[float]
    discount: eqx.AbstractVar[float]
    trace: eqx.AbstractVar[float]
    dice_trace: eqx.AbstractVar[float]
    entropy: eqx.AbstractVar[float]
    final_entropy: eqx.AbstractVar[float]
    learning_rate: eqx.AbstractVar[float]
    final_learning_rate: eqx.AbstractVar[float]
    critic_learning_rate: eqx.AbstractVar[float]
    model_learning_rate: eqx.AbstractVar[float]
    max_gradient: eqx.AbstractVar[float]

    needs: ClassVar[frozenset[str]] = frozenset({"others", "simulate"})

    def __check_init__(self) -> None:
        require(self.inner_steps >= 1, "inner_steps", self.inner_steps, "at least 1")
        for name in ("discount", "trace", "dice_trace", "final_entropy", "final_learning_rate"):
            value = getattr(self, name)
            require(0.0 <= value <= 1.0, name, value, "between 0 and 1")
        rates = ("inner_learning_rate", "learning_rate", "critic_learning_rate", "model_learning_rate")
        for name in (*rates, "max_gradient"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")

    @property
    def penalties(self) -> tuple[float, float]:
        """What a change of my policy costs (KL), and of the others' in their imagined learning."""
        return 0.0, 0.0

    @property
    def passes(self) -> int:
        """How many steps I take in one iteration, each after a new look ahead."""
        return 1

    def check(self, seat: Seat) -> None:
        super().check(seat)
        self.critic_network.check(seat.observation)
        if choices(seat.action) == 0:
            raise ComityError(
                "Look-ahead by DiCE is made for discrete actions, which this game does not have."
            )

    def init(self, key: Key, seat: Seat) -> LookaheadState:
        policy_key, critic_key, model_key = jax.random.split(key, 3)
        policy = Policy(self.network, seat, policy_key)
        critic = Critic(self.critic_network, None, seat, 1, "value", critic_key)
        model: PyTree = ()
        if self.opponents == "modelled":
            model = Policy(self.network, seat, model_key)
        memories = [self._optimiser(rate).init(x) for rate, x in self._learned(policy, critic, model)]
        return LookaheadState(policy, critic, model, *memories)

    def params(self, state: LookaheadState) -> Policy:
        return state.policy

    def update(
        self, state: LookaheadState, experience: Experience, key: Key
    ) -> tuple[LookaheadState, dict[str, Array]]:
        own = experience.seats[0]
        rivals = self._rivals(state, experience, own)
        entropy_weight = self.entropy * linear(self.final_entropy, experience.progress)
        rate = linear(self.final_learning_rate, experience.progress)
        optimiser = self._optimiser(self.learning_rate)

        def step(carry, step_key):  # type: ignore[no-untyped-def]
            policy, memory = carry
            loss = partial(
                self.loss, state.critic, rivals, own, experience, step_key, entropy_weight, state.policy
            )
            slope, metrics = jax.grad(loss, has_aux=True)(policy)
            carry = optimise(optimiser, slope, memory, policy, rate)
            return carry, {**metrics, "gradient_norm": optax.tree.norm(slope)}

        first = (state.policy, state.policy_memory)
        (policy, memory), metrics = jax.lax.scan(step, first, jax.random.split(key, self.passes))
        critic, critic_memory, critic_loss = self._learn_values(state, experience.joint, own)
        model, model_memory, model_metrics = self._learn_model(state, experience.joint, own)
        state = LookaheadState(policy, critic, model, memory, critic_memory, model_memory)
        return state, {**jax.tree.map(jnp.mean, metrics), "critic_loss": critic_loss, **model_metrics}

    def loss(
        self,
        critic: Critic,
        rivals: Policies,
        own: int,
        experience: Experience,
        key: Key,
        entropy_weight: float | Float[Array, ""],
        old: Policy,
        policy: Policy,
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """What is earned after the others' imagined learning, to be minimised with its sign turned."""
        inner_key, outer_key = jax.random.split(key)
        learned = self.look_ahead(critic, policy, rivals, own, experience, inner_key)
        played = self._play(policy, learned, own, experience, outer_key)
        data = self._view(played, own, own)
        gain = self.dice(critic, (policy, *learned), own, own, played)
        distribution = self._unroll(policy, played, own)
        entropy = weighted_mean(distribution.entropy(), data.weight)
        before = jax.lax.stop_gradient(self._unroll(old, played, own))
        kl = weighted_mean(before.kl(distribution), data.weight)
        total = -gain - entropy_weight * entropy + self.penalties[0] * kl
        next_seat = (own + 1) % len(played.obs)
        moved = self._unroll(rivals[0], played, next_seat).kl(self._unroll(learned[0], played, next_seat))
        return total, {
            "loss": total,
            "entropy": entropy,
            "kl": kl,
            "lookahead_kl": moved.mean(),
            "lookahead_reward": played.step.reward[own].mean(),
        }

    def look_ahead(
        self, critic: Critic, policy: Policy, rivals: Policies, own: int, experience: Experience, key: Key
    ) -> Policies:
        """The others after their imagined learning, as a function of my policy."""
        old = jax.lax.stop_gradient(rivals)
        for step in range(self.inner_steps):
            played = self._play(policy, rivals, own, experience, jax.random.fold_in(key, step))

            def value(rival: Policy, place: int, rivals: Policies, played: Trajectory) -> Float[Array, ""]:
                seat = (own + 1 + place) % len(played.obs)
                others = (*rivals[:place], rival, *rivals[place + 1 :])
                worth = self.dice(critic, (policy, *others), own, seat, played)
                if self.penalties[1] > 0:
                    before = jax.lax.stop_gradient(self._unroll(old[place], played, seat))
                    weight = self._view(played, seat, own).weight
                    moved = weighted_mean(before.kl(self._unroll(rival, played, seat)), weight)
                    worth = worth - self.penalties[1] * moved
                return worth

            ways = [jax.grad(value)(rival, place, rivals, played) for place, rival in enumerate(rivals)]
            rivals = tuple(
                jax.tree.map(lambda x, way: x + self.inner_learning_rate * way, rival, way)
                for rival, way in zip(rivals, ways, strict=True)
            )
        return rivals

    def dice(
        self, critic: Critic, policies: Policies, own: int, seat: int, played: Trajectory
    ) -> Float[Array, ""]:
        """A seat's value per step by loaded DiCE, as a function of all policies, mine first."""
        count = len(played.obs)
        total = sum(
            self._unroll(policy, played, (own + turn) % count).log_prob(played.action[(own + turn) % count])
            for turn, policy in enumerate(policies)
        )
        data = self._view(played, seat, own)
        says = estimate(critic, critic.torso, data, successors(played, (seat,)))  # type: ignore[arg-type]
        each = partial(gae, discount=self.discount, trace=self.trace)
        advantage = jax.vmap(each, in_axes=1, out_axes=1)(
            data.reward, says.value[..., 0], says.next_value[..., 0], data.terminated, data.ended
        )
        objective = partial(loaded_dice_objective, discount=self.discount, trace=self.dice_trace)
        worth = jax.vmap(objective, in_axes=1)(total, jax.lax.stop_gradient(advantage), data.ended)
        return worth.mean() / data.reward.shape[0]

    def _play(
        self, policy: Policy, rivals: Policies, own: int, experience: Experience, key: Key
    ) -> Trajectory:
        """New games with these policies, of which nothing is differentiated."""
        assert experience.simulate is not None
        count = len(rivals) + 1
        by_turn = jax.lax.stop_gradient((policy, *rivals))
        seated = tuple(lead(by_turn[(seat - own) % count]) for seat in range(count))
        played: Trajectory = jax.lax.stop_gradient(experience.simulate(seated, key, (self,) * count))
        return played

    def _rivals(self, state: LookaheadState, experience: Experience, own: int) -> Policies:
        """The others' policies, in the order of the seats after mine."""
        count = len(experience.joint.obs)
        if self.opponents == "modelled":
            return (state.model,) * (count - 1)
        assert experience.others is not None
        found = []
        for turn in range(1, count):
            other = experience.others[(own + turn) % count]
            if not isinstance(other, Policy) or _sizes(other, 1) != _sizes(state.policy, 0):
                raise ComityError(
                    "opponents given needs others of the same kind and shape, whose parameters can be read: "
                    "use opponents modelled."
                )
            groups = {leaf.shape[0] for leaf in jax.tree.leaves(other)}
            if groups != {1}:
                raise ComityError("Look-ahead needs opponents as they are now: train with self-play.")
            found.append(jax.tree.map(lambda x: x[0], other))
        return tuple(found)

    def _view(self, played: Trajectory, seat: int, own: int) -> Streams:
        return views(played, (seat,), own, False)

    def _unroll(self, policy: Policy, played: Trajectory, seat: int):  # type: ignore[no-untyped-def]
        data = streams(played, (seat,))
        count = data.reward.shape[1]
        start = jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), policy.torso.start())
        return policy.unroll(start, data.obs, data.resets)

    def _learned(self, policy: PyTree, critic: PyTree, model: PyTree) -> list[tuple[float, PyTree]]:
        rates = (self.learning_rate, self.critic_learning_rate, self.model_learning_rate)
        return list(zip(rates, (policy, critic, model), strict=True))

    def _optimiser(self, rate: float) -> optax.GradientTransformation:
        return optax.chain(optax.clip_by_global_norm(self.max_gradient), optax.adam(rate, eps=1e-6))

    def _learn_values(
        self, state: LookaheadState, joint: Trajectory, own: int
    ) -> tuple[Critic, optax.OptState, Float[Array, ""]]:
        """One step of TD(lambda) on everybody's view."""
        seats = tuple(range(len(joint.obs)))
        data = views(joint, seats, own, False)
        next_obs = successors(joint, seats)

        def loss(critic: Critic) -> Float[Array, ""]:
            assert critic.torso is not None
            says = estimate(critic, critic.torso, data, next_obs)
            value, following = says.value[..., 0], says.next_value[..., 0]
            each = partial(lambda_returns, discount=self.discount, trace=self.trace)
            target = jax.vmap(each, in_axes=1, out_axes=1)(
                data.reward, value, following, data.terminated, data.ended
            )
            misses = optax.losses.huber_loss(value, jax.lax.stop_gradient(target))
            return weighted_mean(misses, data.weight)

        worth, slope = jax.value_and_grad(loss)(state.critic)
        optimiser = self._optimiser(self.critic_learning_rate)
        critic, memory = optimise(optimiser, slope, state.critic_memory, state.critic, jnp.float32(1.0))
        return critic, memory, worth

    def _learn_model(
        self, state: LookaheadState, joint: Trajectory, own: int
    ) -> tuple[PyTree, PyTree, dict[str, Array]]:
        """One step of maximum likelihood on what the others did."""
        if self.opponents == "given":
            return state.model, state.model_memory, {}
        others = [seat for seat in range(len(joint.obs)) if seat != own]

        def loss(model: Policy) -> Float[Array, ""]:
            each = [
                -weighted_mean(
                    self._unroll(model, joint._replace(carry=((),) * len(joint.carry)), seat).log_prob(
                        joint.action[seat]
                    ),
                    joint.alive[seat].astype(jnp.float32),
                )
                for seat in others
            ]
            return jnp.stack(each).mean()

        worth, slope = jax.value_and_grad(loss)(state.model)
        optimiser = self._optimiser(self.model_learning_rate)
        model, memory = optimise(optimiser, slope, state.model_memory, state.model, jnp.float32(1.0))
        return model, memory, {"model_loss": worth}


def _sizes(policy: Policy, skip: int) -> list[tuple[int, ...]]:
    """The shapes of all parameters, without the first `skip` axes."""
    return [leaf.shape[skip:] for leaf in jax.tree.leaves(policy)]
