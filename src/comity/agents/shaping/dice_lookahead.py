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

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.acting import Acting, ActingAgent
from comity.agents.shaping import imagined
from comity.agents.shaping.imagined import Acts, Lookahead, Policies
from comity.agents.shaping.opponent_values import read_seats
from comity.core.agent import Context, Metrics, add_group_axis
from comity.core.batch import TeamBatch, Trajectory
from comity.core.errors import ComityError, require
from comity.core.game import GameSpec
from comity.learn.critic_net import CriticNet
from comity.learn.critic_values import critic_values
from comity.learn.critics import Critic, num_actions
from comity.learn.optimisers import Adam, apply_gradients
from comity.learn.policies import Policy
from comity.learn.schedules import Decay
from comity.nets.gru import GRU
from comity.nets.layered import refuse_normaliser, refuse_rounding
from comity.nets.network import Network
from comity.returns.dice import loaded_dice_objective
from comity.returns.surrogates import weighted_mean

CRITIC = Critic(learning_rate=1e-2, value_coef=1.0, loss="huber", persistent=False)
STILL = jnp.float32(1.0)


class LookaheadState(NamedTuple):
    """Policy, critic, the model of the others if they are modelled, and the optimisers' memories."""

    policy: Policy
    critic: CriticNet
    model: PyTree
    policy_memory: optax.OptState
    critic_memory: optax.OptState
    model_memory: PyTree


