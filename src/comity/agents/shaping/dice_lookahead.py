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
from comity.agents.gradient.actor_critic import clipped_adam, linear, optimise
from comity.agents.policies import Policy, PolicyAgent
from comity.agents.shaping.views import successors, views
from comity.agents.streams import advantages, streams
from comity.core.errors import ComityError, require
from comity.core.types import Experience, Seat, Trajectory, lead
from comity.nets.distributions import Categorical
from comity.nets.torsos import Network, refuse_normaliser
from comity.returns.advantages import lambda_returns
from comity.returns.dice import loaded_dice_objective
from comity.returns.surrogates import weighted_mean

Policies = tuple[Policy, ...]
Acts = tuple[Categorical, ...]


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
        precision = self.network.precision  # products of rounded factors have no forward-mode derivatives
        require(self.reach == 0 or precision == "float32", "network.precision", precision, "float32 here")

    @property
    def penalties(self) -> tuple[float, float]:
        """What a change of my policy costs (KL), and of the others' in their imagined learning."""
        return 0.0, 0.0

    @property
    def reach(self) -> float:
        """The largest change (KL) of another's policy in one imagined step; 0 for no limit."""
        return 0.0

    @property
    def emphasis(self) -> float:
        """How much it counts that the others learn from what I do: 1 for as far as they are imagined to."""
        return 1.0

    @property
    def passes(self) -> int:
        """How many steps I take in one iteration, each after a new look ahead."""
        return 1

    def check(self, seat: Seat) -> None:
        super().check(seat)
        refuse_normaliser(self.critic_network)
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
        rates = (self.learning_rate, self.critic_learning_rate, self.model_learning_rate)
        nets = (policy, critic, model)
        memories = [self._optimiser(rate).init(net) for rate, net in zip(rates, nets, strict=True)]
        return LookaheadState(*nets, *memories)

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
        if self.emphasis != 1.0:
            learned = _emphasised(learned, self.emphasis)
        played = self._play(policy, learned, own, experience, outer_key)
        acts = self._acts((policy, *learned), own, played)
        gain = self.dice(critic, acts, own, own, played)
        entropy = weighted_mean(acts[0].entropy(), _present(played, own))
        kl = self._moved(old, acts[0], own, played)
        total = -gain - entropy_weight * entropy + self.penalties[0] * kl
        return total, {
            "loss": total,
            "entropy": entropy,
            "kl": kl,
            "lookahead_kl": self._moved(rivals[0], acts[1], (own + 1) % len(played.obs), played),
            "lookahead_reward": played.step.reward[own].mean(),
        }

    def look_ahead(
        self, critic: Critic, policy: Policy, rivals: Policies, own: int, experience: Experience, key: Key
    ) -> Policies:
        """The others after their imagined learning, as a function of my policy."""
        old = jax.lax.stop_gradient(rivals)
        for step in range(self.inner_steps):
            played = self._play(policy, rivals, own, experience, jax.random.fold_in(key, step))
            acts = self._acts((policy, *rivals), own, played)

            def value(rival: Policy, turn: int, acts: Acts, played: Trajectory) -> Float[Array, ""]:
                seat = (own + turn) % len(played.obs)
                act = self._unroll(rival, played, seat)
                worth = self.dice(critic, (*acts[:turn], act, *acts[turn + 1 :]), own, seat, played)
                if self.penalties[1] > 0:
                    worth = worth - self.penalties[1] * self._moved(old[turn - 1], act, seat, played)
                return worth

            ways = [jax.grad(value)(rival, turn, acts, played) for turn, rival in enumerate(rivals, 1)]
            rivals = tuple(
                _moved_along(rival, way, self._stride(rival, way, (own + turn) % len(played.obs), played))
                for turn, (rival, way) in enumerate(zip(rivals, ways, strict=True), 1)
            )
        return rivals

    def dice(self, critic: Critic, acts: Acts, own: int, seat: int, played: Trajectory) -> Float[Array, ""]:
        """A seat's value per step by loaded DiCE, as a function of how all act, I first."""
        count = len(played.obs)
        chosen = [act.log_prob(played.action[(own + turn) % count]) for turn, act in enumerate(acts)]
        data = views(played, (seat,), own, False)
        says = estimate(critic, critic.torso, data, successors(played, (seat,)))  # type: ignore[arg-type]
        value, following = says.value[..., 0], says.next_value[..., 0]
        advantage = advantages(data, value, following, self.discount, self.trace)
        objective = partial(loaded_dice_objective, discount=self.discount, trace=self.dice_trace)
        worth = jax.vmap(objective, in_axes=1)(
            sum(chosen[1:], chosen[0]), jax.lax.stop_gradient(advantage), data.ended
        )
        return worth.mean() / data.reward.shape[0]

    def _stride(self, rival: Policy, way: Policy, seat: int, played: Trajectory) -> float | Float[Array, ""]:
        """How far the other goes along its gradient: as far as it learns, or until it acts too differently.

        To second order, a step of length x changes what is done by x^2 / 2 times the variance of the slope
        of the logits along it.
        """
        if self.reach == 0:
            return self.inner_learning_rate
        rival, way = jax.lax.stop_gradient((rival, way))
        act, slope = jax.jvp(lambda policy: self._unroll(policy, played, seat, True).logits, (rival,), (way,))
        chance = jax.nn.softmax(act)
        mean = (chance * slope).sum(axis=-1, keepdims=True)
        spread = weighted_mean((chance * jnp.square(slope - mean)).sum(axis=-1), _present(played, seat))
        return jnp.minimum(self.inner_learning_rate, jnp.sqrt(2.0 * self.reach / (spread + 1e-12)))

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

    def _unroll(self, policy: Policy, played: Trajectory, seat: int, forward: bool = False) -> Categorical:
        """How a policy acts along what was played in a seat, its memory empty at the start."""
        data = streams(played, (seat,))
        act = policy.unroll(policy.torso.starts(data.reward.shape[1]), data.obs, data.resets, forward)
        assert isinstance(act, Categorical)
        return act

    def _acts(self, policies: Policies, own: int, played: Trajectory) -> Acts:
        count = len(policies)
        return tuple(self._unroll(p, played, (own + turn) % count) for turn, p in enumerate(policies))

    def _moved(self, old: Policy, new: Categorical, seat: int, played: Trajectory) -> Float[Array, ""]:
        """The KL divergence between how a seat acted and how it acts now."""
        before = jax.lax.stop_gradient(self._unroll(old, played, seat))
        return weighted_mean(before.kl(new), _present(played, seat))

    def _optimiser(self, rate: float) -> optax.GradientTransformation:
        return clipped_adam(rate, self.max_gradient, 1e-6)

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
                    self._unroll(model, joint, seat).log_prob(joint.action[seat]), _present(joint, seat)
                )
                for seat in others
            ]
            return jnp.stack(each).mean()

        worth, slope = jax.value_and_grad(loss)(state.model)
        optimiser = self._optimiser(self.model_learning_rate)
        model, memory = optimise(optimiser, slope, state.model_memory, state.model, jnp.float32(1.0))
        return model, memory, {"model_loss": worth}


def _moved_along(policy: Policy, way: Policy, stride: float | Float[Array, ""]) -> Policy:
    """A policy after a step."""
    return jax.tree.map(lambda x, slope: x + stride * slope, policy, way)


def _emphasised(policies: Policies, weight: float) -> Policies:
    """The same policies, whose derivatives count more or less."""

    def weigh(x: Array) -> Array:
        fixed = jax.lax.stop_gradient(x)
        return fixed + weight * (x - fixed)

    return jax.tree.map(weigh, policies)


def _present(played: Trajectory, seat: int) -> Float[Array, "time batch"]:
    return played.alive[seat].astype(jnp.float32)


def _sizes(policy: Policy, skip: int) -> list[tuple[int, ...]]:
    """The shapes of all parameters, without the first `skip` axes."""
    return [leaf.shape[skip:] for leaf in jax.tree.leaves(policy)]
