"""Scenes as pictures.

Every part becomes an image of its own, twice as large as it will be seen, and these are put together; the
whole is made smaller at the end, which smooths all edges.
"""

import importlib.util
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont

from comity.core import palette
from comity.core.scene import Bars, Grid, Legend, Note, Pixels, Plane, Row, Scene, Stack, Table
from comity.drawing.shapes import draw_shape, ink_on
from comity.drawing.spans import spans_of

FINE = 2  # pixels drawn for each pixel shown
GAP = 12  # pixels between parts
TEXT = 15  # size of letters

Frame = UInt8[np.ndarray, "_ _ 3"]  # height, width, colours


def paint(scene: Scene, width: int = 560, height: int = 400) -> Frame:
    """A scene as an array of bytes; grids, planes and pictures are made to fit into a width and height."""
    large = _paint(scene, width * FINE, height * FINE)
    return np.asarray(large.reduce(FINE))


def _paint(scene: Scene, width: int, height: int) -> Image.Image:
    match scene:
        case Grid():
            return _grid(scene, width, height)
        case Plane():
            return _plane(scene, min(width, height))
        case Table():
            return _table(scene)
        case Bars():
            return _bars(scene)
        case Pixels():
            return _pixels(scene, width, height)
        case Note():
            return _line(spans_of(scene.text), scene.bold)
        case Legend():
            return _legend(scene, width)
        case Row():
            count = len(scene.scenes)
            lower = height if count == 1 else height * 5 // 8
            return _row([_paint(part, width // count, lower) for part in scene.scenes])
        case Stack():
            return _stack([_paint(part, width, height) for part in scene.scenes], scene.align == "left")


def _row(images: list[Image.Image]) -> Image.Image:
    """Images side by side, in the middle of the highest; several rows would be a stack."""
    gap = 2 * GAP * FINE
    sheet = _paper(sum(i.width for i in images) + gap * (len(images) - 1), max(i.height for i in images))
    left = 0
    for image in images:
        sheet.paste(image, (left, (sheet.height - image.height) // 2))
        left += image.width + gap
    return sheet


def _stack(images: list[Image.Image], to_the_left: bool) -> Image.Image:
    gap = GAP * FINE
    sheet = _paper(max(i.width for i in images), sum(i.height for i in images) + gap * (len(images) - 1))
    top = 0
    for image in images:
        sheet.paste(image, (0 if to_the_left else (sheet.width - image.width) // 2, top))
        top += image.height + gap
    return sheet


def _grid(grid: Grid, width: int, height: int) -> Image.Image:
    names = [_line(spans_of(name)) for name in grid.side]
    side = max((name.width for name in names), default=0) + (GAP * FINE if names else 0)
    cell = min(grid.cell * FINE, (width - side) // grid.columns, height // grid.rows)
    cell = max(cell, 4 * FINE)
    image = _paper(side + grid.columns * cell + FINE, grid.rows * cell + FINE)
    pen = ImageDraw.Draw(image)
    for row in range(grid.rows):
        if names:
            image.paste(names[row], (0, row * cell + (cell - names[row].height) // 2))
        for column in range(grid.columns):
            colour = grid.ground[row][column] if grid.ground else ""
            box = [side + column * cell, row * cell, side + (column + 1) * cell, (row + 1) * cell]
            if colour or not grid.ground or not names:
                pen.rectangle(box, fill=colour or palette.PAPER, outline=palette.RULE, width=FINE)
    by_cell = groupby(sorted(grid.pieces, key=lambda p: (p.row, p.column)), lambda p: (p.row, p.column))
    for (row, column), found in by_cell:
        pieces = list(found)
        for i, piece in enumerate(pieces):
            # Several in one cell are smaller and stand side by side.
            shift = (i - (len(pieces) - 1) / 2) * cell * 0.7 / len(pieces)
            radius = piece.size * cell / 2 / (1 if len(pieces) == 1 else 1.5)
            x, y = side + (column + 0.5) * cell + shift, (row + 0.5) * cell
            colour = piece.colour
            draw_shape(pen, piece.shape, x, y, radius, colour, FINE, piece.facing)
            if piece.label:
                on = grid.ground[row][column] if grid.ground and piece.shape == "none" else colour
                ink = colour if piece.shape == "ring" else ink_on(on or palette.PAPER)
                _centred(pen, piece.label, x, y, min(radius * 1.15, 22 * FINE), ink)
    return image


def _plane(plane: Plane, size: int) -> Image.Image:
    image = _paper(size, size)
    pen = ImageDraw.Draw(image)
    pen.rectangle([0, 0, size - 1, size - 1], fill=palette.WASH, outline=palette.RULE, width=FINE)
    unit = size / (2 * plane.reach)
    for disc in plane.discs:
        x, y = (disc.x + plane.reach) * unit, (plane.reach - disc.y) * unit
        # What left the plane is seen at its border.
        x, y = (float(np.clip(at, 6 * FINE, size - 6 * FINE)) for at in (x, y))
        radius = max(disc.radius * unit, 3 * FINE)
        draw_shape(pen, disc.shape, x, y, radius, disc.colour, FINE, 0)
        if disc.label:
            inside = disc.shape != "ring" and radius >= 8 * FINE
            ink = ink_on(disc.colour) if inside else disc.colour
            place = y if inside else y - radius - 8 * FINE
            _centred(pen, disc.label, x, place, min(radius * 1.2, 15 * FINE) if inside else 13 * FINE, ink)
    return image


def _table(table: Table) -> Image.Image:
    """Cells as wide as the widest of their column, lines between them, what is chosen on a wash."""
    body = [[_line(spans_of(cell)) for cell in row] for row in table.rows]
    head = [_line(spans_of(cell), bold=True) for cell in table.header]
    side = [_line(spans_of(cell), bold=True) for cell in table.side]
    corner, least = _line(spans_of(table.corner)), [_line(spans_of(text)) for text in table.least]
    pad = (10 if table.framed else 7) * FINE
    count = max(len(row) for row in (*body, head))
    columns = [
        max(i.width for row in (*body, head, least) for i in row[c : c + 1]) + 2 * pad for c in range(count)
    ]
    tall = max(i.height for row in (*body, head, side) for i in row) + (10 if table.framed else 4) * FINE
    left = max([i.width for i in (*side, corner)]) + 2 * pad if side else 0
    top = tall if head else 0
    image = _paper(left + sum(columns) + FINE, top + tall * len(body) + FINE)
    pen = ImageDraw.Draw(image)
    edges = [left + sum(columns[:c]) for c in range(count + 1)]
    if table.chosen is not None:
        row, column = table.chosen
        box = [
            left if column is None else edges[column],
            top if row is None else top + row * tall,
            edges[-1] if column is None else edges[column + 1],
            image.height - FINE if row is None else top + (row + 1) * tall,
        ]
        pen.rectangle(box, fill="#fff1c2")
    if table.framed:
        for x in edges:
            pen.line([x, top, x, image.height], fill=palette.GUIDE, width=FINE)
        for r in range(len(body) + 1):
            pen.line([left, top + r * tall, edges[-1], top + r * tall], fill=palette.GUIDE, width=FINE)
        if table.chosen is not None:
            pen.rectangle(box, outline=palette.INK, width=2 * FINE)
    align = table.align or "c" * count
    for r, cells in enumerate(body):
        for c, cell in enumerate(cells):
            _put(image, cell, edges[c] + pad, columns[c] - 2 * pad, top + r * tall, tall, align[c])
    for c, cell in enumerate(head):
        _put(image, cell, edges[c] + pad, columns[c] - 2 * pad, 0, tall, align[c])
    for r, cell in enumerate(side):
        _put(image, cell, pad, left - 2 * pad, top + r * tall, tall, "r")
    if side:
        _put(image, corner, pad, left - 2 * pad, 0, tall, "r")
    return image


def _put(
    image: Image.Image, what: Image.Image, left: int, width: int, top: int, height: int, align: str
) -> None:
    spare = {"l": 0, "c": (width - what.width) // 2, "r": width - what.width}[align]
    # Letters only darken what is below them, so a wash behind them stays.
    place = (left + spare, top + (height - what.height) // 2)
    box = (*place, place[0] + what.width, place[1] + what.height)
    under, over = np.asarray(image.crop(box)), np.asarray(what)
    image.paste(Image.fromarray(np.minimum(under, over)), place)


def _bars(bars: Bars) -> Image.Image:
    names = [_line(spans_of(bar.label)) for bar in bars.bars]
    notes = [_line(spans_of(bar.note)) for bar in bars.bars]
    gap, wide, tall = 8 * FINE, 240 * FINE, 26 * FINE
    left = max(name.width for name in names) + gap
    image = _paper(left + wide + gap + max(note.width for note in notes), tall * len(names))
    pen = ImageDraw.Draw(image)
    for i, (bar, name, note) in enumerate(zip(bars.bars, names, notes, strict=True)):
        top, bottom = i * tall + 4 * FINE, (i + 1) * tall - 4 * FINE
        image.paste(name, (left - gap - name.width, i * tall + (tall - name.height) // 2))
        pen.rectangle([left, top, left + wide, bottom], fill=palette.LINE)
        x = float(left)
        for amount, colour in bar.parts:
            after = x + wide * max(amount, 0.0) / bars.most
            if after - x >= 1:
                pen.rectangle([x, top, min(after, left + wide), bottom], fill=colour)
            x = after
        image.paste(note, (left + wide + gap, i * tall + (tall - note.height) // 2))
    return image


def _pixels(pixels: Pixels, width: int, height: int) -> Image.Image:
    """Small pictures are made larger by whole numbers, so that their dots stay sharp."""
    image = Image.fromarray(np.asarray(pixels.image))
    times = min(width / image.width, height / image.height)
    whole = times >= 2 * FINE
    times = float(times // FINE * FINE) if whole else times
    size = (max(round(image.width * times), 1), max(round(image.height * times), 1))
    return image.resize(size, Image.Resampling.NEAREST if whole else Image.Resampling.LANCZOS)


def _legend(legend: Legend, width: int) -> Image.Image:
    """Entries one after the other, in as many lines as it takes."""
    lines: list[list[Image.Image]] = [[]]
    for colour, name in legend.entries:
        image = _line(((("■ "), colour), (name, palette.LABEL)))
        used = sum(entry.width + 2 * GAP * FINE for entry in lines[-1])
        if lines[-1] and used + image.width > max(width, 400 * FINE):
            lines.append([])
        lines[-1].append(image)
    return _stack([_row(line) for line in lines], to_the_left=False)


def _line(spans: tuple[tuple[str, str], ...], bold: bool = False) -> Image.Image:
    """Texts after one another, each in its colour."""
    font = _font(TEXT * FINE, bold)
    widths = [font.getlength(text) for text, _ in spans]
    image = _paper(int(sum(widths)) + 1, int(TEXT * FINE * 1.25))
    pen = ImageDraw.Draw(image)
    x = 0.0
    for (text, colour), wide in zip(spans, widths, strict=True):
        pen.text((x, image.height / 2), text, fill=colour, font=font, anchor="lm")
        x += wide
    return image


def _centred(pen: ImageDraw.ImageDraw, text: str, x: float, y: float, size: float, colour: str) -> None:
    shrink = min(1.0, 2.2 / len(text))
    pen.text((x, y), text, fill=colour, font=_font(max(int(size * shrink), 6), bold=True), anchor="mm")


def _paper(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (max(width, 1), max(height, 1)), palette.PAPER)


@lru_cache(maxsize=64)
def _font(size: int, bold: bool) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which comes with Matplotlib and has letters of most languages."""
    found = importlib.util.find_spec("matplotlib")
    assert found is not None
    assert found.submodule_search_locations
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    folder = Path(found.submodule_search_locations[0]) / "mpl-data" / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / name), size)
