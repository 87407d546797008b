"""`comity zoo`: trained players and the recipes that they come from, with their scores and what they cost."""

import json
from dataclasses import dataclass
from typing import Any

import tyro

from comity.cli.parser import parse_arguments
from comity.core.errors import unknown_name
from comity.play.zoo import PREFIX, recipe_names, zoo_about, zoo_names, zoo_recipe

UNKNOWN = "not known"


@dataclass
class Settings:
    """Lists the zoo's recipes; with a name (coin, coin/adalign, coin/adalign/3), what is known of players."""

    name: tyro.conf.Positional[str] = ""  # a game, a recipe or a player
    json: bool = False  # print JSON for a program instead of a table


def run(name: str, arguments: list[str]) -> int:
    """Prints the list, or one recipe, or one player."""
    settings = parse_arguments(Settings, arguments, "comity zoo")
    wanted = settings.name.removeprefix(PREFIX).strip("/")
    recipes = [own for own in recipe_names() if f"{own}/".startswith(f"{wanted}/" if wanted else "")]
    player = wanted if f"{PREFIX}{wanted}" in zoo_names() else ""
    if player:
        recipes = [player.rpartition("/")[0]]
    if not recipes:
        games = {own.partition("/")[0] for own in recipe_names()}
        raise unknown_name("game, recipe or player in the zoo", wanted, [*games, *recipe_names()])
    found = [_entry(recipe) for recipe in recipes]
    if player:
        found[0]["players"] = [own for own in found[0]["players"] if own["name"] == f"{PREFIX}{player}"]
    if settings.json:
        print(json.dumps(found, indent=2))
    elif len(found) == 1:
        _print_recipe(found[0])
    else:
        _print_list(found)
    return 0


def _entry(recipe: str) -> dict[str, Any]:
    """A recipe with its players, as JSON data."""
    game, _, agent = recipe.partition("/")
    about, experiment = zoo_about(game, agent), zoo_recipe(game, agent)
    players = [
        {"name": name, **about["players"].get(name.rpartition("/")[2], {})} for name in zoo_names(game, agent)
    ]
    return {
        "recipe": f"{PREFIX}{recipe}",
        "iterations": experiment.get("iterations"),
        "cpu_seconds": about.get("mean_cpu_seconds"),
        "measures": about.get("measures") or {},
        "note": about.get("note") or "",
        "players": players,
    }


def _print_list(found: list[dict[str, Any]]) -> None:
    width = 2 + max(len(entry["recipe"]) for entry in found)
    print(f"{'recipe':<{width}}{'players':>7}  {'CPU-seconds':>11}  mean scores")
    for entry in found:
        cost = UNKNOWN if entry["cpu_seconds"] is None else f"{entry['cpu_seconds']:,.0f}"
        scores = ", ".join(f"{name} {_number(score)}" for name, score in _mean_scores(entry).items())
        print(f"{entry['recipe']:<{width}}{len(entry['players']):>7}  {cost:>11}  {scores}")
    print(
        "\ncomity zoo NAME says more; comity train NAME trains a recipe; its players are NAME/0, NAME/1, ..."
    )


def _print_recipe(entry: dict[str, Any]) -> None:
    cost = UNKNOWN if entry["cpu_seconds"] is None else f"{entry['cpu_seconds']:,.0f} CPU-seconds on average"
    print(f"{entry['recipe']}: {entry['iterations']:,} iterations; to train: {cost}.")
    if entry["note"]:
        print(entry["note"])
    measures = list(dict.fromkeys(name for own in entry["players"] for name in own.get("scores") or {}))
    for name in measures:
        print(f"  {name}: {entry['measures'].get(name, '')}")
    width = 2 + max((len(own["name"]) for own in entry["players"]), default=8)
    columns = [(name, max(len(name), 7)) for name in measures]
    heading = "".join(f"{name:>{size + 2}}" for name, size in columns)
    print(f"\n{'player':<{width}}{heading}  {'CPU-seconds':>11}  {'commit':<9}machine")
    for own in entry["players"]:
        scores = own.get("scores") or {}
        cells = "".join(f"{_number(scores.get(name)):>{size + 2}}" for name, size in columns)
        cost = "-" if own.get("cpu_seconds") is None else f"{own['cpu_seconds']:,.0f}"
        commit, machine = (own.get(name) or "-" for name in ("commit", "machine"))
        print(f"{own['name']:<{width}}{cells}  {cost:>11}  {commit!s:<9}{machine}")
    seed = entry["players"][0].get("seed", 0) if entry["players"] else 0
    print(f"\nTrain it again: comity train {entry['recipe']} --seed {seed}")


def _mean_scores(entry: dict[str, Any]) -> dict[str, float]:
    """The mean of each score over the players that have it."""
    scores: dict[str, list[float]] = {}
    for own in entry["players"]:
        for name, score in (own.get("scores") or {}).items():
            if isinstance(score, int | float):
                scores.setdefault(name, []).append(score)
    return {name: sum(values) / len(values) for name, values in scores.items()}


def _number(score: Any) -> str:
    return f"{score:.3f}" if isinstance(score, int | float) else "-"
