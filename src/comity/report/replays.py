"""Replays: pictures of games, frame by frame, and animations of them."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from comity.core import palette

Frame = UInt8[np.ndarray, "height width 3"]
Draw = Callable[[dict[str, Any]], Frame]
CELL = 44


def draw_coin(step: dict[str, Any]) -> Frame:
    """The Coin Game: discs are players, a ring is the coin in its owner's colour, rewards below."""
    planes = np.asarray(step["obs"][0])
    players = planes.shape[0] // 2
    height, width = planes.shape[1:]
    image = Image.new("RGB", (width * CELL, height * CELL + 26), palette.PAPER)
    pen = ImageDraw.Draw(image)
    for row in range(height + 1):
        pen.line([(0, row * CELL), (width * CELL, row * CELL)], fill=palette.RULE)
    for column in range(width + 1):
        pen.line([(column * CELL, 0), (column * CELL, height * CELL)], fill=palette.RULE)
    for owner in range(players):
        for row, column in np.argwhere(planes[players + owner] > 0):
            box = _box(column, row, 0.30)
            pen.ellipse(box, outline=palette.SERIES[owner], width=5)
    for player in range(players):
        for row, column in np.argwhere(planes[player] > 0):
            shift = (player - (players - 1) / 2) * 0.16
            pen.ellipse(_box(column + shift, row, 0.20), fill=palette.SERIES[player])
    _write_rewards(pen, step["total"], height * CELL + 6)
    return np.asarray(image)


def draw_negotiation(step: dict[str, Any]) -> Frame:
    """Negotiation: for each item, both values and proposals as bars; the dear side is dark."""
    obs = np.asarray(step["obs"][0]) * 10.0
    items = obs.shape[0] // 5
    values = [obs[items : 2 * items], obs[3 * items : 4 * items]]
    proposals = [np.asarray(action) for action in step["action"]]
    most = max(float(np.max(proposals)), 5.0)
    image = Image.new("RGB", (max(items * 84, 240), 170), palette.PAPER)
    pen = ImageDraw.Draw(image)
    for item in range(items):
        for player in range(2):
            left = 14 + item * 84 + player * 32
            tall = 96 * float(proposals[player][item]) / most
            dear = values[player][item] >= values[1 - player][item]
            colour = palette.SERIES[player] if dear else _pale(palette.SERIES[player])
            pen.rectangle([left, 118 - tall, left + 26, 118], fill=colour)
            pen.text((left + 4, 122), f"{values[player][item]:.0f}", fill=palette.LABEL)
    _write_rewards(pen, step["total"], 146)
    return np.asarray(image)


def draw_matrix(step: dict[str, Any]) -> Frame:
    """A matrix game: one column per step so far, one row per player, cooperation light, defection dark."""
    moves = np.asarray(step["history"])
    steps, players = moves.shape
    image = Image.new("RGB", (max(step["length"] * 22 + 12, 200), players * 30 + 34), palette.PAPER)
    pen = ImageDraw.Draw(image)
    for t in range(steps):
        for player in range(players):
            colour = _pale(palette.SERIES[player]) if moves[t, player] == 0 else palette.SERIES[player]
            pen.rectangle([6 + t * 22, 4 + player * 30, 24 + t * 22, 30 + player * 30], fill=colour)
            letter = "C" if moves[t, player] == 0 else "D"
            ink = palette.INK if moves[t, player] == 0 else palette.PAPER
            pen.text((11 + t * 22, 10 + player * 30), letter, fill=ink)
    _write_rewards(pen, step["total"], players * 30 + 10)
    return np.asarray(image)


def draw_harvest(step: dict[str, Any]) -> Frame:
    """Commons Harvest: the world as the original draws it, and what each player has eaten."""
    world = Image.fromarray(np.asarray(step["picture"]))
    world = world.resize((world.width * 2, world.height * 2), Image.Resampling.NEAREST)
    image = Image.new("RGB", (world.width, world.height + 22), palette.PAPER)
    image.paste(world, (0, 0))
    pen = ImageDraw.Draw(image)
    place = world.width // len(step["total"])
    for player, total in enumerate(step["total"]):
        pen.text((6 + player * place, world.height + 5), f"{player + 1}: {total:.0f}", fill=palette.LABEL)
    return np.asarray(image)


DRAWINGS: dict[str, Draw] = {
    "coin": draw_coin,
    "negotiation": draw_negotiation,
    "matrix": draw_matrix,
    "commons-harvest": draw_harvest,
}


def frames(family: str, steps: Sequence[dict[str, Any]]) -> list[Frame]:
    """The pictures of an episode, if games of the family can be drawn."""
    draw = DRAWINGS.get(family)
    return [] if draw is None else [draw(step) for step in steps]


def animation(pictures: Sequence[Frame], milliseconds: int = 350) -> bytes:
    """The pictures as an animated GIF that repeats."""
    images = [Image.fromarray(picture) for picture in pictures]
    content = io.BytesIO()
    images[0].save(
        content,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=milliseconds,
        loop=0,
        optimize=True,
    )
    return content.getvalue()


def strip(pictures: Sequence[Frame], columns: int = 8) -> bytes:
    """The first pictures side by side, as PNG."""
    chosen = list(pictures)[: columns * 2]
    height, width = chosen[0].shape[:2]
    rows = -(-len(chosen) // columns)
    sheet = Image.new("RGB", (columns * (width + 8), rows * (height + 8)), palette.PAPER)
    for i, picture in enumerate(chosen):
        sheet.paste(Image.fromarray(picture), ((i % columns) * (width + 8), (i // columns) * (height + 8)))
    content = io.BytesIO()
    sheet.save(content, format="PNG", optimize=True)
    return content.getvalue()


def _box(column: float, row: float, radius: float) -> list[float]:
    x, y = (column + 0.5) * CELL, (row + 0.5) * CELL
    return [x - radius * CELL, y - radius * CELL, x + radius * CELL, y + radius * CELL]


def _write_rewards(pen: ImageDraw.ImageDraw, totals: Sequence[float], y: float) -> None:
    for player, total in enumerate(totals):
        pen.text((8 + player * 64, y), f"{total:+.2f}", fill=palette.SERIES[player])


def _pale(colour: str) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{(c + 2 * 255) // 3:02x}" for c in parts)
