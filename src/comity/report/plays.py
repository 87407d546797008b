"""The page about games that people played: who earned what, what they did, and whom they took for whom."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from comity.core.errors import ComityError
from comity.core.files import read_json
from comity.evaluate.transcript import KIND
from comity.report import html

MOST_STEPS = 200  # of a game, that are shown
SCORES = {"the person": "mean sum of rewards in a game", "the other": "the same, of those they played with"}
Play = Mapping[str, Any]


def is_play(path: Path) -> bool:
    """Whether a file is a game that somebody played."""
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("kind") == KIND


def read_play(path: Path) -> Play:
    """A game as `comity ui` or `comity play --save` wrote it."""
    data = read_json(path, "a game that was played")
    lists = ("seats", "players", "total", "steps")
    sound = isinstance(data, dict) and data.get("kind") == KIND and isinstance(data.get("game"), dict)
    if not sound or not all(isinstance(data.get(name), list) for name in lists):
        raise ComityError(f"{path} is not a game that was played: `comity ui` and `comity play` write them.")
    count = len(data["seats"])
    steps = all(
        isinstance(step, dict)
        and all(isinstance(step.get(part), list) and len(step[part]) == count for part in ("names", "reward"))
        for step in data["steps"]
    )
    numbers = [data["total"], *(step["reward"] for step in data["steps"])] if steps else []
    numeric = steps and all(type(x) in (int, float) for row in numbers for x in row)
    fits = len(data["players"]) == len(data["total"]) == count and type(data.get("seat")) is int
    if not numeric or not fits or not 0 <= data["seat"] < count:
        raise ComityError(f"{path} is damaged: its steps and players do not fit its {count} seats.")
    found: Play = data
    return found


def plays_page(paths: Sequence[Path], command: str) -> str:
    """The page about some games."""
    plays = [read_play(path) for path in paths]
    headings = ["game", "person", "against", "games", *SCORES]
    sections = [
        html.section("Scores", html.table(headings, scores(plays), SCORES)),
        *guesses_section(plays),
        html.section("Games", *(_game(path.name, play) for path, play in zip(paths, plays, strict=True))),
        html.section("How to repeat it", html.code(command)),
    ]
    return html.page("Games that people played", _verdict(plays), sections)


def scores(plays: Iterable[Play]) -> list[list[Any]]:
    """For each game, person and opponents: how many games, and the mean sums of both."""
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for play in plays:
        own = play["seat"]
        others = [i for i in range(len(play["seats"])) if i != own]
        against = ", ".join(dict.fromkeys(str(play["players"][i]) for i in others)) or "nobody"
        mean = sum(float(play["total"][i]) for i in others) / max(len(others), 1)
        key = (str(play["game"].get("name")), str(play["players"][own]), against)
        groups.setdefault(key, []).append((float(play["total"][own]), mean))
    return [
        [*key, len(own), sum(x for x, _ in own) / len(own), sum(y for _, y in own) / len(own)]
        for key, own in groups.items()
    ]


def guesses(plays: Iterable[Play]) -> Counter[tuple[str, str]]:
    """How often a hidden opponent was taken for whom: (who it was, the guess)."""
    found: Counter[tuple[str, str]] = Counter()
    for play in plays:
        if not play.get("hidden"):
            continue
        people, given = (_object(play.get(name)) for name in ("people", "guesses"))
        for seat, guess in (given or {str(play["seat"]): play.get("guess")}).items():
            others = [i for i in range(len(play["seats"])) if str(i) != seat]
            if guess and others:
                truth = "a person" if str(others[0]) in people else str(play["players"][others[0]])
                found[truth, str(guess)] += 1
    return found


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def guesses_section(plays: Sequence[Play]) -> list[str]:
    """Whom hidden opponents were taken for, if any were hidden."""
    found = guesses(plays)
    if not found:
        return []
    named = list(dict.fromkeys(guess for _, guess in found))
    rows = [
        [truth, *(found[truth, guess] for guess in named)] for truth in dict.fromkeys(t for t, _ in found)
    ]
    right = sum(count for (truth, guess), count in found.items() if truth == guess)
    text = f"{right} of {sum(found.values())} guesses were right. Rows: who it was; columns: the guess."
    return [html.section("Who was it?", html.paragraph(text), html.table(["it was", *named], rows))]


def _verdict(plays: Sequence[Play]) -> str:
    people = len({str(play["players"][play["seat"]]) for play in plays})
    games = "1 game" if len(plays) == 1 else f"{len(plays)} games"
    return f"{games} of {people} {'person' if people == 1 else 'people'}."


def _game(name: str, play: Play) -> str:
    """One game step by step, and what the others tended to do."""
    seats = [f"{seat} ({player})" for seat, player in zip(play["seats"], play["players"], strict=True)]
    headings = ["step", *(part for seat in seats for part in (seat, "reward"))]
    rows = []
    for i, step in enumerate(play["steps"][:MOST_STEPS], 1):
        row: list[Any] = [i]
        for done, reward in zip(step["names"], step["reward"], strict=True):
            row += ["waits" if done is None else str(done), float(reward)]
        rows.append(row)
    told = play.get("tendencies")
    facts = [
        [str(about.get("player")), str(fact.get("name")), f"{fact['share']:.0%}", fact.get("count")]
        for about in (told if isinstance(told, list) else [])
        if isinstance(about, dict)
        for fact in about.get("facts") or []
        if isinstance(fact, dict) and type(fact.get("share")) in (int, float)
    ]
    tendencies = [html.table(["who", "what", "share", "choices"], facts)] if facts else []
    title = f"{play['game'].get('name')}: {', '.join(seats)} ({name})"
    return html.details(title, html.table(headings, rows), *tendencies)
