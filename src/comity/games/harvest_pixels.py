"""What players of Commons Harvest see as pixels, and pictures of the world, from the original's sprites.

A cell is drawn from bottom to top: wall, floor or grass; apple; player; beam. All ways in which a cell can
look are drawn once, so that an image is a look-up: 11 x 11 cells of 8 x 8 pixels. The sprites are those of
Melting Pot (Apache License 2.0, see data/README.md).
"""

from functools import lru_cache
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt8, UInt32

from comity.games.harvest_map import GROUNDS, WINDOW, Layout

SIDE = 8  # pixels of a cell
RGB = (3, WINDOW[0] * SIDE, WINDOW[1] * SIDE)
# How the ground of a cell can look; the last three are bushes: with their grass, dry, and each with an apple.
SURFACES = ("outside", "wall", "floor", "grass", "dry", "apple on grass", "apple on dry")
PLAYERS = 8  # whose sprites there are: seven players, and the viewer itself
BODIES = 1 + PLAYERS * 4  # nobody, or a player (times 4) and how it faces as seen by the viewer


@lru_cache(maxsize=1)
def looks() -> UInt32[np.ndarray, "looks 8 3 2"]:
    """A cell's rows of pixels (row, colour, column) for every surface, viewer's facing, body and beam.

    The index is ((surface x 4 + facing) x BODIES + body) x 2 + beam. Four pixels are one number: so many
    fewer are copied.
    """
    sprites = _sprites()
    found = np.zeros((len(SURFACES), 4, BODIES, 2, SIDE, SIDE, 3), np.uint8)
    for s, surface in enumerate(SURFACES):
        for facing in range(4):
            base = np.zeros((SIDE, SIDE, 3), np.uint8)
            if surface == "outside":
                base = _over(base, sprites["out_of_bounds"])
            else:
                ground = surface.removeprefix("apple on ")
                name = {"dry": "dessicated"}.get(ground, ground)
                base = _over(base, sprites[name][facing])
            if surface.startswith("apple"):
                base = _over(base, sprites["apple"])
            for body in range(BODIES):
                drawn = base
                if body:
                    drawn = _over(base, sprites["avatar"][(body - 1) // 4, (body - 1) % 4])
                found[s, facing, body, 0] = drawn
                found[s, facing, body, 1] = _over(drawn, sprites["beam"])
    return np.ascontiguousarray(found.reshape(-1, SIDE, SIDE, 3).transpose(0, 1, 3, 2)).view(np.uint32)


def player_sprites() -> UInt8[np.ndarray, "players facings 8 8 4"]:
    """What players look like, with how opaque each pixel is."""
    return _sprites()["avatar"]


def _sprites() -> dict[str, np.ndarray]:
    with files("comity.games").joinpath("data/harvest_sprites.npz").open("rb") as file:
        return {name: np.asarray(value) for name, value in np.load(file, allow_pickle=False).items()}


def _over(base: np.ndarray, sprite: np.ndarray) -> np.ndarray:
    """A sprite laid over pixels; it is opaque or not there at each of them."""
    opaque = sprite[..., 3:] > 0
    return np.where(opaque, sprite[..., :3], base)


def pixels(
    own: Layout, state: Any, windows: Int[Array, "players places"], ground: Int[Array, "players places"]
) -> UInt8[Array, "players 3 88 88"]:
    """What each player sees, colours first; black for who is out.

    `windows` are the cells in sight, `ground` what of them never changes.
    """
    n = state.cells.shape[0]
    bush = jnp.where(state.apples, SURFACES.index("apple on grass"), SURFACES.index("grass"))
    bush = jnp.append((bush + state.dry.astype(bush.dtype)).astype(jnp.int32), 0)
    fixed = jnp.asarray([SURFACES.index(name) if name != "bush" else 0 for name in GROUNDS], jnp.int32)
    surface = bush[jnp.asarray(own.apple_of, jnp.int32)][windows] + fixed[ground]
    there = jnp.where(state.cells >= 0, state.cells, own.cells + 1)
    bodies = 1 + 4 * jnp.arange(n, dtype=jnp.int32) + state.facing
    world = jnp.zeros(own.cells + 1, jnp.int32).at[there].set(bodies, mode="drop")
    seen = world[windows]
    turned = 1 + ((seen - 1) & ~3) + ((seen - 1) - state.facing[:, None] & 3)
    body = jnp.where(seen > 0, turned, 0)
    middle = (WINDOW[0] - 2) * WINDOW[1] + WINDOW[1] // 2
    body = body.at[:, middle].set(1 + 4 * (PLAYERS - 1))
    beam = jnp.append(state.beam, False)[windows].astype(jnp.int32)
    look = ((surface * 4 + state.facing[:, None]) * BODIES + body) * 2 + beam
    black = SURFACES.index("outside") * 4 * BODIES * 2
    look = jnp.where((state.away == 0)[:, None], look, black)
    drawn = jnp.asarray(looks()).at[look].get(mode="promise_in_bounds")
    rows = drawn.reshape((n, *WINDOW, SIDE, 3, SIDE // 4)).transpose(0, 4, 1, 3, 2, 5)
    return jax.lax.bitcast_convert_type(rows, jnp.uint8).reshape((n, *RGB))


def world_picture(own: Layout, state: Any) -> UInt8[np.ndarray, "height width 3"]:
    """The whole world, north up, everybody in its own colour; for replays."""
    surface = np.full(own.cells, SURFACES.index("floor"))
    surface[own.walls[:-1]] = SURFACES.index("wall")
    apples, dry = np.asarray(state.apples), np.asarray(state.dry)
    grass = np.where(apples, SURFACES.index("apple on grass"), SURFACES.index("grass"))
    surface[own.apples] = grass + dry
    body = np.zeros(own.cells, int)
    for i, (cell, facing) in enumerate(zip(np.asarray(state.cells), np.asarray(state.facing), strict=True)):
        if cell >= 0:
            body[cell] = 1 + 4 * (i % (PLAYERS - 1)) + facing
    look = (surface * 4 * BODIES + body) * 2 + np.asarray(state.beam)
    drawn = looks()[look].view(np.uint8).reshape(own.height, own.width, SIDE, 3, SIDE)
    return drawn.transpose(0, 2, 1, 4, 3).reshape(own.height * SIDE, own.width * SIDE, 3)
