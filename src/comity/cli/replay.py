"""`comity replay GAME PLAYER [PLAYER ...]`: one episode as an animation, a sheet of frames or a page."""

from dataclasses import dataclass
from pathlib import Path

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
from comity.evaluate.replay import replay
from comity.report.replays import check_format, save_replay

USAGE = f"""usage: comity replay GAME PLAYER [PLAYER ...] [options]

One player fills all seats; several fill them in order.
{PLAYERS}
  comity replay GAME --help    the options, with the settings of this game"""


@dataclass
class Settings(EpisodeSettings):
    """Plays one episode and writes it as pictures."""

    # where to: a .gif, .webp, .png (a sheet of frames) or .html (a page that plays it)
    out: Path = Path("replay.gif")
    fps: float = 3.0  # steps shown in a second

    def check(self) -> None:
        """Raises for settings that do not work, before anything is played."""
        super().check()
        require(0.1 <= self.fps <= 50, "fps", self.fps, "between 0.1 and 50")
        check_format(self.out)


def run(name: str, arguments: list[str]) -> int:
    """Writes a replay."""
    if asks_for_usage(arguments):
        return print_usage(USAGE, arguments)
    names, settings = read(Settings, name, arguments)
    if len(names) < 2:
        raise no_players(name, names[0])
    labels, players = seat_named(names[1:], settings.game)
    shown = replay(
        settings.game,
        players,
        settings.seed,
        settings.steps,
        names=labels,
        title=names[0],
        episode=settings.episode,
        deterministic=settings.deterministic,
    )
    save_replay(shown, settings.out, settings.fps)
    last = shown.moments[-1]
    earned = ", ".join(
        f"{seat.name} ({label}) {total:.2f}"
        for seat, label, total in zip(shown.seats, labels, last.total, strict=True)
    )
    print(f"{settings.out}: {last.step} steps; earned: {earned}")
    return 0
