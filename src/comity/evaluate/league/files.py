"""Leagues read from files, or from tables made by hand."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from comity.core.errors import ComityError
from comity.core.files import read_json
from comity.evaluate.league.result import KIND, VERSION, League, Outcome


def read_league(path: Path) -> League:
    """Reads a league from its JSON file, as `League.save` writes it.

    A table made by hand is read too: {"mean": [[...]]}, what the row's player earns against the column's,
    and if they are known "low", "high" and "players".
    """
    return league_from_data(read_json(path, "a league"), str(path))


def league_from_data(data: Any, where: str) -> League:
    """The league that JSON data stand for; `where` says in messages what they are."""
    by_hand = isinstance(data, dict) and "kind" not in data and "mean" in data
    if by_hand:
        data = _by_hand(data, where)
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ComityError(f"{where} is not a league: `comity league ... --json FILE` writes one.")
    if not isinstance(data.get("version"), int) or data["version"] > VERSION:
        raise ComityError(f"{where} was written by a newer Comity: upgrade to read it.")
    fields = ("players", "mean", "low", "high", "game_settings", "horizon", "episodes", "seed")
    missing = [name for name in fields if name not in data]
    if missing:
        raise ComityError(
            f"{where} is damaged: it lacks {', '.join(missing)}. `comity league` writes them all."
        )
    try:
        players = tuple(str(name) for name in data["players"])
        tables = [np.asarray(data[name], np.float64) for name in ("mean", "low", "high")]
        game = dict(data["game_settings"])
        numbers = [int(data[name]) for name in ("horizon", "episodes", "seed")]
    except (TypeError, ValueError, OverflowError) as error:
        raise ComityError(
            f"{where} is damaged ({error}): a list of players, square tables and whole numbers would work."
        ) from None
    if any(table.shape != (len(players), len(players)) for table in tables) or "name" not in game:
        raise ComityError(f"{where} is damaged: its tables do not fit its {len(players)} players.")
    mean, low, high = tables
    if not np.isfinite(tables).all() or (low > high).any() or min(numbers[:2]) < 1:
        raise ComityError(
            f"{where} is damaged: finite tables, low up to high, and at least one step and episode "
            "would work."
        )
    if by_hand and ((low > mean) | (mean > high)).any():
        raise ComityError(f"{where} has a mean outside its limits: low <= mean <= high would work.")
    seat_results = _seat_results(data, len(players), where)
    given = data.get("sources")
    sources = {str(name): str(own) for name, own in given.items()} if isinstance(given, dict) else {}
    seat_results["sources"] = sources
    return League(game, numbers[0], numbers[1], numbers[2], players, mean, low, high, **seat_results)


def _seat_results(data: Mapping[str, Any], players: int, where: str) -> dict[str, Any]:
    """What a file says of seats; nothing in version 1."""
    if data["version"] < 2:
        return {}
    seats, roles, by_seat = (data.get(name, ()) for name in ("seats", "roles", "by_seat"))
    flags = {name: data.get(name) for name in ("symmetric", "deterministic")}
    texts = all(isinstance(x, list) and all(isinstance(y, str) for y in x) for x in (seats, roles))
    if not texts or not all(isinstance(flag, bool) for flag in flags.values()):
        raise ComityError(f"{where} is damaged: lists of seats and roles, and two truth values would work.")
    table = None
    if by_seat is not None:
        try:
            table = np.asarray(by_seat, np.float64)
        except (TypeError, ValueError, OverflowError):
            table = np.zeros(0)
        if table.shape != (len(seats), players, players) or not np.isfinite(table).all():
            raise ComityError(f"{where} is damaged: by_seat must be one finite table for each of its seats.")
    if len(roles) != len(seats):
        raise ComityError(f"{where} is damaged: it has {len(roles)} roles for {len(seats)} seats.")
    outcomes = _outcomes(data.get("outcomes") or {}, (len(seats), players, players), where)
    return {"seats": tuple(seats), "roles": tuple(roles), "by_seat": table, "outcomes": outcomes, **flags}


def _outcomes(data: Any, shape: tuple[int, int, int], where: str) -> dict[str, Outcome]:
    """Social outcomes, which older files do not have; null stands for not a number."""
    try:
        found = {
            str(name): Outcome(**{part: np.asarray(table, np.float64) for part, table in tables.items()})
            for name, tables in data.items()
        }
    except (AttributeError, TypeError, ValueError, OverflowError):
        found = {"": Outcome(*(np.zeros(0) for _ in Outcome._fields))}
    for outcome in found.values():
        if outcome.by_seat.shape != shape or any(table.shape != shape[1:] for table in outcome[:3]):
            raise ComityError(f"{where} is damaged: its outcomes do not fit its players and seats.")
    return found


def _by_hand(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A table of payoffs as a league of one step and one episode; without limits it is certain."""
    known = ("mean", "low", "high", "players")
    unknown = [name for name in data if name not in known]
    if unknown:
        raise ComityError(f"{where} has {', '.join(unknown)}; a league by hand has {', '.join(known)} only.")
    mean = data["mean"]
    size = len(mean) if isinstance(mean, list) else 0
    given = {name: value for name, value in data.items() if value is not None}
    return {
        "kind": KIND,
        "version": 1,  # which says nothing of seats
        "game_settings": {"name": "table"},
        "horizon": 1,
        "episodes": 1,
        "seed": 0,
        "players": [str(i + 1) for i in range(size)],
        "low": mean,
        "high": mean,
        **given,
    }
