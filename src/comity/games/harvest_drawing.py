"""What Commons Harvest looks like: the original's sprites as a picture, signs in a terminal."""

from functools import lru_cache
from typing import Any

import numpy as np

from comity.core import palette
from comity.core.scene import Grid, Legend, Piece, Pixels, Scene, Stack
from comity.games.harvest_map import Layout
from comity.games.harvest_pixels import PLAYERS, player_sprites, world_picture

APPLE, GRASS, DRY, WALL, BEAM = palette.VERMILION, palette.GREEN, palette.BROWN, palette.EDGE, palette.ORANGE
FACING = "▲▶▼◀"


def harvest_scene(layout: Layout, state: Any) -> Scene:
    """The whole world, north up."""
    left = int(np.asarray(state.apples).sum())
    legend = Legend(((APPLE, f"{left} of {len(layout.apples)} apples"), (DRY, "bare: nothing grows back")))
    picture = Pixels(world_picture(layout, state), _signs(layout, state), sprite_colours())
    return Stack((picture, legend))


@lru_cache(maxsize=1)
def sprite_colours() -> tuple[str, ...]:
    """The colour of which each player's sprite has most."""
    found = []
    for sprite in player_sprites()[: PLAYERS - 1, 0]:
        seen = sprite[sprite[..., 3] > 0][:, :3]
        colours, counts = np.unique(seen, axis=0, return_counts=True)
        found.append("#" + bytes(colours[counts.argmax()]).hex())
    return tuple(found)


def _signs(layout: Layout, state: Any) -> Grid:
    """Walls #, apples o, grass a comma, bare places a dot, beams +; players are numbers with arrows."""
    signs = {int(cell): ("#", WALL) for cell in np.flatnonzero(layout.walls[:-1])}
    for cell, apple, dry in zip(layout.apples, np.asarray(state.apples), np.asarray(state.dry), strict=True):
        signs[int(cell)] = ("o", APPLE) if apple else (".", DRY) if dry else (",", GRASS)
    for cell in np.flatnonzero(np.asarray(state.beam)):
        signs[int(cell)] = ("+", BEAM)
    colours = sprite_colours()
    for i, (cell, facing) in enumerate(zip(np.asarray(state.cells), np.asarray(state.facing), strict=True)):
        if cell >= 0:
            signs[int(cell)] = (f"{i + 1}{FACING[int(facing)]}", colours[i % len(colours)])
    pieces = tuple(
        Piece(cell // layout.width, cell % layout.width, colour, "", "none", sign)
        for cell, (sign, colour) in signs.items()
    )
    empty = tuple(("",) * layout.width for _ in range(layout.height))
    return Grid(layout.height, layout.width, pieces, ground=empty)
