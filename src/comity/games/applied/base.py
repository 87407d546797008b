"""What applied games share: actions that cannot break a rule, and rounds that are seen by all."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from comity.core.game import Environment, PerSeat, TimeStep


class Rounds(NamedTuple):
    """The time, and what everybody did in the last round (zeros before the first)."""

    time: Int[Array, ""]
    last: Float[Array, " players"]


def within(actions: PerSeat[PyTree], low: float, high: float) -> Float[Array, " players"]:
    """One number of each seat, within bounds; what is no number counts as the lower bound."""
    numbers = jnp.stack([jnp.reshape(action, ()).astype(jnp.float32) for action in actions])
    return jnp.clip(jnp.where(jnp.isnan(numbers), low, numbers), low, high)


def own_first(numbers: Float[Array, " players"]) -> PerSeat[Float[Array, " players"]]:
    """A number of each seat as each sees them: its own first, then the others' in their order."""
    return tuple(jnp.roll(numbers, -seat) for seat in range(len(numbers)))


def round_over(
    game: Environment,
    obs: PerSeat[PyTree],
    rewards: Sequence[Float[Array, ""]],
    time: Int[Array, ""],
    terminated: Bool[Array, ""] | None = None,
) -> TimeStep:
    """The answer of a game in which everybody stays to the end, which the clock sets."""
    over = jnp.bool_(False) if terminated is None else terminated
    late = jnp.bool_(False) if game.horizon is None else time >= game.horizon
    return TimeStep(
        obs=obs,
        reward=tuple(rewards),
        terminated=over,
        truncated=late & ~over,
        alive=(jnp.bool_(True),) * len(obs),
    )
