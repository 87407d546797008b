"""How numbers change over the training."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.errors import require
from comity.core.tunable import Number


class Decay(eqx.Module):
    """What is left of rates and bonuses at the end, reached linearly."""

    decay_from: float = 0.0  # share of the training after which they fall
    final_learning_rate: float = 1.0  # share of the policy's learning rate left at the end
    final_critic_learning_rate: float = 1.0  # share of the critic's, where it has one of its own
    final_entropy: float = 1.0  # share of the entropy bonus left at the end
    critic_only_fraction: float = 0.0  # share of the training in which only the critic learns
    max_std: float = 0.0  # largest standard deviation of continuous actions; 0: the head's own bound
    final_std: float = 1.0  # share of it left at the end

    def __check_init__(self) -> None:
        for name in (
            "decay_from", "final_learning_rate", "final_critic_learning_rate", "final_entropy",
            "critic_only_fraction", "final_std",
        ):  # fmt: skip
            share = getattr(self, name)
            require(0.0 <= share <= 1.0, name, share, "between 0 and 1")
        require(self.max_std >= 0, "max_std", self.max_std, "at least 0")

    def at(self, final: Number, progress: Float[Array, ""]) -> Float[Array, ""]:
        """A factor that is 1 until `decay_from` of the training and then falls linearly to `final`."""
        rest = max(1.0 - self.decay_from, 1e-6)
        return 1.0 + (final - 1.0) * jnp.clip((progress - self.decay_from) / rest, 0.0, 1.0)


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
