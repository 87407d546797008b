"""Actions as critics read them: choices one-hot, numbers scaled and centred by their bounds to [-1, 1].

Noise, smoothing and entropies are measured in these numbers, so that they mean the same whatever the bounds.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from comity.core.errors import ComityError
from comity.core.spaces import Box, Discrete, Space, describe


def check_numbers(name: str, action: Space) -> None:
    """Raises if actions of the space are neither one of several choices nor an array of numbers."""
    if not isinstance(action, Discrete | Box):
        raise ComityError(
            f"Critics of actions read one choice or an array of numbers, and {name} does "
            f"{describe(action)}: use ppo."
        )


def count_numbers(action: Space) -> int:
    """How many numbers an action is."""
    return action.n if isinstance(action, Discrete) else math.prod(_box(action).shape)


def numbers_space(action: Space) -> Box:
    """The space of these numbers, as a network reads it."""
    count = count_numbers(action)
    return Box((count,), -1.0, 1.0) if isinstance(action, Box) and action.bounded else Box((count,))


def to_numbers(action_space: Space, action: Array) -> Float[Array, "... numbers"]:
    """An action as numbers, with any leading axes."""
    if isinstance(action_space, Discrete):
        return jax.nn.one_hot(action, action_space.n, dtype=jnp.float32)
    box = _box(action_space)
    leading = action.shape[: action.ndim - len(box.shape)]
    flat = action.reshape((*leading, count_numbers(box))).astype(jnp.float32)
    return (flat - box.low) * (2.0 / (box.high - box.low)) - 1.0 if box.bounded else flat


def from_numbers(action_space: Space, numbers: Float[Array, "... numbers"]) -> Array:
    """The action that some numbers stand for; of choices the one with the largest number."""
    if isinstance(action_space, Discrete):
        return jnp.argmax(numbers, axis=-1).astype(jnp.int32)
    box = _box(action_space)
    if box.bounded:
        scaled = box.low + 0.5 * (numbers + 1.0) * (box.high - box.low)
        numbers = jnp.clip(scaled, box.low, box.high)  # rounding may lead beyond them
    return numbers.reshape((*numbers.shape[:-1], *box.shape))


def within_bounds(action_space: Space, numbers: Float[Array, "... numbers"]) -> Float[Array, "... numbers"]:
    """Numbers of an array within its bounds, if it has any."""
    return jnp.clip(numbers, -1.0, 1.0) if isinstance(action_space, Box) and action_space.bounded else numbers


def _box(action: Space) -> Box:
    assert isinstance(action, Box)
    return action
