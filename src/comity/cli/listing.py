"""`comity games` and `comity agents`: what there is, with one line each."""

import json
from dataclasses import dataclass

from comity.agents.registry import AGENTS, ANY_FAMILY, SCRIPTED
from comity.cli.parser import parse_arguments
from comity.core.registry import Row
from comity.games.registry import GAMES, HOSTS


@dataclass
class Listing:
    """Lists what there is."""

    json: bool = False  # print JSON for a program instead of a table


def run(name: str, arguments: list[str]) -> int:
    """Prints the list."""
    options = parse_arguments(Listing, arguments, f"comity {name}")
    if name == "games":
        groups = {"games": GAMES.rows(), "third-party environments": HOSTS.rows()}
    else:
        groups = {"learners": AGENTS.rows(), "scripted, in all games": ANY_FAMILY.rows()}
        groups |= {f"scripted, in {family} games": registry.rows() for family, registry in SCRIPTED.items()}
    if options.json:
        print(json.dumps(_as_data(name, groups), indent=2))
        return 0
    width = 2 + max(len(row) for rows in groups.values() for row in rows)
    for title, rows in groups.items():
        print(f"{title}:")
        for row_name, row in rows.items():
            print(f"  {row_name:<{width}}{row.summary}")
    one = "a game" if name == "games" else "an agent"
    print(f"\ncomity train GAME AGENT --help lists every setting of {one}.")
    return 0


def _as_data(name: str, groups: dict[str, dict[str, Row]]) -> list[dict[str, str]]:
    return [
        {"name": row_name, "group": title, "summary": row.summary} if name == "agents"
        else {"name": row_name, "summary": row.summary}
        for title, rows in groups.items()
        for row_name, row in rows.items()
    ]  # fmt: skip