class DiceLookahead(ActingAgent):
    """Gradient ascent on what is earned after the others' imagined learning, through it."""

    network: Network = GRU()  # the shape of the policy
    critic: Critic = CRITIC  # what advantages are measured from, on everybody's view
    optimiser: Adam = Adam(learning_rate=3e-3, epsilon=1e-6)  # how the parameters follow gradients
    schedule: Decay = Decay()  # what is left of rates and bonuses at the end
    lookahead: Lookahead = Lookahead()  # the others' imagined learning
    opponents: Literal["given", "modelled"] = "given"
    """where the others' policies come from: their own parameters, or a model learned from what they do"""
    model_learning_rate: float = 1e-2  # step size of the model of the others
    discount: float = 0.96  # what the next step's reward counts
    gae_lambda: float = 0.95  # lambda of advantages
    entropy_coef: float = 0.0  # weight of the entropy bonus

    needs: ClassVar[frozenset[str]] = frozenset({"others", "simulate"})

    def __check_init__(self) -> None:
        for name in ("discount", "gae_lambda"):
            require(0.0 <= getattr(self, name) <= 1.0, name, getattr(self, name), "between 0 and 1")
        require(self.model_learning_rate > 0, "model_learning_rate", self.model_learning_rate, "above 0")
        require(self.critic.kind == "value", "critic.kind", self.critic.kind, "value")
        require(self.critic.learning_rate > 0, "critic.learning_rate", self.critic.learning_rate, "above 0")
        require(not self.critic.shared, "critic.shared", self.critic.shared, "false here")
        if self.lookahead.max_kl > 0:
            refuse_rounding(self.network)  # products of rounded factors have no forward-mode derivatives

    def check(self, spec: GameSpec, seats: tuple[int, ...]) -> None:
        refuse_normaliser(self.network, self.critic.network or self.network)
        for seat in spec.team(seats):
            self.network.check(seat.observation)
            if num_actions(seat.action) == 0:
                raise ComityError(
                    "Look-ahead by DiCE is made for discrete actions, which this game does not have: use "
                    "adalign."
                )
        self.critic.check(spec, seats, self.network)

    def init(self, key: Key, spec: GameSpec, seats: tuple[int, ...]) -> LookaheadState:
        policy_key, critic_key, model_key = jax.random.split(key, 3)
        seat = spec.seats[seats[0]]
        policy = Policy(self.network, seat, policy_key)
        critic = self.critic.build(spec, seats, critic_key, self.network, policy.torso.features)
        model: PyTree = Policy(self.network, seat, model_key) if self.opponents == "modelled" else ()
        rates = (self.optimiser.learning_rate, self.critic.learning_rate, self.model_learning_rate)
        nets = (policy, critic, model)
        memories = [self.optimiser.build(rate).init(net) for rate, net in zip(rates, nets, strict=True)]
        return LookaheadState(*nets, *memories)

    def update(
        self, state: LookaheadState, batch: TeamBatch, context: Context, key: Key
    ) -> tuple[LookaheadState, Metrics]:
        own = batch.seats[0]
        rivals = self._rivals(state, batch, context, own)
        progress, schedule = context.progress, self.schedule
        entropy_weight = self.entropy_coef * schedule.at(schedule.final_entropy, progress)
        rate = schedule.at(schedule.final_learning_rate, progress)
        optimiser = self.optimiser.build()

        def step(
            carry: tuple[Policy, optax.OptState], step_key: Key
        ) -> tuple[tuple[Policy, optax.OptState], Metrics]:
            policy, memory = carry
            loss = partial(
                self.loss, state.critic, rivals, own, context, step_key, entropy_weight, state.policy
            )
            gradient, metrics = jax.grad(loss, has_aux=True)(policy)
            carry = apply_gradients(optimiser, gradient, memory, policy, rate)
            return carry, {**metrics, "gradient_norm": optax.tree.norm(gradient)}

        first = (state.policy, state.policy_memory)
        keys = jax.random.split(key, self.lookahead.outer_steps)
        (policy, memory), metrics = jax.lax.scan(step, first, keys)
        critic, critic_memory, value_loss = self._learn_values(state, batch.joint, own)
        model, model_memory, model_metrics = self._learn_model(state, batch.joint, own)
        state = LookaheadState(policy, critic, model, memory, critic_memory, model_memory)
        return state, {**jax.tree.map(jnp.mean, metrics), "value_loss": value_loss, **model_metrics}

    def loss(
        self,
        critic: CriticNet,
        rivals: Policies,
        own: int,
        context: Context,
        key: Key,
        entropy_weight: float | Float[Array, ""],
        old: Policy,
        policy: Policy,
    ) -> tuple[Float[Array, ""], Metrics]:
        """What is earned after the others' imagined learning, to be minimised with its sign turned."""
        inner_key, outer_key = jax.random.split(key)
        learned = self.look_ahead(critic, policy, rivals, own, context, inner_key)
        if self.lookahead.shaping_weight != 1.0:
            learned = imagined.weighted(learned, self.lookahead.shaping_weight)
        played = self._play(policy, learned, own, context, outer_key)
        acts = imagined.acts((policy, *learned), own, played)
        gain = self.dice(critic, acts, own, own, played)
        entropy = weighted_mean(acts[0].entropy(), imagined.present(played, own))
        kl = imagined.moved(old, acts[0], own, played)
        total = -gain - entropy_weight * entropy + self.lookahead.penalty * kl
        return total, {
            "loss": total,
            "entropy": entropy,
            "kl": kl,
            "lookahead_kl": imagined.moved(rivals[0], acts[1], (own + 1) % len(played.obs), played),
            "lookahead_reward": played.step.reward[own].mean(),
        }

    def look_ahead(
        self, critic: CriticNet, policy: Policy, rivals: Policies, own: int, context: Context, key: Key
    ) -> Policies:
        """The others after their imagined learning, as a function of my policy."""
        old, settings = jax.lax.stop_gradient(rivals), self.lookahead
        for step in range(settings.inner_steps):
            played = self._play(policy, rivals, own, context, jax.random.fold_in(key, step))
            acts = imagined.acts((policy, *rivals), own, played)

            def value(rival: Policy, turn: int, acts: Acts, played: Trajectory) -> Float[Array, ""]:
                seat = (own + turn) % len(played.obs)
                act = imagined.unroll(rival, played, seat)
                found = self.dice(critic, (*acts[:turn], act, *acts[turn + 1 :]), own, seat, played)
                if settings.inner_penalty > 0:
                    found = found - settings.inner_penalty * imagined.moved(old[turn - 1], act, seat, played)
                return found

            gradients = [jax.grad(value)(rival, turn, acts, played) for turn, rival in enumerate(rivals, 1)]
            rivals = tuple(
                imagined.ascend(
                    rival,
                    gradient,
                    settings.step_size(rival, gradient, (own + turn) % len(played.obs), played),
                )
                for turn, (rival, gradient) in enumerate(zip(rivals, gradients, strict=True), 1)
            )
        return rivals

    def dice(
        self, critic: CriticNet, acts: Acts, own: int, seat: int, played: Trajectory
    ) -> Float[Array, ""]:
        """A seat's value per step by loaded DiCE, as a function of how all act, I first."""
        count = len(played.obs)
        chosen = [act.log_prob(played.action[(own + turn) % count]) for turn, act in enumerate(acts)]
        read = read_seats(played, (seat,), own, False)
        assert critic.torso is not None
        values = critic_values(critic, critic.torso, read)
        advantage = self.critic.advantages(values, read, 0, self.discount, self.gae_lambda)[:, 0]
        objective = partial(
            loaded_dice_objective, discount=self.discount, dice_lambda=self.lookahead.dice_lambda
        )
        found = jax.vmap(objective, in_axes=1)(
            sum(chosen[1:], chosen[0]), jax.lax.stop_gradient(advantage), read.ended[:, 0]
        )
        return found.mean() / advantage.shape[0]

    def _play(self, policy: Policy, rivals: Policies, own: int, context: Context, key: Key) -> Trajectory:
        """New games with these policies, of which nothing is differentiated."""
        assert context.simulate is not None
        count = len(rivals) + 1
        by_turn = jax.lax.stop_gradient((policy, *rivals))
        seated = tuple(add_group_axis(Acting(by_turn[(seat - own) % count], None)) for seat in range(count))
        played: Trajectory = jax.lax.stop_gradient(context.simulate(seated, key, (self,) * count))
        return played

    def _rivals(self, state: LookaheadState, batch: TeamBatch, context: Context, own: int) -> Policies:
        """The others' policies, in the order of the seats after mine."""
        count = len(batch.joint.obs)
        if self.opponents == "modelled":
            return (state.model,) * (count - 1)
        assert context.others is not None
        found = []
        for turn in range(1, count):
            other = context.others[(own + turn) % count]
            fits = isinstance(other, Acting) and _sizes(other.policy, 1) == _sizes(state.policy, 0)
            if not fits:
                raise ComityError(
                    "opponents given needs others of the same kind and shape, whose parameters can be read: "
                    "use opponents modelled."
                )
            groups = {leaf.shape[0] for leaf in jax.tree.leaves(other.policy)}
            if groups != {1}:
                raise ComityError("Look-ahead needs opponents as they are now: train with self-play.")
            found.append(jax.tree.map(lambda x: x[0], other.policy))
        return tuple(found)

    def _learn_values(
        self, state: LookaheadState, joint: Trajectory, own: int
    ) -> tuple[CriticNet, optax.OptState, Float[Array, ""]]:
        """One step of TD(lambda) on everybody's view."""
        read = read_seats(joint, tuple(range(len(joint.obs))), own, False)

        def loss(critic: CriticNet) -> Float[Array, ""]:
            assert critic.torso is not None
            now = critic_values(critic, critic.torso, read)
            fixed = jax.lax.stop_gradient(now)
            return self.critic.error(
                critic, now, self.critic.targets(fixed, fixed, read, self.discount), read
            )

        found, gradient = jax.value_and_grad(loss)(state.critic)
        optimiser = self.optimiser.build(self.critic.learning_rate)
        critic, memory = apply_gradients(optimiser, gradient, state.critic_memory, state.critic, STILL)
        return critic, memory, found

    def _learn_model(
        self, state: LookaheadState, joint: Trajectory, own: int
    ) -> tuple[PyTree, PyTree, Metrics]:
        """One step of maximum likelihood on what the others did."""
        if self.opponents == "given":
            return state.model, state.model_memory, {}
        others = [seat for seat in range(len(joint.obs)) if seat != own]

        def loss(model: Policy) -> Float[Array, ""]:
            each = [
                -weighted_mean(
                    imagined.unroll(model, joint, seat).log_prob(joint.action[seat]),
                    imagined.present(joint, seat),
                )
                for seat in others
            ]
            return jnp.stack(each).mean()

        found, gradient = jax.value_and_grad(loss)(state.model)
        optimiser = self.optimiser.build(self.model_learning_rate)
        model, memory = apply_gradients(optimiser, gradient, state.model_memory, state.model, STILL)
        return model, memory, {"model_loss": found}


def _sizes(policy: Policy, axes: int) -> list[tuple[int, ...]]:
    return [leaf.shape[axes:] for leaf in jax.tree.leaves(policy)]
