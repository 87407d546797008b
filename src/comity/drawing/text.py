"""Scenes as lines of text for a terminal, in colour where it has colours and readable without."""

from itertools import groupby

import numpy as np
from rich.text import Text

from comity.core.scene import (
    Bars,
    Cell,
    Grid,
    Legend,
    Note,
    Piece,
    Pixels,
    Plane,
    Row,
    Scene,
    Stack,
    Table,
)
from comity.drawing.shapes import ink_on
from comity.drawing.spans import spans_of

Lines = list[Text]
BORDERED = 8  # grids of at most so many columns have lines between their cells
PLANE = (20, 41)  # rows and columns of characters that a plane takes
BAR = 24  # characters of the longest bar
ARROWS = "▲▶▼◀"


def write(scene: Scene, width: int = 100) -> Text:
    """A scene as text; pictures take at most a width."""
    return Text("\n").join(_write(scene, width))


def _write(scene: Scene, width: int) -> Lines:
    match scene:
        case Grid():
            return _grid(scene)
        case Plane():
            return _plane(scene)
        case Table():
            return _table(scene)
        case Bars():
            return _bars(scene)
        case Pixels():
            return _write(scene.text, width) if scene.text is not None else _blocks(scene.image, width)
        case Note():
            return [_cell(scene.text, "bold" if scene.bold else "")]
        case Legend():
            entries = [Text("■ ", colour) + Text(name) for colour, name in scene.entries]
            return [Text("   ").join(entries)]
        case Row():
            return _row([_write(part, width // len(scene.scenes)) for part in scene.scenes])
        case Stack():
            return [line for part in scene.scenes for line in _write(part, width)]


def _row(blocks: list[Lines]) -> Lines:
    tall = max(len(block) for block in blocks)
    found = [Text() for _ in range(tall)]
    for i, block in enumerate(blocks):
        wide = max(line.cell_len for line in block)
        for y in range(tall):
            line = block[y].copy() if y < len(block) else Text()
            line.pad_right(wide - line.cell_len + (3 if i < len(blocks) - 1 else 0))
            found[y] += line
    return found


def _cell(cell: Cell, style: str = "") -> Text:
    """Texts with their colours; a plain one has the terminal's own colour."""
    if isinstance(cell, str):
        return Text(cell, style)
    return Text.assemble(*((text, f"{style} {colour}".strip()) for text, colour in spans_of(cell)))


def _grid(grid: Grid) -> Lines:
    """Small grids with lines between the cells, large ones without."""
    pieces = sorted(grid.pieces, key=lambda piece: (piece.row, piece.column))
    inside = {place: list(found) for place, found in groupby(pieces, lambda piece: (piece.row, piece.column))}
    bordered = grid.columns <= BORDERED and not grid.ground
    names = [_cell(name) for name in grid.side]
    longest = max((name.cell_len for name in names), default=-1) + 1
    labels = {place: _together(grid, place, found) for place, found in inside.items()}
    wide = max([label.cell_len for label in labels.values()] + [1])
    found = [_rule(grid.columns, wide, "┌┬┐")] if bordered else []
    for row in range(grid.rows):
        line = Text()
        if names:
            line += names[row].copy()
            line.pad_right(longest - names[row].cell_len)
        line.append("│ " if bordered else "")
        for column in range(grid.columns):
            colour = grid.ground[row][column] if grid.ground else ""
            label = labels.get((row, column), Text("" if bordered or grid.ground else "·")).copy()
            label.pad_right(wide - label.cell_len + (0 if bordered or names else 1))
            if colour:
                label.stylize(f"{ink_on(colour)} on {colour}")
            line += label
            line.append(" │ " if bordered and column < grid.columns - 1 else " │" if bordered else "")
        found.append(line)
        if bordered:
            found.append(_rule(grid.columns, wide, "├┼┤" if row < grid.rows - 1 else "└┴┘"))
    return found


def _rule(columns: int, wide: int, corners: str) -> Text:
    return Text(corners[0] + corners[1].join(["─" * (wide + 2)] * columns) + corners[2])


def _together(grid: Grid, place: tuple[int, int], pieces: list[Piece]) -> Text:
    """All pieces of a cell: letters in their colours, on coloured ground in bold."""
    label = Text()
    for piece in pieces:
        sign = piece.text or piece.label or (ARROWS[piece.facing] if piece.shape == "arrow" else "●")
        on_ground = bool(grid.ground and grid.ground[place[0]][place[1]])
        label.append(sign, "bold" if on_ground else f"bold {piece.colour}")
    return label


def _plane(plane: Plane) -> Lines:
    rows, columns = PLANE
    signs = [[Text(" ") for _ in range(columns)] for _ in range(rows)]
    for disc in plane.discs:
        column = round((disc.x + plane.reach) / (2 * plane.reach) * (columns - 1))
        row = round((plane.reach - disc.y) / (2 * plane.reach) * (rows - 1))
        sign = (disc.text or disc.label or "o")[:1]
        signs[int(np.clip(row, 0, rows - 1))][int(np.clip(column, 0, columns - 1))] = Text(
            sign, f"bold {disc.colour}"
        )
    edge = Text("─" * columns)
    lines = [Text("│") + Text("").join(row) + Text("│") for row in signs]
    return [Text("┌") + edge + Text("┐"), *lines, Text("└") + edge + Text("┘")]


def _table(table: Table) -> Lines:
    body = [[_cell(cell) for cell in row] for row in table.rows]
    head = [_cell(cell, "bold") for cell in table.header]
    if table.chosen is not None:
        body = [
            [
                _marked(cell, table.framed) if _chosen(table, r, c) else cell.copy()
                for c, cell in enumerate(row)
            ]
            for r, row in enumerate(body)
        ]
    align = table.align or "c" * max(len(row) for row in (*body, head))
    if table.side:
        names = [_cell(cell, "bold") for cell in table.side]
        body = [[name, *row] for name, row in zip(names, body, strict=True)]
        head = [Text(table.corner), *head] if head else []
        align = "r" + align
    rows = ([head] if head else []) + body
    least = [Text(text) for text in ("", *table.least)[0 if table.side else 1 :]]
    widths = [
        max(cell.cell_len for row in (*rows, least) for cell in row[c : c + 1]) for c in range(len(align))
    ]
    return [
        Text("  ").join(
            _aligned(cell, wide, how) for cell, wide, how in zip(row, widths, align, strict=False)
        )
        for row in rows
    ]


def _chosen(table: Table, row: int, column: int) -> bool:
    assert table.chosen is not None
    return all(own in (None, at) for own, at in zip(table.chosen, (row, column), strict=True))


def _marked(cell: Text, framed: bool) -> Text:
    return Text("[") + cell + Text("]") if framed else cell.copy()


def _aligned(cell: Text, wide: int, how: str) -> Text:
    cell, spare = cell.copy(), wide - cell.cell_len
    before = {"l": 0, "c": spare // 2, "r": spare}[how]
    cell.pad_left(before)
    cell.pad_right(spare - before)
    return cell


def _bars(bars: Bars) -> Lines:
    names = [_cell(bar.label) for bar in bars.bars]
    longest = max(name.cell_len for name in names)
    found = []
    for bar, name in zip(bars.bars, names, strict=True):
        line = _aligned(name, longest, "r") + Text(" ")
        used, total = 0, 0.0
        for i, (amount, colour) in enumerate(bar.parts):
            total += max(amount, 0.0)
            end = min(round(BAR * total / bars.most), BAR)
            line.append("█▓▒░"[i % 4] * (end - used), colour)
            used = max(used, end)
        line.append("·" * (BAR - used), "dim")
        found.append(line + Text(" " + bar.note))
    return found


def _blocks(image: np.ndarray, width: int) -> Lines:
    """Two dots of a picture in each character, in its colours."""
    from PIL import Image

    whole = Image.fromarray(np.asarray(image))
    columns = max(min(width, whole.width), 1)
    rows = max(round(whole.height * columns / whole.width / 2), 1)
    dots = np.asarray(whole.resize((columns, 2 * rows), Image.Resampling.BOX))
    found = []
    for y in range(rows):
        line = Text()
        for x in range(columns):
            above, below = ("#" + bytes(dots[2 * y + k, x]).hex() for k in (0, 1))
            line.append("▀", f"{above} on {below}")
        found.append(line)
    return found
