"""What PPO and its centralised form share: the clipped objective, and minibatches of whole sequences."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.gradient.actor_critic import ActorCritic, ActorCriticAgent, Extras, LearnerState, linear
from comity.agents.streams import Streams, minibatches, of_seats, pick, streams
from comity.core.errors import require
from comity.core.types import Experience
from comity.nets.distributions import Distribution
from comity.returns.surrogates import (
    approximate_kl,
    clipped_surrogate,
    clipped_value_loss,
    normalise,
    weighted_mean,
)

STOP_AT = 1.5  # an update ends when the policy has moved this many times the KL divergence aimed at
PACES = (0.01, 10.0)  # the smallest and the largest factor of an adaptive step size


class Proximal(ActorCriticAgent):
    """A learner that takes several passes over each rollout, with the change of the policy kept small."""

    clip: eqx.AbstractVar[float]
    value_clip: eqx.AbstractVar[float]
    epochs: eqx.AbstractVar[int]
    minibatches: eqx.AbstractVar[int]
    value_weight: eqx.AbstractVar[float]
    value_rate: eqx.AbstractVar[float]
    popart: eqx.AbstractVar[bool]
    normalise_advantages: eqx.AbstractVar[Literal["batch", "minibatch", "none"]]
    target_kl: eqx.AbstractVar[float]
    kl_rule: eqx.AbstractVar[Literal["stop", "adapt"]]

    def __check_init__(self) -> None:
        require(self.clip > 0, "clip", self.clip, "above 0")
        require(self.epochs >= 1, "epochs", self.epochs, "at least 1")
        require(self.minibatches >= 1, "minibatches", self.minibatches, "at least 1")
        require(0.0 <= self.value_rate <= 1.0, "value_rate", self.value_rate, "between 0 and 1")
        require(self.target_kl >= 0, "target_kl", self.target_kl, "at least 0")
        tabular = self.popart and self.value_network.kind == "tabular"
        require(not tabular, "popart", self.popart, "false for a tabular critic")
        require(not (self.popart and self.value_rate == 0), "popart", self.popart, "false with value_rate 0")

    def update(
        self, state: LearnerState, experience: Experience, key: Key
    ) -> tuple[LearnerState, dict[str, Array]]:
        data = streams(experience.joint, experience.seats)
        values = self.values(state, experience, data)
        advantage, target = self.advantages(data, values)
        if self.normalise_advantages == "batch":
            advantage = normalise(advantage, data.weight)
        state = self._rescaled(state, target, data.weight)
        before = state.net.scale.to_critic(values.value)
        data = data._replace(extras=Extras(data.extras.raw, data.extras.log_prob, before))
        goal = state.net.scale.to_critic(target)
        entropy_weight = self.entropy * linear(self.final_entropy, experience.progress)

        def loss(net: ActorCritic, part: PyTree, seen: PyTree) -> tuple[Array, dict[str, Array]]:
            data, advantage, target = part
            policy, value = net.unroll(data.carry, data.obs, data.resets, seen, data.age)
            if self.normalise_advantages == "minibatch":
                advantage = normalise(advantage, data.weight)
            return self.objective(policy, value, data, advantage, target, entropy_weight)

        count = data.reward.shape[1]
        games = count if values.seen is None else jax.tree.leaves(values.seen)[0].shape[1]

        def learn(state: LearnerState, chosen: Array) -> tuple[LearnerState, dict[str, Array]]:
            part: PyTree = (data, advantage, goal)
            seen = values.seen
            if self.minibatches > 1:  # else the order does not matter, and copying would cost
                seen = jax.tree.map(lambda x: jnp.take(x, chosen, axis=1), seen)
                part = pick(of_seats(chosen, count, games), *part)
            gradient, metrics = jax.grad(loss, has_aux=True)(state.net, part, seen)
            state, norm = self.descend(state, gradient, experience.progress)
            return state, {**metrics, "gradient_norm": norm}

        parts = minibatches(key, games, self.epochs, self.minibatches)
        if self.target_kl > 0 and self.kl_rule == "stop":
            state, metrics = self._until_moved(learn, state, parts)
        else:
            state, each = jax.lax.scan(learn, state, parts)
            metrics = jax.tree.map(jnp.mean, each)
            if self.target_kl > 0:
                state = state._replace(pace=self._paced(state.pace, each["kl"][-1]))
                metrics["pace"] = state.pace
        return state._replace(net=state.net.seen(data.obs, values.seen, data.weight)), metrics

    def objective(
        self,
        policy: Distribution,
        value: Float[Array, "time stream"],
        data: Streams,
        advantage: Float[Array, "time stream"],
        target: Float[Array, "time stream"],
        entropy_weight: Float[Array, ""],
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The clipped surrogate, the entropy bonus and the value loss as one loss, and its parts."""
        log_ratio = policy.log_prob(data.extras.raw) - data.extras.log_prob
        gain = weighted_mean(clipped_surrogate(jnp.exp(log_ratio), advantage, self.clip), data.weight)
        entropy = weighted_mean(policy.entropy(), data.weight)
        if self.value_clip > 0:
            squares = clipped_value_loss(value, data.extras.value, target, self.value_clip)
        else:
            squares = 0.5 * jnp.square(value - target)
        value_loss = weighted_mean(squares, data.weight)
        total = -gain - entropy_weight * entropy + self.value_weight * value_loss
        kl = weighted_mean(approximate_kl(log_ratio), data.weight)
        return total, {"loss": total, "entropy": entropy, "value_loss": value_loss, "kl": kl}

    def _rescaled(self, state: LearnerState, target: Array, weight: Array) -> LearnerState:
        """The state with the scale of values brought up to date, and the head with it if asked for."""
        if self.value_rate == 0:
            return state
        net = state.net
        scale = net.scale.after(target, weight, self.value_rate)
        if self.popart and net.value_head is not None:
            head = scale.rescaled(net.value_head, net.scale)
            net = eqx.tree_at(lambda net: net.value_head, net, head)
        return state._replace(net=eqx.tree_at(lambda net: net.scale, net, scale))

    def _until_moved(
        self,
        learn: Callable[[LearnerState, Array], tuple[LearnerState, dict[str, Array]]],
        state: LearnerState,
        parts: Int[Array, "steps streams"],
    ) -> tuple[LearnerState, dict[str, Array]]:
        """Steps until the policy has moved too far from where it was: then the whole update is over."""
        shapes = jax.eval_shape(learn, state, parts[0])[1]
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

        def step(carry: tuple[LearnerState, Bool[Array, ""]], chosen: Array) -> tuple[PyTree, PyTree]:
            state, running = carry
            after, metrics = jax.lax.cond(running, learn, lambda state, _: (state, nothing), state, chosen)
            # The divergence is that before the step, so a step from too far away is not taken.
            near = running & (metrics["kl"] <= STOP_AT * self.target_kl)
            state = jax.tree.map(lambda new, old: jnp.where(near, new, old), after, state)
            return (state, near), (metrics, running, near)

        (state, _), (each, measured, taken) = jax.lax.scan(step, (state, jnp.bool_(True)), parts)
        count = measured.astype(jnp.float32)
        metrics = jax.tree.map(lambda x: (x * count).sum() / count.sum(), each)
        return state, {**metrics, "steps_taken": taken.astype(jnp.float32).mean()}

    def _paced(self, pace: Float[Array, ""], kl: Float[Array, ""]) -> Float[Array, ""]:
        """A smaller step size after the policy moved twice as far as aimed at, a larger one after half."""
        slower = jnp.where(kl > 2.0 * self.target_kl, pace / 1.5, pace)
        return jnp.clip(jnp.where(kl < 0.5 * self.target_kl, pace * 1.5, slower), *PACES)
