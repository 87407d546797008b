"""What is known of people from the games that they played before, for the next one."""

from typing import Any

from comity.web.catalogue import Catalogue, read_object
from comity.web.places import Root

MOST_FILES = 200  # that are read, the newest


def record(
    root: Root, catalogue: Catalogue, person: str, game: str, opponent: str, but: str | None = None
) -> dict[str, Any] | None:
    """How a person did against an opponent in a game so far, and what the opponent did; None if never.

    `but` is a file that does not count: that of the game under way.
    """
    entries = [
        entry
        for entry in catalogue.entries()
        if entry["kind"] == "play" and entry["game"] == game and opponent in entry["players"]
        if entry["path"] != but
    ]
    games, own, other = 0, 0.0, 0.0
    facts: dict[str, list[float]] = {}
    for entry in sorted(entries, key=lambda entry: entry["changed"])[-MOST_FILES:]:
        data = read_object(root.folder / entry["path"])
        seat, totals, told = data.get("seat"), data.get("total"), data.get("tendencies")
        if type(seat) is not int or not isinstance(totals, list) or not 0 <= seat < len(totals):
            continue
        if data.get("person") != person or not data.get("over"):
            continue
        beside = [i for i, name in enumerate(entry["players"]) if name == opponent and i < len(totals)]
        figures = [totals[seat], *(totals[i] for i in beside)]
        if len(figures) < 2 or not all(type(x) in (int, float) for x in figures):
            continue
        games += 1
        own += figures[0]
        other += sum(figures[1:]) / len(beside)
        for about in told if isinstance(told, list) else []:
            if isinstance(about, dict) and about.get("player") == opponent:
                _add(facts, about.get("facts"))
    if games == 0:
        return None
    shown = [
        {"name": name, "share": amount / count, "count": count}
        for name, (amount, count) in facts.items()
        if count > 0
    ]
    return {"games": games, "own": own / games, "other": other / games, "facts": shown}


def _add(sums: dict[str, list[float]], facts: Any) -> None:
    for fact in facts if isinstance(facts, list) else []:
        if not isinstance(fact, dict) or not isinstance(fact.get("name"), str):
            continue
        share, count = fact.get("share"), fact.get("count")
        if isinstance(share, int | float) and isinstance(count, int) and count > 0:
            own = sums.setdefault(fact["name"], [0.0, 0])
            own[0] += share * count
            own[1] += count
