"""What a shaping agent reads of a joint trajectory beyond its own streams: the others' views and rewards."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from comity.agents.critics import Estimate
from comity.agents.streams import Streams, join, next_values, streams
from comity.core.errors import ComityError
from comity.core.types import Trajectory


class Choices(NamedTuple):
    """What a critic of actions reads of what others recorded."""

    probabilities: Float[Array, "..."]


def views(joint: Trajectory, seats: tuple[int, ...], own: int, of_actions: bool) -> Streams:
    """Streams of seats that others may sit in: only what one's own critic reads, whatever they record."""
    shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), joint.obs[seat]) for seat in (own, *seats)]
    if any(shape != shapes[0] for shape in shapes):
        raise ComityError("opponent_critic own-view needs others that see what I see: use learned or given.")

    def keep(extras: PyTree) -> PyTree:
        if not of_actions:
            return ()
        probabilities = getattr(extras, "probabilities", ())
        if not isinstance(probabilities, jax.Array):
            raise ComityError(
                "critic action-value with opponent_critic own-view needs opponents that record their "
                "probabilities: use critic value, or opponent_critic learned."
            )
        return Choices(probabilities)

    kept = joint._replace(
        extras=tuple(keep(x) if i in seats else () for i, x in enumerate(joint.extras)),
        successor=tuple(keep(x) if i in seats else () for i, x in enumerate(joint.successor)),
        carry=((),) * len(joint.carry),
    )
    return streams(kept, seats)


def successors(joint: Trajectory, seats: tuple[int, ...]) -> PyTree:
    """What the streams of some seats see next."""
    return join([joint.step.obs[seat] for seat in seats])


def others_reward(joint: Trajectory, seats: tuple[int, ...]) -> Array:
    """Beside the streams of some seats, what all others earn together."""
    rewards = joint.step.reward
    total = jnp.stack(rewards).sum(axis=0)
    return jnp.concatenate([total - rewards[seat] for seat in seats], axis=1)


def given(data: Streams, of_actions: bool) -> Estimate:
    """The values that a player recorded itself; those of all its actions only where they are asked for."""
    recorded = getattr(data.extras, "value", ())
    each: PyTree = getattr(data.extras, "action_values", ()) if of_actions else ()
    if not isinstance(recorded, jax.Array) or (of_actions and not isinstance(each, jax.Array)):
        raise ComityError(
            "opponent_critic given needs opponents that record their own values: use own-view or learned."
        )
    value, beyond = recorded[..., None], data.successor.value[..., None]
    next_value = next_values(value, beyond, data.ended[..., None])
    each = each[..., None, :] if of_actions else value[..., None]
    return Estimate(value, value, next_value, next_value, each)
