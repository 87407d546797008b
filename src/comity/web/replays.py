"""Replays: an episode is played once, then its moments are looked at in any order."""

import io
import secrets
import threading
from collections import OrderedDict
from typing import Any

from PIL import Image

from comity.core.errors import ComityError
from comity.core.scene import Note, Scene, seat_colours
from comity.core.spaces import say
from comity.drawing.pixels import paint
from comity.evaluate.replay import LONGEST, Moment, Replay, replay
from comity.report.replays import animation, frames, page
from comity.web.players import Casting

KEPT = 24  # replays that are kept
MOST_EXPORTED = 300  # frames of a file
MEDIA = {"gif": "image/gif", "webp": "image/webp", "html": "text/html"}


class Replays:
    """The replays that were made last."""

    def __init__(self, casting: Casting) -> None:
        self._casting = casting
        self._kept: OrderedDict[str, Replay] = OrderedDict()
        self._lock = threading.Lock()

    def make(self, game: str, players: list[str], seed: int, deterministic: bool, steps: int | None) -> str:
        """Plays an episode and returns the name of its replay."""
        played = self._casting.game(game)
        seated = self._casting.seated(players, played, range(len(played.seats)))
        labels = players * (len(played.seats) if len(players) == 1 else 1)
        most = min(steps or played.horizon or LONGEST, 1000)
        found = replay(played, seated, seed, most, names=labels, title=game, deterministic=deterministic)
        name = secrets.token_hex(8)
        with self._lock:
            self._kept[name] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> Replay | None:
        """A replay that was made, if it is still kept."""
        with self._lock:
            return self._kept.get(name)

    def describe(self, name: str) -> dict[str, Any] | None:
        """A replay as data: who played, and every moment in words and numbers."""
        found = self.get(name)
        if found is None:
            return None
        return {
            "id": name,
            "title": found.title,
            "horizon": found.horizon,
            "seats": [seat.name for seat in found.seats],
            "players": list(found.players),
            "colours": seat_colours(found.moments[0].scene, len(found.seats)),
            "moments": [moment_data(found, moment) for moment in found.moments],
        }

    def export(self, name: str, kind: str) -> bytes | None:
        """A replay as a file: an animation, or a page that plays it."""
        found = self.get(name)
        if found is None:
            return None
        if kind not in MEDIA:
            raise ComityError(f"{kind[:20]!r} is no format of replays: {', '.join(MEDIA)} would work.")
        if kind == "html":
            return page(found).encode()
        every = max(1, -(-len(found.moments) // MOST_EXPORTED))
        return animation(frames(found, every), kind=kind.upper())


def moment_data(about: Replay, moment: Moment) -> dict[str, Any]:
    """What happened in a step: actions in words, rewards and their sums."""
    return {
        "step": moment.step,
        "actions": [
            None if done is None else say(seat.action, done)
            for seat, done in zip(about.seats, moment.actions, strict=True)
        ],
        "reward": list(moment.reward),
        "total": list(moment.total),
        "over": moment.over,
    }


def picture(scene: Scene | None) -> bytes:
    """A scene as a PNG file; a game that does not draw itself says so."""
    shown = Note("This game does not draw itself.") if scene is None else scene
    content = io.BytesIO()
    Image.fromarray(paint(shown)).save(content, format="PNG")
    return content.getvalue()
