"""`comity reproduce coin-league`: the head-to-head table of the Coin Game beside the published one."""

import json
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from comity.api import load_player, scripted_player
from comity.core.files import write_atomically, write_json
from comity.core.types import Player
from comity.evaluate.coin_league import METHODS, SCRIPTED, Row, beside_published, play_coin_league
from comity.evaluate.league import League
from comity.play.specs import make_game
from comity.play.zoo import zoo_names
from comity.report import html, plots, sections
from comity.train.runner import versions

HORIZONS = (16, 50)
NOTE = (
    "Published: the league of the Advantage Alignment paper, ten seeds each, which does not keep horizons "
    "apart; Comity's are the zoo's players, one table for each horizon. A method that has no players in the "
    "zoo stands with its published numbers alone."
)


def run(out: Path, episodes: int, as_json: bool) -> int:
    """Plays the zoo's players, prints both tables and writes a page."""
    game = make_game("coin")
    started = time.monotonic()
    players: dict[str, list[Player]] = {}
    for kind, agent in METHODS.items():
        names = zoo_names("coin", agent)
        if names:
            players[kind] = [load_player(name) for name in names]
    players |= {kind: [scripted_player(name, game)] for kind, name in SCRIPTED.items()}
    counts = {kind: len(own) for kind, own in players.items()}
    leagues = {horizon: play_coin_league(game, players, episodes, horizon) for horizon in HORIZONS}
    results = {
        "study": "coin-league",
        "command": "comity reproduce coin-league",
        "players": counts,
        "episodes": episodes,
        "seconds": round(time.monotonic() - started, 1),
        "versions": versions(),
        "note": NOTE,
        "tables": {
            str(horizon): [
                {
                    "row": row.first,
                    "column": row.second,
                    "published": row.published,
                    "comity": None if row.found is None else [round(x, 4) for x in row.found],
                }
                for row in beside_published(league)
            ]
            for horizon, league in leagues.items()
        },
    }
    write_json(out / "results.json", results)
    _write_page(out, leagues, counts, versions())
    if as_json:
        print(json.dumps(results))
    else:
        for horizon, league in leagues.items():
            table = Table(title=f"Coin Game, T = {horizon}: row / column, reward per step")
            for heading in ("row", "column", "published", "Comity"):
                table.add_column(heading)
            for row in beside_published(league):
                table.add_row(*_cells(row))
            Console(width=None if sys.stdout.isatty() else 100).print(table)
        print(NOTE)
        print(out / "report.html")
    return 0


def _cells(row: Row) -> list[str]:
    pairs = [row.published, row.found]
    return [row.first, row.second, *("" if p is None else f"{p[0]:.3f} / {p[1]:.3f}" for p in pairs)]


def _write_page(out: Path, leagues: dict[int, League], counts: dict[str, int], about: dict[str, str]) -> None:
    parts = [
        html.section(
            "What is compared", html.paragraph(NOTE), html.table(["kind", "players"], list(counts.items()))
        )
    ]
    for horizon, league in leagues.items():
        write_atomically(out / f"league-{horizon}.svg", plots.heat_map(league.players, league.mean).encode())
        rows = [_cells(row) for row in beside_published(league)]
        headings = ["row", "column", "published, row / column", "Comity, row / column"]
        parts.append(html.section(f"Beside the published league, T = {horizon}", html.table(headings, rows)))
        parts.append(
            sections.league_section(league, f"Episodes of {horizon} steps; all players of a kind as one.")
        )
    parts.append(sections.repeat_section(["comity reproduce coin-league"], about))
    page = html.page("The Coin Game's league", "Every method against every other.", parts)
    write_atomically(out / "report.html", page.encode())
