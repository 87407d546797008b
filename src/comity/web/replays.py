"""Replays: an episode is played once, then its moments are looked at in any order."""

import io
import secrets
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from PIL import Image

from comity.core.batch import Trajectory
from comity.core.errors import ComityError
from comity.core.game import Seat
from comity.core.scene import Note, Scene, seat_colours
from comity.core.spaces import Discrete, say
from comity.drawing.pixels import paint
from comity.evaluate.reasons import Learner, Reasons, reasons
from comity.evaluate.replay import LONGEST, Moment, Replay, replay
from comity.report.replays import animation, frames, page
from comity.web.players import Casting, one_for_each

KEPT = 24  # replays that are kept
MOST_UNEXPLAINED = 6  # of which all that learners are given is kept
MOST_EXPORTED = 300  # frames of a file
MEDIA = {"gif": "image/gif", "webp": "image/webp", "html": "text/html"}


class Replays:
    """The replays that were made last."""

    def __init__(self, casting: Casting) -> None:
        self._casting = casting
        self._kept: OrderedDict[str, Replay] = OrderedDict()
        self._unexplained: OrderedDict[str, tuple[Trajectory, dict[int, tuple[str, Learner]]]] = OrderedDict()
        self._reasons: dict[str, list[Reasons]] = {}
        self._lock = threading.Lock()

    def make(self, game: str, players: list[str], seed: int, deterministic: bool, steps: int | None) -> str:
        """Plays an episode and returns the name of its replay."""
        played = self._casting.game(game)
        seated, learners = self._casting.cast(players, played)
        labels = one_for_each(players, len(played.seats))
        most = min(steps or played.horizon or LONGEST, 1000)
        found = replay(
            played, seated, seed, most, names=labels, title=game, deterministic=deterministic, record=True
        )
        name = secrets.token_hex(8)
        whole = found.played
        with self._lock:
            self._kept[name] = replace(found, played=None)
            if whole is not None:
                self._unexplained[name] = (whole, learners)
            while len(self._kept) > KEPT:
                self._reasons.pop(self._kept.popitem(last=False)[0], None)
            while len(self._unexplained) > MOST_UNEXPLAINED:
                self._unexplained.popitem(last=False)
        return name

    def reasons(self, name: str) -> dict[str, Any] | None:
        """Why the players of a replay did what they did, as far as that is known."""
        found = self.get(name)
        if found is None:
            return None
        with self._lock:
            known = self._reasons.get(name)
            recorded = self._unexplained.get(name)
        if known is None:
            known = [Reasons() for _ in found.seats]
            if recorded is not None:
                known = reasons(found.seats, *recorded)
            with self._lock:
                self._reasons[name] = known
                self._unexplained.pop(name, None)
        return {"seats": [reasons_data(seat, own) for seat, own in zip(found.seats, known, strict=True)]}

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
        "choices": [
            int(done) if isinstance(seat.action, Discrete) and done is not None else None
            for seat, done in zip(about.seats, moment.actions, strict=True)
        ],
        "reward": list(moment.reward),
        "total": list(moment.total),
        "over": moment.over,
    }


def reasons_data(seat: Seat, known: Reasons) -> dict[str, Any]:
    """What is known of a seat, as data: numbers by step, and what the choices are called."""
    space = seat.action
    choices = [space.label(i) for i in range(space.n)] if isinstance(space, Discrete) else []
    return {**known._asdict(), "term": known.term, "choices": choices}


def picture(scene: Scene | None) -> bytes:
    """A scene as a PNG file; a game that does not draw itself says so."""
    shown = Note("This game does not draw itself.") if scene is None else scene
    content = io.BytesIO()
    Image.fromarray(paint(shown)).save(content, format="PNG")
    return content.getvalue()
