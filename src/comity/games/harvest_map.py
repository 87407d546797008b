"""The map of Commons Harvest: what lies where, and what follows from it, prepared once.

Cells are counted row by row. Directions are 0 north, 1 east, 2 south, 3 west.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from comity.core.errors import ComityError, require

AHEAD, BEHIND, ASIDE = 9, 1, 5  # how far a player sees
WINDOW = (AHEAD + 1 + BEHIND, 2 * ASIDE + 1)  # rows and columns of what it sees
NORTH_EAST_SOUTH_WEST = ((0, -1), (1, 0), (0, 1), (-1, 0))  # x grows to the east, y to the south
# The lines of a beam as (ahead, to the right): straight on, and beside the shooter to the left and right.
BEAM = (((1, 0), (2, 0), (3, 0)), ((0, -1), (1, -1), (2, -1)), ((0, 1), (1, 1), (2, 1)))
REACH = 2.0  # apples as near as this help an empty cell to grow

OPEN = (
    "WWWWWWWWWWWWWWWWWWWWWWWW",
    "WAAA    A      A    AAAW",
    "WAA    AAA    AAA    AAW",
    "WA    AAAAA  AAAAA    AW",
    "W      AAA    AAA      W",
    "W       A      A       W",
    "W  A                A  W",
    "W AAA  Q        Q  AAA W",
    "WAAAAA            AAAAAW",
    "W AAA              AAA W",
    "W  A                A  W",
    "W                      W",
    "W                      W",
    "W                      W",
    "W  PPPPPPPPPPPPPPPPPP  W",
    "W PPPPPPPPPPPPPPPPPPPP W",
    "WPPPPPPPPPPPPPPPPPPPPPPW",
    "WWWWWWWWWWWWWWWWWWWWWWWW",
)
SMALL = (
    "WWWWWWWWW",
    "WAAA PPAW",
    "WAAAAPPAW",
    "WAA PPAAW",
    "W APPPA W",
    "WPPA AAPW",
    "WPAAAAA W",
    "WPPAAAPPW",
    "WWWWWWWWW",
)


class Layout(NamedTuple):
    """Tables over the cells of a map; index `cells` of those over cells stands for anything outside."""

    height: int
    width: int
    walls: Bool[np.ndarray, " cells_and_outside"]
    apples: Int[np.ndarray, " apples"]  # the cells where apples grow
    spawns: Int[np.ndarray, " spawns"]  # where players return
    firsts: Int[np.ndarray, " firsts"]  # where the first players start
    apple_of: Int[np.ndarray, " cells_and_outside"]  # which apple grows there; the number of apples: none
    spawn_of: Int[np.ndarray, " cells_and_outside"]  # which place of return it is; -1: none
    steps: Int[np.ndarray, "cells 4"]  # where a step leads; into a wall: nowhere
    beams: Int[np.ndarray, "cells 4 3 3"]  # the cells of a beam's lines; -1 from a wall on
    near: Float[np.ndarray, "apples apples"]  # 1 where one apple helps another to grow
    bushes: Int[np.ndarray, " apples"]  # to which bush each apple belongs: those that can help it at last
    windows: Int[np.ndarray, "places rows_columns"]  # what is seen from a cell (times 4, plus the facing)
    """the cells in sight, plus GROUND times the number in `GROUNDS` of what never changes there"""

    @property
    def cells(self) -> int:
        return self.height * self.width


GROUNDS = ("outside", "wall", "floor", "bush")
GROUND = 1 << 16  # more than there are cells


@lru_cache(maxsize=16)
def layout(rows: tuple[str, ...]) -> Layout:
    """The tables of a map of W (wall), A (apple), P (return), Q (first start) and spaces (floor)."""
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise ComityError("The map of Commons Harvest needs rows of one length.")
    letters = sorted(set("".join(rows)) - set("WAPQ "))
    if letters:
        raise ComityError(f"The map has {letters[0]!r}: use W, A, P, Q and spaces.")
    height, width = len(rows), len(rows[0])
    require(height * width < GROUND, "map", f"{height} x {width}", f"of less than {GROUND} cells")
    flat = "".join(rows)
    cells = height * width
    walls = np.asarray([letter == "W" for letter in flat] + [True])
    apples, spawns, firsts = (np.flatnonzero([x == letter for x in flat]) for letter in "APQ")
    if not len(apples) or not len(spawns):
        raise ComityError("The map needs at least one A (apple) and one P (where players return).")
    apple_of, spawn_of = np.full(cells + 1, len(apples)), np.full(cells + 1, -1)
    apple_of[apples], spawn_of[spawns] = np.arange(len(apples)), np.arange(len(spawns))

    def at(x: int, y: int) -> int:
        return y * width + x if 0 <= x < width and 0 <= y < height else cells

    def from_here(cell: int, facing: int, ahead: int, right: int) -> int:
        (fx, fy), (rx, ry) = NORTH_EAST_SOUTH_WEST[facing], NORTH_EAST_SOUTH_WEST[(facing + 1) % 4]
        return at(cell % width + ahead * fx + right * rx, cell // width + ahead * fy + right * ry)

    steps = np.zeros((cells, 4), int)
    beams = np.full((cells, 4, 3, 3), -1)
    windows = np.zeros((cells * 4, WINDOW[0] * WINDOW[1]), int)
    for cell in range(cells):
        for facing in range(4):
            there = from_here(cell, facing, 1, 0)
            steps[cell, facing] = cell if walls[there] else there
            for i, line in enumerate(BEAM):
                for j, (ahead, right) in enumerate(line):
                    target = from_here(cell, facing, ahead, right)
                    if walls[target]:
                        break
                    beams[cell, facing, i, j] = target
            windows[cell * 4 + facing] = [
                from_here(cell, facing, AHEAD - row, column - ASIDE)
                for row in range(WINDOW[0])
                for column in range(WINDOW[1])
            ]
    x, y = apples % width, apples // width
    away = np.hypot(x[:, None] - x[None, :], y[:, None] - y[None, :])
    near = ((away <= REACH) & (away > 0)).astype(np.float32)
    ground = np.full(cells + 1, GROUNDS.index("floor"))
    ground[walls] = GROUNDS.index("wall")
    ground[apples] = GROUNDS.index("bush")
    ground[cells] = GROUNDS.index("outside")
    return Layout(
        height, width, walls, apples, spawns, firsts, apple_of, spawn_of, steps, beams, near,
        _bushes(near),
        windows + GROUND * ground[windows],
    )  # fmt: skip


def _bushes(near: Float[np.ndarray, "apples apples"]) -> Int[np.ndarray, " apples"]:
    """Numbers of bushes: apples that are joined by steps from one to another near it."""
    own = np.arange(len(near))
    while True:
        joined = np.where(near > 0, own[None, :], own[:, None]).min(axis=1)
        if np.array_equal(joined, own):
            return np.unique(own, return_inverse=True)[1]
        own = joined
