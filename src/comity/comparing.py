"""Comparing runs: reads them, lets their players meet, and writes one page.

It stands beside the rooms, as `api` does, since it needs runs, play, measures and pages at once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import jax

from comity.agents.registry import SCRIPTED
from comity.api import load_players, scripted_player
from comity.core.agent import Player
from comity.core.errors import ComityError
from comity.core.game import Environment, PerSeat
from comity.evaluate.behaviour import behaviour
from comity.evaluate.compared import Compared, compare_runs
from comity.evaluate.groups import own_game
from comity.evaluate.league import League, by_kind, play_league
from comity.evaluate.replay import replay
from comity.play.specs import game_from_data
from comity.training.records import Record, read_records

USUAL = ("always-cooperate", "always-defect")  # whom learners meet in a league, where the game has them
MOST_SCRIPTED = 3
SHOWN = 50  # steps of a replay
TREMBLE = 0.05


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A comparison and its page."""

    result: Compared
    page: str


def compare(
    sources: Sequence[str | Path] | Mapping[str, str | Path],
    *,
    metric: str | None = None,
    minimise: bool = False,
    smoothing: int | None = None,
    opponents: Sequence[str] | None = None,
    episodes: int = 100,
    replays: bool = True,
    seed: int = 0,
    command: str = "comity.compare(...)",
) -> Comparison:
    """Compares run folders, or folders of runs, of one game; a mapping gives them names.

    Runs that differ in nothing but their seeds are of one kind. The trained players of all kinds meet in a
    league, with scripted `opponents`; with 0 `episodes` nothing is played.
    """
    from comity.report.comparison import comparison_page  # pictures are slow to import, so only here

    named = [f"{name}={path}" for name, path in sources.items()] if isinstance(sources, Mapping) else sources
    records = read_records([str(source) for source in named])
    found = compare_runs(
        [record.name for record in records],
        [str(record.folder.path) for record in records],
        [record.config for record in records],
        [record.rows for record in records],
        metric,
        minimise,
    )
    rows = max(len(record.rows) for record in records)
    window = max(1, rows // 50) if smoothing is None else max(1, smoothing)
    sections_played: list[str] = []
    if episodes > 0:
        found, sections_played = _played(found, records, opponents, episodes, replays, seed)
    return Comparison(found, comparison_page(found, window, sections_played, [command]))


def _played(
    found: Compared,
    records: Sequence[Record],
    opponents: Sequence[str] | None,
    episodes: int,
    with_replays: bool,
    seed: int,
) -> tuple[Compared, list[str]]:
    """The league of all kinds, their behaviour and replays; a note where that cannot be had."""
    games = [own_game(config) for config in found.configs]
    if any(game != games[0] for game in games):
        note = (
            "The runs were trained in games of different settings, so their players do not meet in a league."
        )
        return dataclasses.replace(found, notes=(*found.notes, note)), []
    try:
        game = game_from_data(games[0])
        players = [load_players(record.folder.path, game) for record in records]
        scripted = _opponents(game, opponents)
        league = _league(found, game, players, scripted, episodes, seed)
    except ComityError as error:
        if opponents:
            raise
        note = f"Their players did not meet: {error}"
        return dataclasses.replace(found, notes=(*found.notes, note)), []
    firsts = {name: players[runs[0]] for name, runs in found.groups.items()}
    parts = [
        *behaviour_section(game, firsts, seed),
        *(replay_section(game, firsts, seed) if with_replays else []),
    ]
    return dataclasses.replace(found, league=league), parts


def _opponents(game: Environment, names: Sequence[str] | None) -> dict[str, PerSeat[Player]]:
    """The scripted players that were asked for, or those that show cooperation and defection in this game."""
    if names is None:
        own = list(SCRIPTED[game.family].rows()) if game.family in SCRIPTED else []
        names = [name for name in USUAL if name in own] or own[:MOST_SCRIPTED]
    seats = range(len(game.seats))
    return {name: tuple(scripted_player(name, game, seat) for seat in seats) for name in names}


def _league(
    found: Compared,
    game: Environment,
    players: Sequence[PerSeat[Player]],
    scripted: Mapping[str, PerSeat[Player]],
    episodes: int,
    seed: int,
) -> League:
    """Every run against every run and the scripted players; then the runs of a kind count as one."""
    everyone = {f"run {i}": own for i, own in enumerate(players)} | dict(scripted)
    kinds = dict(found.groups) | {name: [len(players) + i] for i, name in enumerate(scripted)}
    return by_kind(play_league(game, everyone, episodes, seed=seed), kinds)


def behaviour_section(game: Environment, players: Mapping[str, PerSeat[Player]], seed: int = 0) -> list[str]:
    """What a player of each kind does in each state, where states can be counted."""
    from comity.report import sections

    found = {}
    for name, own in players.items():
        seen = behaviour(game, own[0], own[-1], jax.random.key(seed), tremble=TREMBLE)
        if seen is not None:
            found[name] = seen
    if not found:
        return []
    how = (
        f"The first run of each kind, against copies of itself, with {TREMBLE:.0%} of all actions replaced "
        "by random ones."
    )
    return [sections.behaviour_section(found, how)]


def replay_section(game: Environment, players: Mapping[str, PerSeat[Player]], seed: int = 0) -> list[str]:
    """One episode of the first run of each kind with itself, as a moving picture."""
    from comity.report import html, replays

    length = min(game.horizon or SHOWN, SHOWN)
    figures = []
    for name, own in players.items():
        played = replay(game, own, seed, length, names=[name] * len(own))
        caption = f"{name} with itself, first run: {len(played.moments) - 1} steps."
        figures.append(html.image(replays.animation(replays.frames(played)), "gif", caption))
    return [html.section("Replays", html.side_by_side(*figures))]
