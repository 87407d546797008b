"""Cooperation in Commons Harvest: to leave apples near those that one eats."""

from typing import TYPE_CHECKING

import jax.numpy as jnp

from comity.core.game import Cooperation, PerSeat
from comity.games.harvest_map import Layout

if TYPE_CHECKING:
    from comity.games.commons_harvest import HarvestState


def restraint(layout: Layout, state: "HarvestState", next_state: "HarvestState") -> PerSeat[Cooperation]:
    """Every apple that a seat eats is a choice: cooperative if another one is near it, so it can grow back.

    Who was sent away in the step of the bite is not counted.
    """
    here = jnp.asarray(layout.apple_of, jnp.int32)[next_state.cells]
    there = here[:, None] == jnp.arange(len(layout.apples))[None, :]
    bites = there & (state.apples & next_state.eaten)[None, :]
    kept = (
        bites & (next_state.near > 0.0)[None, :]
    )  # counted before the step: the eaten apple is not near itself
    eaten, lasting = bites.sum(axis=1, dtype=jnp.float32), kept.sum(axis=1, dtype=jnp.float32)
    return tuple(Cooperation(lasting[i], eaten[i]) for i in range(here.shape[0]))
