"""What players of Commons Harvest see as planes of bits, and who is who if they are told."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

from comity.games.harvest_map import GROUNDS, WINDOW, Layout

PLANES = (
    "outside", "wall", "grass", "dry grass", "apple", "player facing my way", "player facing right",
    "player facing me", "player facing left", "beam", "ready to zap", "ready next step",
)  # fmt: skip
OUTSIDE, WALL, GRASS, DRY, APPLE, PLAYER, _, _, _, BEAM, READY, NEARLY = (1 << i for i in range(len(PLANES)))
SOMEBODY, FACING = 12, 13  # inside: the bit that says that somebody is there, and where its facing begins


def planes(
    own: Layout, state: Any, windows: Int[Array, "n places"], ground: Int[Array, "n places"]
) -> Int[Array, "n rows columns"]:
    """What each player sees as bits; nothing for who is out.

    `windows` are the cells in sight, `ground` what of them never changes.
    """
    bushes = jnp.where(state.dry, DRY, GRASS) | jnp.where(state.apples, APPLE, 0)
    world = jnp.append(bushes, 0).astype(jnp.int16)[jnp.asarray(own.apple_of, jnp.int32)]
    beam = jnp.where(jnp.append(state.beam, False), BEAM, 0).astype(jnp.int16)
    there = jnp.where(state.cells >= 0, state.cells, own.cells + 1)
    bodies = ((1 << SOMEBODY) | (state.facing << FACING)).astype(jnp.int16)
    world = (world | beam).at[there].add(bodies, mode="drop")
    seen = world.at[windows].get(mode="promise_in_bounds")
    turned = (seen >> FACING) - state.facing[:, None].astype(jnp.int16) & 3
    others = jnp.where((seen >> SOMEBODY & 1) == 1, jnp.int16(PLAYER) << turned, jnp.int16(0))
    ready = jnp.where(state.cooldown == 0, READY, jnp.where(state.cooldown == 1, NEARLY, 0))
    fixed = jnp.where(ground == GROUNDS.index("wall"), WALL, 0) | ready[:, None]
    fixed = (fixed | jnp.where(ground == GROUNDS.index("outside"), OUTSIDE, 0)).astype(jnp.int16)
    plain = seen & jnp.int16((1 << SOMEBODY) - 1) | others | fixed
    plain = jnp.where((state.away == 0)[:, None], plain, jnp.int16(0))
    return plain.reshape((-1, *WINDOW))


def identity_planes(
    own: Layout, state: Any, colours: Int[Array, " n"], windows: Int[Array, "n places"]
) -> Int[Array, "n rows columns"]:
    """Bits after those of `planes` that say which of the others is where; nobody sees its own."""
    there = jnp.where(state.cells >= 0, state.cells, own.cells + 1)
    bodies = jnp.int32(1) << (len(PLANES) + colours.astype(jnp.int32))
    world = jnp.zeros(own.cells + 1, jnp.int32).at[there].set(bodies, mode="drop")
    seen = world.at[windows].get(mode="promise_in_bounds")
    others = seen & ~bodies[:, None]
    return jnp.where((state.away == 0)[:, None], others, 0).reshape((-1, *WINDOW))
