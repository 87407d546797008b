"""The settings of a game and an agent with their help texts, for the page that builds a training."""

import ast
import dataclasses
import inspect
import textwrap
import threading
from functools import cache
from typing import Any

from comity.core.errors import ComityError
from comity.play.specs import make_agent, make_game
from comity.training.recipes import default_recipe

_PARSING = threading.Lock()
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
    kind: Any = type(whole)
    for field in dataclasses.fields(whole):
        value, name = getattr(whole, field.name), f"{path}.{field.name}"
        if value is None or isinstance(value, SIMPLE):
            text = comments(kind).get(field.name, "")
            found.append({"name": name, "default": value, "help": text})
        elif dataclasses.is_dataclass(value):
            found += _nested(value, name)
    return found


def comments(cls: type[Any]) -> dict[str, str]:
    """What is said of each field of a class and of its bases: in a comment, or in a text below it."""
    with _PARSING:  # Python 3.11 cannot make syntax trees in two threads at a time (cpython issue 106905)
        return _comments(cls)  # type: ignore[arg-type]


@cache
def _comments(cls: type[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        try:
            source = textwrap.dedent(inspect.getsource(base)) if dataclasses.is_dataclass(base) else ""
        except (OSError, TypeError):
            continue
        lines = source.splitlines()
        body = ast.parse(source).body[0].body if source else []  # type: ignore[attr-defined]
        for node, after in zip(body, [*body[1:], None], strict=False):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[node.target.id] = _below(after) or _comment(lines, node)
    return found


def _below(node: Any) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return " ".join(str(node.value.value).split()) if is_text else ""


def _comment(lines: list[str], node: ast.AnnAssign) -> str:
    """The comment behind a field, or else the ones above it."""
    end = node.end_lineno or node.lineno
    behind = lines[end - 1][node.end_col_offset or 0 :].partition("#")[2].strip()
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line.strip("# "))
    return behind or " ".join(above)
