"""Replays as pictures: frames, animations, a sheet of frames, and a page that plays them."""

import base64
import html
import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from comity.core import palette
from comity.core.errors import ComityError
from comity.core.files import write_atomically
from comity.core.scene import Cell, Grid, Note, Piece, Scene, Stack, Table, pale, seat_colours
from comity.core.spaces import Discrete, say
from comity.drawing.pixels import Frame, paint
from comity.evaluate.replay import Moment, Replay
from comity.report.replay_page import replay_page

FORMATS = (".gif", ".webp", ".png", ".html")
HISTORY = 30  # how many of the last actions are shown
MARGIN = 18  # pixels around a frame
WIDTH = 440  # the smallest width of what is inside


class ShownReplay(Replay):
    """A replay that shows itself in a notebook, as a moving picture."""

    def __repr__(self) -> str:
        who = ", ".join(name or seat.name for name, seat in zip(self.players, self.seats, strict=True))
        return f"<Replay of {self.title}: {who}, {len(self.moments) - 1} steps>"

    def _repr_html_(self) -> str:
        moving = base64.b64encode(animation(frames(self))).decode()
        return f'<img alt="{html.escape(repr(self).strip("<>"))}" src="data:image/gif;base64,{moving}">'

    def save(self, path: str | Path, fps: float = 3.0) -> None:
        """Writes it as the ending of the path says: .gif, .webp, .png (a sheet of frames) or .html."""
        save_replay(self, Path(path), fps)


def moment_scene(replay: Replay, number: int) -> Scene:
    """One moment of a replay: the game as it draws itself, below it who did and earned what."""
    moment = replay.moments[number]
    colours = seat_colours(moment.scene, len(replay.seats))
    of = "" if replay.horizon is None else f" of {replay.horizon}"
    state = "  (start)" if moment.step == 0 else "  (end)" if moment.over else ""
    scenes: list[Scene] = [Note(replay.title, bold=True), Note(f"step {moment.step}{of}{state}")]
    if moment.scene is not None:
        scenes.append(moment.scene)
    scenes.append(_seats(replay, moment, colours))
    history = _history(replay, number, colours)
    return Stack((*scenes, history) if history is not None else tuple(scenes))


def _seats(replay: Replay, moment: Moment, colours: list[str]) -> Table:
    """Who sits where, what each did and earned in the last step, and what it has earned so far."""
    named = any(replay.players)
    rows: list[tuple[Cell, ...]] = []
    for i, seat in enumerate(replay.seats):
        name: tuple[Cell, ...] = (replay.players[i],) if named else ()
        first: Cell = (("● ", colours[i]), (seat.name, palette.INK))
        rows.append((first, *name, *_deeds(replay, moment, i)))
    header = ("seat", *(("player",) if named else ()), "action", "reward", "sum")
    least = ("",) * (len(header) - 3) + _widest(replay)
    return Table(tuple(rows), header, align="l" * (len(header) - 2) + "rr", least=least, framed=False)


def _deeds(replay: Replay, moment: Moment, seat: int) -> tuple[str, str, str]:
    """What a seat did in the last step, what it earned by it, and what it has earned so far."""
    total = f"{moment.total[seat] + 0.0:.2f}"
    if moment.step == 0:
        return "", "", total
    done = moment.actions[seat]
    action = "waits" if done is None else say(replay.seats[seat].action, done)
    return action, f"{moment.reward[seat] + 0.0:+.2f}", total


@lru_cache(maxsize=4)
def _widest(replay: Replay) -> tuple[str, ...]:
    """The longest texts of a replay in the columns that change."""
    found = [_deeds(replay, moment, i) for moment in replay.moments for i in range(len(replay.seats))]
    return tuple(max(column, key=len) for column in zip(*found, strict=True))


def _history(replay: Replay, number: int, colours: list[str]) -> Grid | None:
    """The last actions of everybody, one column a step, where each has a letter; the first one is pale."""
    spaces = [seat.action for seat in replay.seats]
    if number == 0 or not all(
        isinstance(own, Discrete) and set(map(len, own.labels)) == {1} for own in spaces
    ):
        return None
    columns = min(max(len(replay.moments) - 1, 1), HISTORY)
    past = replay.moments[max(number - columns, 0) + 1 : number + 1]
    pieces, ground = [], []
    for i, space in enumerate(spaces):
        assert isinstance(space, Discrete)
        row = [""] * columns
        for t, moment in enumerate(past):
            if moment.actions[i] is not None:
                action = int(moment.actions[i])
                row[t] = pale(colours[i], 0.25 + 0.75 * action / max(space.n - 1, 1))
                pieces.append(Piece(i, t, palette.INK, space.label(action), "none", size=1.0))
        ground.append(tuple(row))
    side = tuple(((seat.name, colours[i]),) for i, seat in enumerate(replay.seats))
    return Grid(len(spaces), columns, tuple(pieces), tuple(ground), side, cell=22)


