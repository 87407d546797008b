"""Heads turn features into a distribution over actions."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree
from jaxtyping import PRNGKeyArray as Key

from comity.core import spaces
from comity.core.errors import ComityError
from comity.core.spaces import Box, Discrete, Space
from comity.nets.distributions import Categorical, Choices, Distribution, Gaussian, SquashedGaussian
from comity.nets.linear import Linear

POLICY_SCALE = 0.01
LARGEST_MEAN = 2.5
LOG_STD_RANGE = (-4.0, 1.0)
NEVER = -1e9  # the logit of a choice that is not legal: its probability is 0 in float32


def check_action(action: Space) -> None:
    """Raises if no head fits the action space."""
    several = isinstance(action, tuple) and all(isinstance(part, Discrete | Box) for part in action)
    if not isinstance(action, Discrete | Box) and not (several and action):
        raise ComityError(f"This agent plays choices or arrays of numbers, not {spaces.describe(action)}.")


class PolicyHead(eqx.Module):
    """One linear layer from features to an action distribution.

    The mean of a squashed Gaussian is kept within 2.5 by a tanh, and the spread within fixed bounds:
    beyond them the squashed action no longer changes and the gradient dies.
    """

    linear: Linear
    log_std: Float[Array, " n"] | None
    action: Space = eqx.field(static=True)

    def __init__(self, features: int, action: Space, key: Key, use_bias: bool = True) -> None:
        check_action(action)
        self.linear = Linear(features, spaces.flat_size(action), POLICY_SCALE, key, use_bias)
        spread = sum(spaces.flat_size(part) for part in _parts(action) if isinstance(part, Box))
        self.log_std = jnp.zeros(spread, jnp.float32) if spread else None
        self.action = action

    def __call__(
        self, features: Float[Array, "... features"], legal: Bool[Array, "... choices"] | None = None
    ) -> Distribution:
        """The distribution over the actions; of a choice, over those that are legal."""
        out = self.linear(features)
        if isinstance(self.action, tuple):
            edges = np.cumsum([spaces.flat_size(part) for part in self.action])[:-1]
            found, used = [], 0
            for part, own in zip(self.action, jnp.split(out, edges, axis=-1), strict=True):
                spread = spaces.flat_size(part) if isinstance(part, Box) else 0
                found.append(self._distribution(part, own, slice(used, used + spread)))
                used += spread
            return Choices(tuple(found))
        return self._distribution(
            self.action, out if legal is None else jnp.where(legal, out, NEVER), slice(None)
        )

    def _distribution(
        self, action: Space, out: Float[Array, "... n"], spread: slice
    ) -> Categorical | SquashedGaussian | Gaussian:
        """The distribution of one choice or one array of numbers."""
        if not isinstance(action, Box):
            return Categorical(out)
        log_std = jnp.broadcast_to(self.clipped_log_std[spread], out.shape)
        if action.bounded:
            mean = LARGEST_MEAN * jnp.tanh(out / LARGEST_MEAN)
            return SquashedGaussian(mean, log_std, action.low, action.high)
        return Gaussian(out, log_std)

    @property
    def clipped_log_std(self) -> Float[Array, " n"]:
        """The logarithm of the spread of continuous actions, within its bounds."""
        assert self.log_std is not None
        return jnp.clip(self.log_std, *LOG_STD_RANGE)

    def shape_action(self, flat: PyTree) -> PyTree:
        """A flat action vector in the shape that the game expects."""
        if isinstance(self.action, tuple):
            return tuple(_shaped(part, own) for part, own in zip(self.action, flat, strict=True))
        return _shaped(self.action, flat)


def _parts(action: Space) -> tuple[Space, ...]:
    return action if isinstance(action, tuple) else (action,)


def _shaped(action: Space, flat: PyTree) -> PyTree:
    return flat.reshape(flat.shape[:-1] + action.shape) if isinstance(action, Box) else flat


class ValueHead(eqx.Module):
    """One linear layer from features to a value."""

    linear: Linear

    def __init__(self, features: int, key: Key, use_bias: bool = True) -> None:
        self.linear = Linear(features, 1, 1.0, key, use_bias)

    def __call__(self, features: Float[Array, "... features"]) -> Float[Array, "..."]:
        return self.linear(features)[..., 0]
