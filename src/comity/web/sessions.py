"""People play: some seats are theirs, the others are players'. What was played is saved as a JSON file."""

import random
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

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
PERSON = "a person"  # who else a hidden player may be
THINKING = (0.4, 2.2)  # seconds that a player takes who may be taken for a person


@dataclass
class Table:
    """What is asked for when a game begins."""

    game: str
    players: list[str]  # one for all seats without people, or one each; hidden: one of them is drawn
    seats: dict[int, str]  # the people: their seats and names
    seed: int
    horizon: int | None = None
    hidden: bool = False
    candidates: tuple[str, ...] = ()  # whom a hidden player may be
    slowly: bool = False  # players take their time, as people do
    memories: Mapping[str, PyTree] | None = None  # of earlier games, by `memory_name`


class Session:
    """One episode with people in some seats."""

    def __init__(self, casting: Casting, table: Table) -> None:
        self.lock = threading.Lock()
        self.saved: str | None = None
        self.guesses: dict[int, str] = {}
        self.table = table
        game = casting.game(table.game, table.horizon)
        count = len(game.seats)
        for own in table.seats:
            if not 0 <= own < count:
                raise ComityError(f"seat = {own} is not possible: it must be between 0 and {count - 1}.")
            check_playable(game.seats[own])
        others = [seat for seat in range(count) if seat not in table.seats]
        self._sources: dict[int, str] = {}
        seated = {}
        if others:
            sources = [random.choice(table.players)] if table.hidden else table.players
            chosen = casting.seated(sources, game, others)
            labels = sources * (len(others) if len(sources) == 1 else 1)
            seated = dict(zip(others, chosen, strict=True))
            self._sources = dict(zip(others, labels, strict=True))
        known = table.memories or {}
        names = {seat: self._memory_name(seat) for seat in others}
        memories = {seat: known[name] for seat, name in names.items() if name in known}
        self.remembers = bool(memories)
        players = tuple(seated.get(seat) for seat in range(count))
        self._episode = Episode(game, players, jax.random.key(table.seed), memories=memories)
        self._past = [self._episode.moment]
        self._cooperation: list[Any] = []
        self._most = game.horizon or LONGEST
        self._given: dict[int, Any] = {}
        self._shown_at = 0.0
        self._idle()

    @property
    def game_name(self) -> str:
        """What the game is called, whatever run it was taken from."""
        return str(game_data(self._episode.game)["name"])

    def _memory_name(self, seat: int) -> str:
        """Under which a player's memory of these people is kept."""
        people = "+".join(sorted(self.table.seats.values()))
        return f"{people}|{self.table.game}|{self._sources[seat]}|{seat}"

    def memories(self) -> dict[str, PyTree]:
        """What the players remember of the people, once the game is over."""
        return {self._memory_name(seat): self._episode.memory(seat) for seat in self._sources}

    def act(self, seat: int, action: Any) -> None:
        """A person acts; once all have who must, the game goes on until it is somebody's turn or over."""
        if self.over:
            raise ComityError("The game is over: begin another one.")
        if not self._episode.acts[seat]:
            raise ComityError("It is not your turn.")
        place = self._episode.game.seats[seat]
        words = action if isinstance(action, list) else [action]
        if not 1 <= len(words) <= 64 or not all(type(word) in (int, float) for word in words):
            raise ComityError("An action is a whole number, or a list of numbers.")
        if isinstance(place.action, Discrete) and not (len(words) == 1 and type(words[0]) is int):
            raise ComityError("An action is one whole number here.")
        try:
            found = read_action(place, self._episode.seen(seat), " ".join(map(str, words)))
        except NotAnActionError as error:
            raise ComityError(str(error)) from None
        self._given[seat] = found
        if all(own in self._given or not self._episode.acts[own] for own in self.table.seats):
            self._step()
            self._idle()
            if self.table.slowly and self._sources:
                self._shown_at = time.monotonic() + random.uniform(*THINKING)

    def _step(self) -> None:
        nothing = jax.random.key(0)
        seats = self._episode.game.seats
        given = {own: self._given.get(own) for own in self.table.seats}
        whole = {
            own: sample(seats[own].action, nothing) if act is None else act for own, act in given.items()
        }
        self._past.append(self._episode.step(whole))
        self._cooperation.append(self._episode.cooperation())
        self._given = {}

    def _idle(self) -> None:
        """Steps in which no person has anything to do."""
        while not self.over and not any(self._episode.acts[own] for own in self.table.seats):
            self._step()

    @property
    def over(self) -> bool:
        """Whether there is nothing more to do."""
        return self._past[-1].over or len(self._past) > self._most

    def replay(self, viewer: int | None = None) -> Replay:
        """What was played so far; a `viewer` is told who is hidden once the game is over and they guessed."""
        game, names = self._episode.game, []
        hides = self.table.hidden and viewer is not None
        told = self.over and viewer in self.guesses
        for seat in range(len(game.seats)):
            person = self.table.seats.get(seat)
            if hides and seat != viewer and not told:
                names.append(UNKNOWN)
            elif hides and seat != viewer and person is not None:
                names.append(PERSON)
            else:
                names.append(self._sources[seat] if person is None else person or "you")
        return Replay(self.table.game, game.seats, tuple(names), game.horizon, tuple(self._past))

    def state(self, seat: int) -> dict[str, Any]:
        """How the game stands for a person, for the page."""
        about, game = self.replay(seat), self._episode.game
        waits = time.monotonic() < self._shown_at or seat in self._given
        moments = about.moments
        if time.monotonic() < self._shown_at:
            moments = moments[:-1]
        return {
            "game": self.table.game,
            "seat": seat,
            "seats": [own.name for own in game.seats],
            "people": sorted(self.table.seats) if not self.table.hidden else [seat],
            "players": list(about.players),
            "colours": seat_colours(self._past[-1].scene, len(game.seats)),
            "horizon": self._most,
            "waits": waits,
            "over": self.over and not waits,
            "moments": [moment_data(about, moment) for moment in moments],
            "space": self._space(seat),
            "tendencies": tendencies(about, seat, self._cooperation[: len(moments) - 1]),
            "hidden": self.table.hidden,
            "candidates": list(self.table.candidates) if self.table.hidden else [],
            "guess": self.guesses.get(seat),
            "remembers": self.remembers,
            "saved": self.saved,
        }

    def _space(self, seat: int) -> dict[str, Any]:
        """What the person may do next."""
        place, seen = self._episode.game.seats[seat], self._episode.seen(seat)
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
        about, own = self.replay(), min(self.table.seats)
        data = transcript(about, game_data(self._episode.game), own, self.table.seed, 0)
        people = {str(seat): name for seat, name in self.table.seats.items()}
        guesses = {str(seat): guess for seat, guess in self.guesses.items()}
        data |= {"person": self.table.seats[own], "people": people, "remembers": self.remembers}
        data |= {"hidden": self.table.hidden, "guess": self.guesses.get(own), "guesses": guesses}
        data["candidates"] = list(self.table.candidates)
        data["tendencies"] = tendencies(about, own, self._cooperation)
        if self.saved is None:
            stamp = time.strftime("%Y%m%d-%H%M%S")
            self.saved = f"{FOLDER}/{Path(self.table.game).name}-{stamp}-{secrets.token_hex(3)}.json"
        write_json(folder / self.saved, data)
        return self.saved


class Sessions:
    """The games that people play now, each under a name for every person in it, and what is remembered."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Session, int]] = OrderedDict()
        self._memories: OrderedDict[str, PyTree] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, session: Session, seat: int) -> str:
        """Keeps a game for a person; of too many, the oldest is forgotten."""
        name = secrets.token_hex(8)
        with self._lock:
            self._kept[name] = (session, seat)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> tuple[Session, int] | None:
        """A game that is played, if it is still kept, and the seat of the person who has this name."""
        with self._lock:
            return self._kept.get(name)

    def remember(self, session: Session) -> None:
        """Keeps what the players of a game that is over remember."""
        with self._lock:
            for name, memory in session.memories().items():
                self._memories[name] = memory
                self._memories.move_to_end(name)
            while len(self._memories) > KEPT:
                self._memories.popitem(last=False)

    def memories(self) -> dict[str, PyTree]:
        """All that is remembered."""
        with self._lock:
            return dict(self._memories)
