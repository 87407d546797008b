"""What a game looks like in one state, as plain data: grids, planes, tables, bars and pixels, put together.

`Environment.draw(state)` returns one of these; `comity.drawing` makes pixels or text of it, so a game that
draws itself is seen in pictures, on pages and in a terminal. Colours are written as in `core/palette.py`,
whose `SERIES` are those of the seats, in order.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import UInt8

from comity.core import palette
from comity.core.errors import ComityError

Shape = Literal["disc", "ring", "square", "diamond", "arrow", "none"]
Cell = str | tuple[tuple[str, str], ...]  # a text, or texts with their colours


class Piece(NamedTuple):
    """Something in a cell of a grid; pieces in one cell stand side by side."""

    row: int
    column: int
    colour: str = palette.INK
    label: str = ""  # written on it
    shape: Shape = "disc"
    text: str = ""  # what stands for it in a terminal, by default the label
    facing: int = 0  # where an arrow points: 0 up, 1 right, 2 down, 3 left
    size: float = 0.62  # of the cell


@dataclass(frozen=True)
class Grid:
    """Cells in rows and columns, with pieces."""

    rows: int
    columns: int
    pieces: tuple[Piece, ...] = ()
    ground: tuple[tuple[str, ...], ...] = ()  # the colour of each cell, empty: paper
    side: tuple[Cell, ...] = ()  # a name for each row
    cell: int = 96  # the largest size of a cell, in pixels


class Disc(NamedTuple):
    """Something on a plane."""

    x: float
    y: float
    radius: float
    colour: str = palette.INK
    label: str = ""
    shape: Shape = "disc"
    text: str = ""  # what stands for it in a terminal, by default the label


@dataclass(frozen=True)
class Plane:
    """The square from -reach to reach, y up; what is drawn first lies below."""

    discs: tuple[Disc, ...]
    reach: float = 1.0


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns; one row, column or cell may be marked."""

    rows: tuple[tuple[Cell, ...], ...]
    header: tuple[Cell, ...] = ()
    side: tuple[Cell, ...] = ()
    corner: str = ""  # above the side and left of the header
    chosen: tuple[int | None, int | None] | None = None  # row and column; None stands for all of them
    align: str = ""  # of each column: l, c or r; by default centred
    least: tuple[str, ...] = ()  # texts for which each column has room, so that it does not change its width
    framed: bool = True  # whether lines separate the cells


class Bar(NamedTuple):
    """A bar, made of parts one after the other."""

    label: Cell
    parts: tuple[tuple[float, str], ...]  # how long, and in which colour
    note: str = ""  # behind the bar


@dataclass(frozen=True)
class Bars:
    """Bars one below the other, all of them measured by `most`."""

    bars: tuple[Bar, ...]
    most: float = 1.0


@dataclass(frozen=True, eq=False)
class Pixels:
    """A picture; `text` is drawn in its place in a terminal, by default coloured blocks."""

    image: UInt8[Any, "height width 3"]
    text: "Scene | None" = None
    seat_colours: tuple[str, ...] = ()  # of the seats in this picture, where they are not the usual ones


@dataclass(frozen=True)
class Note:
    """A line of text."""

    text: Cell
    bold: bool = False


@dataclass(frozen=True)
class Legend:
    """What colours stand for."""

    entries: tuple[tuple[str, str], ...]  # a colour, and its name


@dataclass(frozen=True)
class Row:
    """Scenes side by side."""

    scenes: "tuple[Scene, ...]"


@dataclass(frozen=True)
class Stack:
    """Scenes one below the other."""

    scenes: "tuple[Scene, ...]"
    align: Literal["left", "centre"] = "centre"


Scene = Grid | Plane | Table | Bars | Pixels | Note | Legend | Row | Stack
Drawing = Scene | str | np.ndarray | None  # what a game's `draw` may return
SCENES = (Grid, Plane, Table, Bars, Pixels, Note, Legend, Row, Stack)


def as_scene(drawing: Any) -> Scene:
    """What a game's `draw` returned as a scene: a scene, a text, or an array [height, width, 3] of bytes."""
    if isinstance(drawing, SCENES):
        return drawing
    if isinstance(drawing, str):
        lines = tuple(Note(line) for line in drawing.splitlines() or [""])
        return lines[0] if len(lines) == 1 else Stack(lines, align="left")
    shape, kind = getattr(drawing, "shape", None), getattr(drawing, "dtype", None)
    if shape is None or len(shape) != 3 or shape[2] != 3 or min(shape) < 1 or kind != "uint8":
        found = type(drawing).__name__ if shape is None else f"an array of {kind} of the shape {tuple(shape)}"
        raise ComityError(
            f"draw must return a scene of comity.core.scene, a text, an array [height, width, 3] of uint8 or "
            f"None, not {found}."
        )
    return Pixels(drawing)


def seat_colours(scene: Scene | None, seats: int) -> list[str]:
    """The colour of each seat in a scene."""
    for part in _parts(scene):
        if isinstance(part, Pixels) and part.seat_colours:
            return [part.seat_colours[i % len(part.seat_colours)] for i in range(seats)]
    return palette.series(seats)


def _parts(scene: Scene | None) -> list[Scene]:
    if scene is None:
        return []
    if isinstance(scene, Row | Stack):
        return [part for inner in scene.scenes for part in _parts(inner)]
    return [scene]


def joined(texts: Iterable[str], colours: Iterable[str], gap: str = "  ") -> Cell:
    """Texts after one another, each in its colour."""
    found = [
        part for text, colour in zip(texts, colours, strict=True) for part in ((text, colour), (gap, colour))
    ]
    return tuple(found[:-1])


def pale(colour: str, share: float = 0.28) -> str:
    """A colour mixed with white: `share` of it is left."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + share * (c - 255)):02x}" for c in parts)
