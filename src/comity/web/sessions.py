"""A person plays: one seat is theirs, the others are players'. What was played is saved as a JSON file."""

import random
import secrets
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from comity.core.errors import ComityError
from comity.core.files import write_json
from comity.core.scene import seat_colours
from comity.core.spaces import Box, Discrete, legal, sample
from comity.evaluate.replay import LONGEST, Replay
from comity.evaluate.transcript import transcript
from comity.games.negotiation import SCALE, Negotiation
from comity.play.asking import NotAnActionError, check_playable, keys_of, read_action
from comity.play.episode import Episode
from comity.play.specs import game_data
from comity.web.players import Casting
from comity.web.replays import moment_data
from comity.web.tendencies import tendencies

KEPT = 50  # games under way
FOLDER = "plays"  # where results are saved, inside the folder that is shown
UNKNOWN = "?"  # what a hidden player is called


class Session:
    """One episode with a person in a seat."""

    def __init__(self, casting: Casting, request: dict[str, Any]) -> None:
        self.name = secrets.token_hex(8)
        self.person: str = request["person"]
        self.seed: int = request["seed"]
        self.hidden: bool = request["hidden"]
        self.guess: str | None = None
        self.candidates: list[str] = request["players"]
        self.saved: str | None = None
        self.lock = threading.Lock()
        game = casting.game(request["game"], request["horizon"])
        own = request["seat"]
        if not 0 <= own < len(game.seats):
            raise ComityError(
                f"seat = {own} is not possible: it must be between 0 and {len(game.seats) - 1}."
            )
        check_playable(game.seats[own])
        others = [seat for seat in range(len(game.seats)) if seat != own]
        sources = [random.choice(self.candidates)] if self.hidden else self.candidates
        players = casting.seated(sources, game, others) if others else ()
        labels = sources * (len(others) if len(sources) == 1 else 1) if others else []
        self._labels = (*labels[:own], self.person or "you", *labels[own:])
        self._title, self._seat = request["game"], own
        key = jax.random.key(self.seed)
        self._episode = Episode(game, (*players[:own], None, *players[own:]), key)
        self._past = [self._episode.moment]
        self._cooperation: list[Any] = []
        self._most = game.horizon or LONGEST
        self._wait()

    def act(self, action: Any) -> None:
        """The person acts, and the game goes on until it is their turn again or over."""
        if self.over:
            raise ComityError("The game is over: begin another one.")
        place = self._episode.game.seats[self._seat]
        words = action if isinstance(action, list) else [action]
        if not 1 <= len(words) <= 64 or not all(type(word) in (int, float) for word in words):
            raise ComityError("An action is a whole number, or a list of numbers.")
        if isinstance(place.action, Discrete) and not (len(words) == 1 and type(words[0]) is int):
            raise ComityError("An action is one whole number here.")
        try:
            found = read_action(place, self._episode.seen(self._seat), " ".join(map(str, words)))
        except NotAnActionError as error:
            raise ComityError(str(error)) from None
        self._step(found)
        self._wait()

    def _step(self, action: Any) -> None:
        self._past.append(self._episode.step({self._seat: action}))
        self._cooperation.append(self._episode.cooperation())

    def _wait(self) -> None:
        """Steps in which the person has nothing to do."""
        space = self._episode.game.seats[self._seat].action
        while not self.over and not self._episode.acts[self._seat]:
            self._step(sample(space, jax.random.key(0)))

    @property
    def over(self) -> bool:
        """Whether there is nothing more to do."""
        return self._past[-1].over or len(self._past) > self._most

    @property
    def replay(self) -> Replay:
        """What was played so far; hidden players have no names before they are told."""
        labels = self._labels
        if self.hidden and not self.over:
            labels = tuple(own if i == self._seat else UNKNOWN for i, own in enumerate(labels))
        game = self._episode.game
        return Replay(self._title, game.seats, labels, game.horizon, tuple(self._past))

    def state(self) -> dict[str, Any]:
        """How the game stands, for the page."""
        about, game = self.replay, self._episode.game
        return {
            "id": self.name,
            "game": self._title,
            "seat": self._seat,
            "seats": [seat.name for seat in game.seats],
            "players": list(about.players),
            "colours": seat_colours(self._past[-1].scene, len(game.seats)),
            "horizon": self._most,
            "over": self.over,
            "moments": [moment_data(about, moment) for moment in self._past],
            "space": self._space(),
            "tendencies": tendencies(about, self._seat, self._cooperation),
            "hidden": self.hidden,
            "candidates": self.candidates if self.hidden else [],
            "guess": self.guess,
            "saved": self.saved,
        }

    def _space(self) -> dict[str, Any]:
        """What the person may do next."""
        place, seen = self._episode.game.seats[self._seat], self._episode.seen(self._seat)
        if isinstance(place.action, Discrete):
            allowed = legal(place.observation, seen)
            return {
                "kind": "choice",
                "labels": [place.action.label(i) for i in range(place.action.n)],
                "keys": keys_of(place),
                "legal": None if allowed is None else np.asarray(allowed).tolist(),
            }
        assert isinstance(place.action, Box)
        count, names = int(np.prod(place.action.shape)), []
        if isinstance(self._episode.game, Negotiation):
            parts = np.asarray(seen).reshape(5, -1) * SCALE
            names = [f"worth {own:g} to you, {other:g} to the other" for own, other in parts[[1, 3]].T]
        low, high = (place.action.low, place.action.high) if place.action.bounded else (-1.0, 1.0)
        return {"kind": "numbers", "count": count, "low": low, "high": high, "names": names}

    def save(self, folder: Path) -> str:
        """Writes what was played so far; returns the name of the file, relative to the folder."""
        data = transcript(self.replay, game_data(self._episode.game), self._seat, self.seed, 0)
        data |= {"person": self.person, "hidden": self.hidden, "guess": self.guess}
        data["tendencies"] = tendencies(self.replay, self._seat, self._cooperation)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        name = self.saved or f"{FOLDER}/{Path(self._title).name}-{stamp}-{self.name[:6]}.json"
        write_json(folder / name, data)
        self.saved = name
        return name


class Sessions:
    """The games that people play now."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, session: Session) -> None:
        """Keeps a game; of too many, the oldest is forgotten."""
        with self._lock:
            self._kept[session.name] = session
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def get(self, name: str) -> Session | None:
        """A game that is played, if it is still kept."""
        with self._lock:
            return self._kept.get(name)