def frames(replay: Replay, every: int = 1) -> list[Frame]:
    """The pictures of a replay, all of one size; `every` second or third moment only, and the last."""
    shown = sorted({*range(0, len(replay.moments), every), len(replay.moments) - 1})
    found = [paint(moment_scene(replay, number)) for number in shown]
    width = max(WIDTH, *(frame.shape[1] for frame in found)) + 2 * MARGIN
    height = max(frame.shape[0] for frame in found) + 2 * MARGIN
    return [_on_paper(frame, width, height) for frame in found]


def _on_paper(frame: Frame, width: int, height: int) -> Frame:
    sheet = np.full((height, width, 3), 255, np.uint8)
    left = (width - frame.shape[1]) // 2
    sheet[MARGIN : MARGIN + frame.shape[0], left : left + frame.shape[1]] = frame
    return sheet


def animation(pictures: Sequence[Frame], milliseconds: int = 350, kind: str = "GIF") -> bytes:
    """The pictures as an animated GIF or WebP that repeats; the last one stays four times as long."""
    images = [Image.fromarray(picture) for picture in pictures]
    if kind == "GIF":
        images = [_few_colours(image) for image in images]
    durations = [milliseconds] * (len(images) - 1) + [4 * milliseconds]
    content = io.BytesIO()
    options = {"optimize": True} if kind == "GIF" else {"lossless": True, "quality": 60}
    images[0].save(
        content, kind, save_all=True, append_images=images[1:], duration=durations, loop=0, **options
    )
    return content.getvalue()


def strip(pictures: Sequence[Frame], columns: int = 4, most: int = 16) -> bytes:
    """Pictures side by side in rows, as PNG: at most so many, evenly taken from all."""
    numbers = np.unique(np.linspace(0, len(pictures) - 1, min(most, len(pictures))).round().astype(int))
    columns = min(columns, len(numbers))
    height, width = pictures[0].shape[:2]
    rows = -(-len(numbers) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), palette.PAPER)
    for i, number in enumerate(numbers.tolist()):
        sheet.paste(Image.fromarray(pictures[number]), (i % columns * width, i // columns * height))
    return _png(sheet)


def page(replay: Replay, milliseconds: int = 350) -> str:
    """A page without anything outside it that plays, pauses, steps and scrubs."""
    pictures = []
    for picture in frames(replay):
        pictures.append(base64.b64encode(_png(_few_colours(Image.fromarray(picture)))).decode())
    who = ", ".join(name or seat.name for name, seat in zip(replay.players, replay.seats, strict=True))
    return replay_page(f"{replay.title}: {who}", pictures, milliseconds)


def save_replay(replay: Replay, path: Path, fps: float = 3.0) -> None:
    """Writes a replay as the ending of the path says: .gif, .webp, .png (a sheet of frames) or .html."""
    check_format(path)
    milliseconds = max(round(1000 / fps), 20)
    match path.suffix.lower():
        case ".html":
            content = page(replay, milliseconds).encode()
        case ".png":
            content = strip(frames(replay))
        case ending:
            content = animation(frames(replay), milliseconds, "GIF" if ending == ".gif" else "WEBP")
    write_atomically(path, content)


def check_format(path: Path) -> None:
    """Raises unless replays can be written as the ending of a path says."""
    if path.suffix.lower() not in FORMATS:
        endings = ", ".join(FORMATS[:-1]) + f" or {FORMATS[-1]}"
        raise ComityError(f"{path} has no known format of replays: a name that ends in {endings} works.")


def _few_colours(image: Image.Image) -> Image.Image:
    """The image in at most 128 colours without dithering: small files, clear letters."""
    return image.quantize(128, dither=Image.Dither.NONE)


def _png(image: Image.Image) -> bytes:
    content = io.BytesIO()
    image.save(content, format="PNG", optimize=True)
    return content.getvalue()
