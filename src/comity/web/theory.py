"""The theory page: a pasted table of payoffs, or of coalitions, and all that is known of it."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from comity.core.errors import ComityError
from comity.theory.analysis import analyse_coalitions, analyse_game
from comity.theory.dynamics.replicator import run_replicator, run_two_populations
from comity.theory.errors import TheoryError
from comity.theory.normal_form import NormalFormGame
from comity.theory.normal_form.named_games import NAMED_GAMES
from comity.theory.normal_form.structure import is_symmetric
from comity.theory.pictures import response_curve
from comity.theory.readers.coalitions import parse_coalitions_csv, parse_coalitions_json
from comity.theory.readers.games import parse_game_csv, parse_game_json
from comity.theory.readers.nfg import parse_nfg
from comity.theory.repeated.folk_theorem import payoff_region

MOST_PROFILES = 400
MOST_ACTIONS = 20  # of all players together
MOST_PLAYERS = 8  # of a cooperative game
SECONDS = 5.0
FLOW_STEPS, FLOW_STARTS = 400, 6


def analyse_text(text: str, coalition: bool) -> dict[str, Any]:
    """What theory says about a text: JSON, Gambit's format, or a table with commas."""
    if coalition:
        return _coalitions(text)
    game = named_game(text.strip()) or parse_game(text)
    if game.num_profiles > MOST_PROFILES or sum(game.num_actions) > MOST_ACTIONS:
        raise ComityError(
            f"The game has {game.num_profiles} profiles and {sum(game.num_actions)} actions: up to "
            f"{MOST_PROFILES} and {MOST_ACTIONS} work here. `comity solve FILE` takes larger ones."
        )
    report = analyse_game(game, SECONDS)
    about = {"title": game.title, "players": list(game.players), "actions": [list(a) for a in game.actions]}
    return {**about, "payoffs": game.payoffs.tolist(), "report": report, "pictures": pictures(game)}


def parse_game(text: str) -> NormalFormGame:
    """A game from text, whatever format it has."""
    start = text.lstrip()
    if start.startswith(("{", "[")):
        return parse_game_json(text)
    return parse_nfg(text) if start.startswith("NFG") else parse_game_csv(text.replace("\t", ","))


def named_game(name: str) -> NormalFormGame | None:
    """A textbook game by its name, if there is one."""
    return NAMED_GAMES[name]() if name in NAMED_GAMES else None


def named_tables() -> dict[str, str]:
    """Textbook games of two players as text that can be changed and analysed again."""
    return {name: _table(game()) for name, game in NAMED_GAMES.items() if game().num_players == 2}


def _table(game: NormalFormGame) -> str:
    head = ", ".join(["", *game.actions[1]])
    lines = [
        ", ".join([name, *(f"{a:g} {b:g}" for a, b in zip(*game.payoffs[:, i], strict=True))])
        for i, name in enumerate(game.actions[0])
    ]
    return "\n".join([head, *lines])


def _coalitions(text: str) -> dict[str, Any]:
    start = text.lstrip()
    game = parse_coalitions_json(text) if start.startswith("{") else parse_coalitions_csv(text)
    if len(game.players) > MOST_PLAYERS:
        raise ComityError(f"The game has {len(game.players)} players: up to {MOST_PLAYERS} work here.")
    return {"players": list(game.players), "report": analyse_coalitions(game)}


def pictures(game: NormalFormGame) -> dict[str, Any]:
    """The pictures that can be drawn of a game, as points; all of them are of two players."""
    if game.num_players != 2:
        return {}
    found: dict[str, Any] = {}
    try:
        region = payoff_region(game)
        found["region"] = {"feasible": region.feasible.tolist(), "rational": region.rational.tolist()}
    except TheoryError:
        pass
    if game.num_actions == (2, 2):
        row, column = game.payoffs
        own = response_curve((row[0] - row[1])[::-1])
        other = response_curve((column[:, 0] - column[:, 1])[::-1])
        found["responses"] = {"row": own[:, ::-1].tolist(), "column": other.tolist()}
        found["flow"] = _flow(game)
    elif game.num_actions == (3, 3) and is_symmetric(game):
        found["simplex"] = _simplex(game)
    return found


def _flow(game: NormalFormGame) -> list[Any]:
    """Two-population replicator paths of a 2 x 2 game: the probabilities of both first actions."""
    grid = np.linspace(0.06, 0.94, FLOW_STARTS)
    x, y = (own.ravel() for own in np.meshgrid(grid, grid))
    row, column = (jnp.asarray(table) for table in game.payoffs / _width(game))
    start = tuple(jnp.asarray(np.stack([p, 1 - p], -1), row.dtype) for p in (x, y))
    paths = run_two_populations(row, column, (start[0], start[1]), FLOW_STEPS, 0.03)
    points = np.stack([np.asarray(path)[::8, :, 0] for path in paths], -1)  # time, start, both
    found: list[Any] = np.moveaxis(points, 1, 0).round(4).tolist()
    return found


def _simplex(game: NormalFormGame) -> list[Any]:
    """Replicator paths of a symmetric 3 x 3 game: one population's shares."""
    shares = [(i, j, 6 - i - j) for i in range(1, 5) for j in range(1, 6 - i)]
    table = jnp.asarray(game.payoffs[0] / _width(game))
    start = jnp.asarray(np.asarray(shares) / 6.0, table.dtype)
    path = np.asarray(run_replicator(table, start, FLOW_STEPS, 0.05))[::6]
    found: list[Any] = np.moveaxis(path, 1, 0).round(4).tolist()
    return found


def _width(game: NormalFormGame) -> float:
    return float(np.ptp(game.payoffs)) or 1.0
