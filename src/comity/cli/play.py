"""`comity play GAME PLAYER [PLAYER ...]`: a person in the terminal among players."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.text import Text

from comity.cli.keyboard import ENDS, Keyboard, at_terminal
from comity.cli.seating import (
    PLAYERS,
    EpisodeSettings,
    asks_for_usage,
    no_players,
    print_usage,
    read,
    seat_named,
)
from comity.core.errors import require
from comity.core.files import write_json
from comity.core.spaces import sample, say
from comity.drawing.text import write
from comity.evaluate.replay import LONGEST, Moment, Replay
from comity.evaluate.transcript import transcript
from comity.play.asking import NotAnActionError, check_playable, keys_of, question, read_action
from comity.play.episode import Episode
from comity.play.most_likely import most_likely
from comity.play.specs import game_data
from comity.report.replays import moment_scene

USAGE = f"""usage: comity play GAME PLAYER [PLAYER ...] [options]

You take one seat; one player fills all others, several fill them in order.
{PLAYERS}
  comity play GAME --help    the options, with the settings of this game"""
QUIT = ("quit", "exit", "q")
SIGNS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}


@dataclass
class Settings(EpisodeSettings):
    """You play: type an action or press its key; q, Ctrl-C or Ctrl-D ends."""

    seat: int = 0  # where you sit, the first seat being 0
    save: Path | None = None  # write what was played as JSON to this file


class EndedError(Exception):
    """The person has had enough."""


def run(name: str, arguments: list[str]) -> int:
    """Plays one episode with a person."""
    if asks_for_usage(arguments):
        return print_usage(USAGE, arguments)
    names, settings = read(Settings, name, arguments)
    game, own = settings.game, settings.seat
    require(0 <= own < len(game.seats), "seat", own, f"between 0 and {len(game.seats) - 1}")
    check_playable(game.seats[own])
    others = [seat for seat in range(len(game.seats)) if seat != own]
    if others and len(names) < 2:
        raise no_players(name, names[0])
    labels, players = seat_named(names[1:], game, others) if others else ((), ())
    if settings.deterministic:
        players = tuple(most_likely(player) for player in players)
    episode = Episode(
        game,
        (*players[:own], None, *players[own:]),
        jax.random.fold_in(jax.random.key(settings.seed), settings.episode),
    )
    about = Replay(names[0], game.seats, (*labels[:own], "you", *labels[own:]), game.horizon, ())
    table = Table(episode, about, own)
    table.play(settings.steps or game.horizon or LONGEST)
    if settings.save is not None:
        write_json(settings.save, table.transcript(settings.own))
        print(f"saved to {settings.save}")
    return 0


class Table:
    """An episode with a person in one of the seats."""

    def __init__(self, episode: Episode, about: Replay, seat: int) -> None:
        self._episode, self._about, self._seat = episode, about, seat
        self._past: list[Moment] = [episode.moment]
        self._place = episode.game.seats[seat]
        self._keys = keys_of(self._place) if at_terminal() else {}
        self._console = Console(highlight=False, soft_wrap=True)

    def play(self, most: int) -> None:
        """Plays until the end, or until the person has had enough; then says who earned what."""
        ended = ""
        try:
            with self._asking() as ask:
                while not self._past[-1].over and len(self._past) <= most:
                    acts = self._episode.acts[self._seat]
                    # Who waits does something too, which the game ignores.
                    action = ask() if acts else sample(self._place.action, jax.random.key(0))
                    self._past.append(self._episode.step({self._seat: action}))
        except (EndedError, EOFError, KeyboardInterrupt):
            ended = "You ended the game. "
        self._console.print()
        self._console.print(self._frame())
        totals = self._past[-1].total
        others = ", ".join(
            f"{seat.name} ({name}) {total:.2f}"
            for i, (seat, name, total) in enumerate(
                zip(self._about.seats, self._about.players, totals, strict=True)
            )
            if i != self._seat
        )
        count = self._past[-1].step
        earned = f"{ended}After {count} step{'' if count == 1 else 's'} you have {totals[self._seat]:.2f}"
        self._console.print(earned + (f"; {others}." if others else "."))

    def transcript(self, settings: Settings) -> dict[str, Any]:
        """What was played, as data."""
        about = self._about
        played = Replay(about.title, about.seats, about.players, about.horizon, tuple(self._past))
        return transcript(played, game_data(self._episode.game), self._seat, settings.seed, settings.episode)

    def _frame(self) -> Text:
        about = self._about
        so_far = Replay(about.title, about.seats, about.players, about.horizon, tuple(self._past))
        return write(moment_scene(so_far, len(self._past) - 1), self._console.width)

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        """A function that asks the person for an action: by keys where they stand for all of them."""
        if not self._keys:
            yield self._ask_for_a_line
            return
        with Keyboard() as keyboard, self._console.screen(hide_cursor=True) as screen:

            def ask() -> Any:
                screen.update(Text("\n").join([self._frame(), Text(), Text(self._key_help())]))
                while True:
                    pressed = (keyboard.key() or "").lower()
                    if pressed in ENDS:
                        raise EndedError
                    if pressed in self._keys:
                        return np.int32(self._keys[pressed])

            yield ask

    def _key_help(self) -> str:
        """Which key does what, in lines that fit."""
        keys: dict[int, list[str]] = {}
        for key, action in self._keys.items():
            keys.setdefault(action, []).append(SIGNS.get(key, key))
        known = [f"{say(self._place.action, action)}: {' '.join(own)}" for action, own in keys.items()]
        lines = [f"you are {self._place.name}"]
        for word in (*known, "q: quit"):
            if len(lines[-1]) + len(word) + 3 > self._console.width:
                lines.append(word)
            else:
                lines[-1] += f"   {word}"
        return "\n".join(lines)

    def _ask_for_a_line(self) -> Any:
        self._console.print()
        self._console.print(self._frame())
        while True:
            typed = input(f"you are {self._place.name}: {question(self._place)}, or quit > ")
            if typed.strip().lower() in QUIT and typed.strip().lower() not in self._labels():
                raise EndedError
            try:
                return read_action(self._place, self._episode.seen(self._seat), typed)
            except NotAnActionError as error:
                self._console.print(str(error), markup=False)

    def _labels(self) -> list[str]:
        return [label.lower() for label in getattr(self._place.action, "labels", ())]
