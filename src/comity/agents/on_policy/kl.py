"""Several steps over one rollout, only as far as the policy may move."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.agents.on_policy.base import LearnerState
from comity.core.agent import Metrics
from comity.core.errors import require

Step = Callable[[LearnerState, Int[Array, " chosen"]], tuple[LearnerState, Metrics]]


class KLRule(eqx.Module):
    """What happens when an update has moved the policy too far, measured by the KL divergence."""

    target: float = 0.0  # the divergence of an update that is aimed at; 0: none
    rule: Literal["stop", "stop-epoch", "adapt", "adapt-epoch"] = "stop"
    """beyond it end the update or the epoch; or adapt the learning rate after each update, by the last
    minibatch, or after each epoch, by the mean of its minibatches"""
    stop_at: float = 1.5  # an update or an epoch ends at so many times the target
    min_pace: float = 0.01  # the smallest factor of an adaptive learning rate
    max_pace: float = 10.0  # the largest

    def __check_init__(self) -> None:
        require(self.target >= 0, "kl.target", self.target, "at least 0")
        require(self.stop_at > 0, "kl.stop_at", self.stop_at, "above 0")
        require(0 < self.min_pace <= 1, "kl.min_pace", self.min_pace, "above 0 and at most 1")
        require(self.max_pace >= 1, "kl.max_pace", self.max_pace, "at least 1")

    def run(
        self, step: Step, state: LearnerState, parts: Int[Array, "steps chosen"], epochs: int
    ) -> tuple[LearnerState, Metrics]:
        """All steps, or as many as the rule allows; the mean of each metric over them."""
        if self.target == 0:
            state, each = jax.lax.scan(step, state, parts)
            return state, jax.tree.map(jnp.mean, each)
        if self.rule in ("stop", "stop-epoch"):
            return self._until_moved(step, state, parts, epochs)
        if self.rule == "adapt":
            state, each = jax.lax.scan(step, state, parts)
            state = state._replace(pace=self._adapted(state.pace, each["kl"][-1]))
        else:
            state, each = jax.lax.scan(
                partial(self._adapting_epoch, step), state, parts.reshape(epochs, -1, parts.shape[1])
            )
        return state, {**jax.tree.map(jnp.mean, each), "pace": state.pace}

    def _adapting_epoch(
        self, step: Step, state: LearnerState, parts: Int[Array, "minibatches chosen"]
    ) -> tuple[LearnerState, Metrics]:
        """One epoch, after which the learning rate is adapted to how far the policy was on average."""
        state, each = jax.lax.scan(step, state, parts)
        return state._replace(pace=self._adapted(state.pace, each["kl"].mean())), each

    def _until_moved(
        self, step: Step, state: LearnerState, parts: Int[Array, "steps chosen"], epochs: int
    ) -> tuple[LearnerState, Metrics]:
        """Steps until the policy has moved too far from where it was: then the update or epoch is over."""
        shapes = jax.eval_shape(step, state, parts[0])[1]
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        begins = jnp.arange(len(parts)) % (len(parts) // epochs) == 0
        again = begins if self.rule == "stop-epoch" else jnp.zeros_like(begins)

        def advance(carry: tuple[LearnerState, Bool[Array, ""]], at: tuple[Array, Array]) -> PyTree:
            state, running = carry
            games, begins_again = at
            running = running | begins_again
            after, metrics = jax.lax.cond(running, step, lambda state, _: (state, nothing), state, games)
            # The divergence is that before the step, so a step from too far away is not taken.
            near = running & (metrics["kl"] <= self.stop_at * self.target)
            state = jax.tree.map(lambda new, old: jnp.where(near, new, old), after, state)
            return (state, near), (metrics, running, near)

        (state, _), (each, measured, taken) = jax.lax.scan(advance, (state, jnp.bool_(True)), (parts, again))
        count = measured.astype(jnp.float32)
        metrics = jax.tree.map(lambda x: (x * count).sum() / count.sum(), each)
        return state, {**metrics, "steps_taken": taken.astype(jnp.float32).mean()}

    def _adapted(self, pace: Float[Array, ""], kl: Float[Array, ""]) -> Float[Array, ""]:
        """A smaller step size after the policy moved twice as far as aimed at, a larger one after half."""
        slower = jnp.where(kl > 2.0 * self.target, pace / 1.5, pace)
        return jnp.clip(jnp.where(kl < 0.5 * self.target, pace * 1.5, slower), self.min_pace, self.max_pace)
