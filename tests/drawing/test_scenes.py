"""Scenes as pixels and as text: what is drawn is where it should be, and can be read."""

import numpy as np
import pytest
from PIL import Image

from comity.core import palette
from comity.core.errors import ComityError
from comity.core.scene import (
    Bar,
    Bars,
    Disc,
    Grid,
    Legend,
    Note,
    Piece,
    Pixels,
    Plane,
    Row,
    Stack,
    Table,
    as_scene,
    seat_colours,
)
from comity.drawing.pixels import paint
from comity.drawing.text import write

RED = np.asarray([213, 94, 0])  # palette.VERMILION


def places(picture, colour=RED):
    """Where a colour is, as shares of the height and of the width."""
    rows, columns = np.nonzero(np.abs(picture.astype(int) - colour).sum(axis=2) < 12)
    return rows.mean() / picture.shape[0], columns.mean() / picture.shape[1]


def test_a_piece_stands_in_its_cell():
    picture = paint(Grid(2, 4, (Piece(1, 3, palette.VERMILION),)))
    row, column = places(picture)
    assert row == pytest.approx(0.75, abs=0.02)
    assert column == pytest.approx(0.875, abs=0.02)


def test_large_grids_fit_and_small_ones_stay_small():
    assert paint(Grid(40, 40), 560, 400).shape[0] <= 402
    assert paint(Grid(3, 3), 560, 400).shape[0] == pytest.approx(3 * 96, abs=2)


def test_planes_have_y_up_and_keep_who_left_at_the_border():
    row, column = places(paint(Plane((Disc(0.5, 0.5, 0.1, palette.VERMILION),))))
    assert (row, column) == (pytest.approx(0.25, abs=0.02), pytest.approx(0.75, abs=0.02))
    row, column = places(paint(Plane((Disc(9.0, 0.0, 0.1, palette.VERMILION),))))
    assert column > 0.95


def test_the_chosen_cell_is_marked():
    table = Table((("a", "b"), ("c", "d")), chosen=(1, 0))
    row, column = places(paint(table), np.asarray([255, 241, 194]))
    assert row > 0.5 > column
    assert write(table).plain.splitlines() == [" a   b", "[c]  d"]


def test_text_says_what_pixels_show():
    scene = Stack(
        (
            Row((Grid(1, 2, (Piece(0, 0, text="$1"), Piece(0, 1, label="2"))), Note("beside"))),
            Bars((Bar("cooperates", ((0.5, palette.BLUE), (0.25, palette.GREEN)), "half"),)),
            Legend(((palette.BLUE, "a player"),)),
        )
    )
    lines = write(scene).plain.splitlines()
    assert lines[0] == "┌────┬────┐   beside"
    assert lines[1].rstrip() == "│ $1 │ 2  │"
    assert lines[3] == "cooperates " + "█" * 12 + "▓" * 6 + "·" * 6 + " half"
    assert lines[4] == "■ a player"


def test_colours_are_kept_in_text():
    text = write(Note((("one", palette.BLUE), ("two", palette.GREEN))))
    assert [span.style for span in text.spans] == [palette.BLUE, palette.GREEN]


def test_pictures_are_blocks_in_a_terminal_unless_they_have_a_text():
    image = np.zeros((8, 4, 3), np.uint8)
    lines = write(Pixels(image), width=4).plain.splitlines()
    assert lines == ["▀▀▀▀"] * 4
    assert write(Pixels(image, Note("a world"))).plain == "a world"


def test_small_pictures_are_enlarged_by_whole_numbers():
    image = np.asarray(Image.effect_noise((10, 10), 90).convert("RGB"))
    assert paint(Pixels(image), 105, 400).shape == (100, 100, 3)


def test_what_draw_may_return():
    assert as_scene("two\nlines") == Stack((Note("two"), Note("lines")), align="left")
    assert isinstance(as_scene(np.zeros((2, 2, 3), np.uint8)), Pixels)
    with pytest.raises(ComityError, match=r"not an array of float64 of the shape \(2, 2\)"):
        as_scene(np.zeros((2, 2)))
    with pytest.raises(ComityError, match="not dict"):
        as_scene({})


def test_seats_have_the_colours_of_their_sprites():
    sprites = Stack((Note(""), Pixels(np.zeros((1, 1, 3), np.uint8), seat_colours=("#010203",))))
    assert seat_colours(sprites, 2) == ["#010203", "#010203"]
    assert seat_colours(None, 2) == list(palette.SERIES[:2])
