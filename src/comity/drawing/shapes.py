"""The shapes of pieces, as polygons and circles."""

import math

from PIL import ImageDraw

from comity.core import palette
from comity.core.scene import Shape


def draw_shape(
    pen: ImageDraw.ImageDraw,
    shape: Shape,
    x: float,
    y: float,
    radius: float,
    colour: str,
    fine: int,
    facing: int,
) -> None:
    """A shape around a point."""
    box = [x - radius, y - radius, x + radius, y + radius]
    match shape:
        case "disc":
            pen.ellipse(box, fill=colour)
        case "ring":
            pen.ellipse(box, outline=colour, width=max(int(radius / 5), 2 * fine))
        case "square":
            pen.rounded_rectangle(box, radius / 4, fill=colour)
        case "diamond":
            pen.polygon([(x, box[1]), (box[2], y), (x, box[3]), (box[0], y)], fill=colour)
        case "arrow":
            turn = math.pi / 2 * facing
            corners = [(0.0, -1.0), (0.85, 0.8), (0.0, 0.4), (-0.85, 0.8)]
            pen.polygon(
                [
                    (
                        x + radius * (a * math.cos(turn) - b * math.sin(turn)),
                        y + radius * (a * math.sin(turn) + b * math.cos(turn)),
                    )
                    for a, b in corners
                ],
                fill=colour,
            )
        case "none":
            pass


def ink_on(colour: str) -> str:
    """The colour of letters that can be read on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return palette.INK if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else palette.PAPER
