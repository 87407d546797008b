"""How numbers change over the training."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.core.tunable import Number

Shape = Literal["linear", "cosine", "exponential", "step"]


class Decay(eqx.Module):
    """What is left of rates and bonuses at the end, and how they get there."""

    decay_from: float = 0.0  # share of the training after which they fall
    shape: Shape = "linear"
    """linear; cosine: slowly at both ends; exponential: by the same factor in every step; step: at once"""
    final_learning_rate: float = 1.0  # share of the policy's learning rate left at the end
    final_critic_learning_rate: float = 1.0  # share of the critic's, where it has one of its own
    final_entropy: float = 1.0  # share of the entropy bonus left at the end
    learning_starts: float = 0.0  # share of the training before the first update
    critic_only_fraction: float = 0.0  # share of the training in which only the critic learns
    max_std: float = 0.0  # largest standard deviation of continuous actions; 0: the head's own bound
    final_std: float = 1.0  # share of it left at the end

    def __check_init__(self) -> None:
        for name in (
            "decay_from", "final_learning_rate", "final_critic_learning_rate", "final_entropy",
            "learning_starts", "critic_only_fraction", "final_std",
        ):  # fmt: skip
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")
        if self.shape == "exponential":
            for name in ("final_learning_rate", "final_critic_learning_rate", "final_entropy", "final_std"):
                require(getattr(self, name) > 0, name, getattr(self, name), "above 0 with shape exponential")
        require(self.max_std >= 0, "max_std", self.max_std, "at least 0")

    def at(self, final: Number, progress: Float[Array, ""]) -> Float[Array, ""]:
        """A factor that is 1 until `decay_from` of the training and then falls to `final`."""
        rest = max(1.0 - self.decay_from, 1e-6)
        done = jnp.clip((progress - self.decay_from) / rest, 0.0, 1.0)
        if self.shape == "exponential":
            return jnp.asarray(final, jnp.float32) ** done
        if self.shape == "cosine":
            done = 0.5 * (1.0 - jnp.cos(jnp.pi * done))
        elif self.shape == "step":
            done = jnp.where(done > 0.0, 1.0, 0.0)
        return 1.0 + (final - 1.0) * done


class Linear(eqx.Module):
    """From one number to another over a share of the training, and then constant."""

    start: float = 1.0  # at the start of the training
    end: float = 0.05  # from `over` of it on
    over: float = 0.2  # share of the training in which it changes

    def __check_init__(self) -> None:
        require(0.0 < self.over <= 1.0, "over", self.over, "above 0 and at most 1")

    def __call__(self, progress: Float[Array, ""]) -> Float[Array, ""]:
        """The number when so much of the training is done."""
        return self.start + (self.end - self.start) * jnp.clip(progress / self.over, 0.0, 1.0)
