"""`comity episodes GAME PLAYER [PLAYER ...]`: of what kinds episodes are, and who helps or harms whom."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.api import load_player
from comity.cli.analyse import print_influence
from comity.cli.seating import (
    PLAYERS,
    asks_for_usage,
    no_players,
    parse,
    print_usage,
    seat_named,
)
from comity.cli.solve import console, show
from comity.core.agent import Player
from comity.core.errors import require
from comity.core.files import write_atomically
from comity.core.game import Environment, PerSeat
from comity.evaluate.clusters import Clusters, cluster_episodes
from comity.evaluate.influence import Influence, seat_influence
from comity.evaluate.replay import LONGEST
from comity.games.transforms import with_horizon
from comity.play.most_likely import most_likely
from comity.report.episodes import episodes_page
from comity.report.social import features_heading
from comity.report.verdicts import episodes_verdict

NOBODY = "none"
USAGE = f"""usage: comity episodes GAME PLAYER [PLAYER ...] [options]

Plays many episodes, says of what kinds they are, and who helps or harms whom among the seats.
One player fills all seats; several fill them in order.
{PLAYERS}
  comity episodes GAME --help    the options, with the settings of this game"""


@dataclass
class Settings:
    """Finds the kinds of episodes by what was done in them, and who helps or harms whom among the seats."""

    episodes: int = 128  # how many are played
    seed: int = 0  # everything random follows from it
    steps: int | None = None  # steps in an episode; by default the game's own, or 500
    deterministic: bool = False  # players do what is most likely instead of drawing
    # who takes each seat in turn, to measure what its player does for the others; none: not measured
    baseline: str = "random"
    out: Path | None = None  # write an HTML page with an animation of each kind to this file
    json: bool = False  # print the result as JSON instead of tables

    def check(self) -> None:
        """Raises for numbers that make no sense."""
        require(2 <= self.episodes <= 4096, "episodes", self.episodes, "between 2 and 4,096")
        require(0 <= self.seed < 2**31, "seed", self.seed, "between 0 and 2147483647")
        require(self.steps is None or self.steps >= 1, "steps", self.steps, "at least 1")


def run(name: str, arguments: list[str]) -> int:
    """Plays, finds the kinds, and prints them."""
    if asks_for_usage(arguments):
        return print_usage(USAGE, arguments)
    count = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names = arguments[:count]
    parsed = parse(Settings, name, names[0], arguments[count:])
    settings: Settings = parsed.own
    settings.check()
    if len(names) < 2:
        raise no_players(name, names[0])
    labels, players = seat_named(names[1:], parsed.game)
    if settings.deterministic:
        players = tuple(most_likely(player) for player in players)
    game = parsed.game
    if settings.steps is not None or game.horizon is None:
        game = with_horizon(game, settings.steps or LONGEST)
    instead = _baseline(game, settings)
    found = cluster_episodes(game, players, settings.episodes, seed=settings.seed)
    influence = None
    if instead:
        influence = seat_influence(
            game, players, instead, name=settings.baseline, episodes=settings.episodes, seed=settings.seed
        )
    if settings.out is not None:
        command = "comity " + shlex.join([name, *arguments])
        page = episodes_page(names[0], game, players, labels, found, influence, command)
        write_atomically(settings.out, page.encode())
    if settings.json:
        print(json.dumps(_data(found, influence), allow_nan=False))
        return 0
    _print(game, labels, found, influence)
    again = shlex.join(["comity", "replay", *names, *_shared(arguments[count:]), "--seed", str(found.seed)])
    print(f"look at one: {again} --episode N")
    if settings.out is not None:
        print(settings.out)
    return 0


def _baseline(game: Environment, settings: Settings) -> PerSeat[Player]:
    """Who takes each seat in turn; nobody if that is not asked for, or there is one seat."""
    if settings.baseline == NOBODY or len(game.seats) < 2:
        return ()
    return tuple(load_player(settings.baseline, game, seat) for seat in range(len(game.seats)))


def _shared(options: list[str]) -> list[str]:
    """The options that `comity replay` needs too to show the same episodes."""
    kept, keeps = [], False
    for word in options:
        if word.startswith("--"):
            keeps = word.startswith(("--game.", "--steps", "--deterministic"))
        if keeps:
            kept.append(word)
    return kept


def _data(found: Clusters, influence: Influence | None) -> dict[str, Any]:
    return {
        "kinds": [kind._asdict() for kind in found.clusters],
        "silhouette": found.silhouette if len(found.clusters) > 1 else None,
        "kind_of_episode": found.labels.tolist(),
        "seed": found.seed,
        "influence": None if influence is None else influence.to_data(),
    }


def _print(game: Environment, labels: tuple[str, ...], found: Clusters, influence: Influence | None) -> None:
    out = console()
    who = ", ".join(f"{seat.name} ({label})" for seat, label in zip(game.seats, labels, strict=True))
    out.print(f"{len(found.labels)} episodes of {game.horizon} steps: {who}\n")
    rows = [
        [
            str(k),
            "\n".join(kind.typical),
            f"{kind.share:.0%}",
            ", ".join(f"{reward:.3f}" for reward in kind.reward),
            str(kind.representative),
        ]
        for k, kind in enumerate(found.clusters, 1)
    ]
    show(
        out,
        "Kinds of episodes",
        ["", features_heading(found), "share", "reward per step", "episode"],
        rows,
        left=2,
    )
    if influence is not None:
        print_influence(influence)
    out.print(episodes_verdict(found, influence))
