"""The settings of a game and an agent with their help texts, for the page that builds a training."""

import dataclasses
import inspect
import re
from functools import lru_cache
from typing import Any

from comity.core.errors import ComityError
from comity.play.specs import make_agent, make_game
from comity.training.recipes import default_recipe

_FIELD = re.compile(r"^    (\w+)\s*:[^#]*?(?:#\s*(.*))?$")
SIMPLE = (bool, int, float, str)


def settings_for(game: str, agent: str) -> list[dict[str, Any]]:
    """Every simple setting by its dotted name, with its default and what it means.

    Defaults are those of the zoo's recipe, where there is one.
    """
    recipe = default_recipe(game, agent)
    if recipe is not None:
        played, learner = recipe.game, recipe.agents[0]
        sizes = {"iterations": recipe.iterations, "batch": recipe.batch}
    else:
        played = make_game(game)
        learner = make_agent(agent, played)
        sizes = {"iterations": 1000, "batch": 256}
    if not learner.learns:
        raise ComityError(f"{agent} does not learn: a training needs an agent that does.")
    helps = {"iterations": "rollouts, each followed by an update", "batch": "games played side by side"}
    first = [{"name": name, "default": value, "help": helps[name]} for name, value in sizes.items()]
    return [*first, *_nested(played, "game"), *_nested(learner, "agent")]


def _nested(whole: Any, path: str) -> list[dict[str, Any]]:
    """The settings of an object, and of the parts inside it."""
    found: list[dict[str, Any]] = []
    for field in dataclasses.fields(whole):
        value, name = getattr(whole, field.name), f"{path}.{field.name}"
        if value is None or isinstance(value, SIMPLE):
            text = comments(type(whole)).get(field.name, "")
            found.append({"name": name, "default": value, "help": text})
        elif dataclasses.is_dataclass(value):
            found += _nested(value, name)
    return found


@lru_cache(maxsize=256)
def comments(cls: type[Any]) -> dict[str, str]:
    """What the comment of each field of a class, and of its bases, says."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        try:
            lines = inspect.getsource(base).splitlines() if dataclasses.is_dataclass(base) else []
        except (OSError, TypeError):
            continue
        above: list[str] = []
        for line in lines:
            if line.startswith("    #"):
                above.append(line.strip("# "))
                continue
            if match := _FIELD.match(line):
                found[match[1]] = match[2] or " ".join(above)
            above = []
    return found
