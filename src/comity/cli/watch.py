"""`comity watch GAME PLAYER [PLAYER ...]`: one episode in the terminal, as it is played."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

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
from comity.drawing.text import write
from comity.evaluate.replay import LONGEST, Moment, Replay, moments
from comity.report.replays import moment_scene

USAGE = f"""usage: comity watch GAME PLAYER [PLAYER ...] [options]

One player fills all seats; several fill them in order. Without a terminal the frames are printed.
{PLAYERS}
  comity watch GAME --help    the options, with the settings of this game"""
KEYS = "space: pause   → ←: step   + -: speed   q: quit"


@dataclass
class Settings(EpisodeSettings):
    """Shows one episode in the terminal: space pauses, arrows step, + and - change the speed, q quits."""

    fps: float = 2.0  # steps shown in a second

    def check(self) -> None:
        """Raises for settings that do not work."""
        super().check()
        require(0.1 <= self.fps <= 50, "fps", self.fps, "between 0.1 and 50")


def run(name: str, arguments: list[str]) -> int:
    """Shows an episode."""
    if asks_for_usage(arguments):
        return print_usage(USAGE, arguments)
    names, settings = read(Settings, name, arguments)
    if len(names) < 2:
        raise no_players(name, names[0])
    labels, players = seat_named(names[1:], settings.game)
    game = settings.game
    most = settings.steps or game.horizon or LONGEST
    played = moments(game, players, settings.seed, settings.episode, settings.deterministic)
    show = Show(Replay(names[0], game.seats, labels, game.horizon, ()), itertools.islice(played, most + 1))
    if at_terminal():
        show.interactive(settings.fps)
    else:
        show.plain()
    return 0


class Show:
    """The moments of an episode that were played so far, and the one that is shown."""

    def __init__(self, about: Replay, played: Iterator[Moment]) -> None:
        self._about, self._played = about, played
        self._past: list[Moment] = []
        self._at = -1
        self.ended = False

    def forward(self) -> bool:
        """Shows the next moment, which is played if it was not yet; False if there is none."""
        if self._at == len(self._past) - 1:
            following = next(self._played, None)
            if following is None:
                self.ended = True
                return False
            self._past.append(following)
        self._at += 1
        return True

    def back(self) -> None:
        """Shows the moment before."""
        self._at = max(self._at - 1, 0)

    def frame(self, width: int) -> Text:
        """The moment that is shown."""
        about = self._about
        so_far = Replay(about.title, about.seats, about.players, about.horizon, tuple(self._past))
        return write(moment_scene(so_far, self._at), width)

    def plain(self) -> None:
        """Prints every moment."""
        console = Console(highlight=False, soft_wrap=True)
        while self.forward():
            console.print(self.frame(100))
            console.print()

    def interactive(self, fps: float) -> None:
        """Shows moments until the person quits; what was shown last stays on the terminal."""
        console = Console(highlight=False)
        self.forward()
        playing = True
        with Keyboard() as keyboard, console.screen(hide_cursor=True) as screen:
            while True:
                status = "" if not self.ended else "the end   "
                status += f"{fps:g} steps a second" if playing else "paused"
                screen.update(
                    Text("\n").join([self.frame(console.width - 2), Text(f"\n{status}   {KEYS}", "dim")])
                )
                key = keyboard.key(1.0 / fps if playing else None)
                if key in ENDS:
                    break
                if key is None or key in ("right", "n", "enter"):
                    playing = self.forward() and playing and key is None
                elif key in ("left", "b"):
                    self.back()
                    playing, self.ended = False, False
                elif key == "space":
                    playing = not playing and not self.ended
                elif key in ("+", "="):
                    fps = min(fps * 2, 50.0)
                elif key in ("-", "_"):
                    fps = max(fps / 2, 0.1)
        console.print(self.frame(console.width - 2))
