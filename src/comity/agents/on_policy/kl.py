"""Several steps over one rollout: in minibatches of whole games, and only as far as the policy may move."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.agents.on_policy.base import LearnerState
from comity.core.agent import Metrics
from comity.core.errors import require

PACES = (0.01, 10.0)  # the smallest and the largest factor of an adaptive step size
Step = Callable[[LearnerState, Int[Array, " chosen"]], tuple[LearnerState, Metrics]]


def minibatches(key: Key, games: int, epochs: int, parts: int) -> Int[Array, "steps chosen"]:
    """Which games are in which part of a rollout, for all passes over it one after another."""
    require(games % parts == 0, "minibatches", parts, f"a divisor of the {games} games of a batch")
    orders = jax.vmap(lambda k: jax.random.permutation(k, games))(jax.random.split(key, epochs))
    return orders.reshape(epochs * parts, games // parts)


class KLRule(eqx.Module):
    """What happens when an update has moved the policy too far, measured by the KL divergence."""

    target: float = 0.0  # the divergence of an update that is aimed at; 0: none
    rule: Literal["stop", "adapt"] = "stop"  # beyond it: end the update, or adapt the step size
    stop_at: float = 1.5  # an update ends at so many times the target

    def __check_init__(self) -> None:
        require(self.target >= 0, "kl.target", self.target, "at least 0")
        require(self.stop_at > 0, "kl.stop_at", self.stop_at, "above 0")

    def run(
        self, step: Step, state: LearnerState, parts: Int[Array, "steps chosen"]
    ) -> tuple[LearnerState, Metrics]:
        """All steps, or as many as the rule allows; the mean of each metric over them."""
        if self.target > 0 and self.rule == "stop":
            return self._until_moved(step, state, parts)
        state, each = jax.lax.scan(step, state, parts)
        metrics = jax.tree.map(jnp.mean, each)
        if self.target > 0:
            state = state._replace(pace=self._adapted(state.pace, each["kl"][-1]))
            metrics["pace"] = state.pace
        return state, metrics

    def _until_moved(
        self, step: Step, state: LearnerState, parts: Int[Array, "steps chosen"]
    ) -> tuple[LearnerState, Metrics]:
        """Steps until the policy has moved too far from where it was: then the whole update is over."""
        shapes = jax.eval_shape(step, state, parts[0])[1]
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

        def advance(carry: tuple[LearnerState, Bool[Array, ""]], games: Array) -> tuple[PyTree, PyTree]:
            state, running = carry
            after, metrics = jax.lax.cond(running, step, lambda state, _: (state, nothing), state, games)
            # The divergence is that before the step, so a step from too far away is not taken.
            near = running & (metrics["kl"] <= self.stop_at * self.target)
            state = jax.tree.map(lambda new, old: jnp.where(near, new, old), after, state)
            return (state, near), (metrics, running, near)

        (state, _), (each, measured, taken) = jax.lax.scan(advance, (state, jnp.bool_(True)), parts)
        count = measured.astype(jnp.float32)
        metrics = jax.tree.map(lambda x: (x * count).sum() / count.sum(), each)
        return state, {**metrics, "steps_taken": taken.astype(jnp.float32).mean()}

    def _adapted(self, pace: Float[Array, ""], kl: Float[Array, ""]) -> Float[Array, ""]:
        """A smaller step size after the policy moved twice as far as aimed at, a larger one after half."""
        slower = jnp.where(kl > 2.0 * self.target, pace / 1.5, pace)
        return jnp.clip(jnp.where(kl < 0.5 * self.target, pace * 1.5, slower), *PACES)
