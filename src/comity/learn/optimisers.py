"""How parameters follow gradients."""

from typing import ClassVar, TypeVar

import equinox as eqx
import jax
import optax
from jaxtyping import Array, Float, PyTree

from comity.core.errors import require
from comity.core.tunable import Number, is_off

T = TypeVar("T")


class Adam(eqx.Module):
    """Adam (Kingma and Ba, 2015, arXiv:1412.6980) on gradients of limited norm."""

    learning_rate: float = 1e-3  # step size
    max_grad_norm: float = 1.0  # largest norm of the gradient; 0: no limit
    epsilon: float = 1e-5  # added to the root of the second moment

    tunable: ClassVar[tuple[str, ...]] = ("learning_rate", "max_grad_norm")

    def __check_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.max_grad_norm >= 0, "max_grad_norm", self.max_grad_norm, "at least 0")
        require(self.epsilon > 0, "epsilon", self.epsilon, "above 0")

    def build(self, learning_rate: Number = 0.0) -> optax.GradientTransformation:
        """The optimiser, with another step size if one is given."""
        adam = optax.adam(self.learning_rate if is_off(learning_rate) else learning_rate, eps=self.epsilon)
        if is_off(self.max_grad_norm):
            return adam
        return optax.chain(optax.clip_by_global_norm(self.max_grad_norm), adam)


def apply_gradients(
    optimiser: optax.GradientTransformation,
    gradient: PyTree,
    memory: optax.OptState,
    params: PyTree,
    scale: Float[Array, ""],
) -> tuple[PyTree, optax.OptState]:
    """Parameters and the optimiser's memory after one step, with the step scaled."""
    with jax.numpy_dtype_promotion("standard"):  # Adam raises a float to a whole number of steps
        updates, memory = optimiser.update(gradient, memory)
    return optax.apply_updates(params, jax.tree.map(lambda u: scale * u, updates)), memory


def slow_copy(slow: T, new: T, tau: Number) -> T:
    r"""Polyak averaging, :math:`\bar\theta + \tau(\theta - \bar\theta)`.

    After k steps towards a constant it is at :math:`\theta - (1-\tau)^k (\theta - \bar\theta_0)`.
    """
    copy: T = jax.tree.map(lambda old, now: old + tau * (now - old), slow, new)
    return copy
