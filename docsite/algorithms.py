"""What follows from the code and committed results on the pages about algorithms: settings, scores, cost."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from docsite import results
from docsite.markup import cell, from_docstring, table
from docsite.source import ROOT, Class, comments, modules

PAGES = ROOT / "docs" / "algorithms"
# The studies whose committed results say something about an agent.
STUDIES = {
    "adalign": ("coin", "ipd", "negotiation", "scaling", "coin-masks"),
    "proximal-adalign": ("harvest", "harvest-weights", "harvest-defence"),
    "loqa": ("coin-loqa", "ipd-loqa", "scaling"),
    "pola": ("coin-pola", "ipd-pola"),
    "mfos": ("mfos",),
    "evolution": ("mfos",),
    "ppo": ("harvest",),
    "mappo": ("teams", "team-variants"),
    "ippo": ("teams",),
}
FAMILIES = {
    "on_policy": "Policy gradients",
    "off_policy": "Off-policy",
    "shaping": "Opponent shaping",
    "exact": "Exact values",
    "evolution": "Evolution",
}


def names() -> list[str]:
    """All algorithms, by the names of the command line."""
    from comity.agents.registry import AGENTS

    return list(AGENTS.rows())


def family(name: str) -> str:
    """What kind of algorithm it is: the folder of its file."""
    from comity.agents.registry import AGENTS

    folder = AGENTS.rows()[name].target.split(".")[2]
    return FAMILIES.get(folder, folder.replace("_", " ").capitalize())


def pages() -> dict[str, str]:
    """The page of each algorithm by its path in the site; what was written by hand comes first."""
    return {f"algorithms/{name}.md": page(name) for name in names()}


def page(name: str) -> str:
    """The whole page of an algorithm."""
    file = PAGES / f"{name}.md"
    text = file.read_text(encoding="utf-8") if file.exists() else first_part(name)
    return "\n\n".join([text.rstrip(), *measured(name), settings(name), code(name)]) + "\n"


def first_part(name: str) -> str:
    """What the source says of an algorithm that has no page written by hand."""
    from comity.agents.registry import AGENTS

    row = AGENTS.rows()[name]
    module = next(own for own in modules() if own.name == row.target.partition(":")[0])
    train = f"`comity train GAME {name} --help` lists every setting in a game."
    return f"# {name}\n\n{cell(row.summary)}.\n\n{from_docstring(module.doc)}\n\n{train}\n"


def index() -> str:
    """The table of all algorithms, family by family."""
    from comity.agents.registry import AGENTS

    parts = []
    for title in dict.fromkeys(map(family, names())):
        rows = [
            [f"[`{name}`]({name}.md)", cell(AGENTS.rows()[name].summary)]
            for name in names()
            if family(name) == title
        ]
        parts.append(f"## {title}\n\n{table(['agent', 'what it does'], rows)}")
    return "\n\n".join(parts)


def settings(name: str) -> str:
    """Every setting of an agent as it is by default, with the comments of the source."""
    from comity.agents.registry import AGENTS

    agent = AGENTS.load(name)()
    rows = [
        [f"`--agent.{path.replace('_', '-')}`", f"`{value}`", cell(text)]
        for path, value, text in _nested(agent, "")
    ]
    return (
        f"## Settings\n\nDefaults of `comity.make_agent({name!r})`; where the zoo has a recipe, `comity "
        f"train` begins with that instead. `--agent.PART NAME` of a network, view, memory or form of "
        f"the past chooses another kind, with [settings of its own](../reference/index.md).\n\n"
        f"{table(['setting', 'default', 'what it is'], rows)}"
    )


def _nested(whole: Any, path: str) -> Iterator[tuple[str, str, str]]:
    said = comments(type(whole))
    for field in dataclasses.fields(whole):
        if not field.init:
            continue
        value, own = getattr(whole, field.name), f"{path}{field.name}"
        text = said.get(field.name, "")
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            chosen = _chosen(value)
            if chosen:
                yield own, chosen, text
            yield from _nested(value, f"{own}.")
        else:
            yield own, _plain(value), text


def _chosen(value: Any) -> str:
    """The name of an object that is a choice by name."""
    options = getattr(type(value), "options", None)
    return str(options.name_of(type(value))) if options is not None else ""


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(map(_plain, value)) or "none"
    return "none" if value is None else str(value)


def measured(name: str) -> list[str]:
    """Results of an algorithm: its studies, its players in the zoo, and what an update costs."""
    found = []
    for study in STUDIES.get(name, ()):
        found += results.tables(study, "###")
        command = results.read(study).get("command")
        found.append(f"`{command}`: [all numbers and how they were made](../results/{study}.md).")
    found += _zoo(name)
    found += _cost(name)
    if not found:
        found = [
            "There are no committed results of a study of this algorithm yet. Its update is held to known "
            "answers by the tests, and what was tried is in the guide that is named above."
        ]
    return ["## Measured", *found]


def _zoo(name: str) -> list[str]:
    """Scores of the players in the zoo: mean over seeds, and the range."""
    from comity.play.zoo import recipe_names, zoo_about

    rows = []
    for recipe in recipe_names():
        game, _, agent = recipe.partition("/")
        if agent != name and not (name == "ppo" and agent == "ppo-sum"):
            continue
        about = zoo_about(game, agent)
        players = list(about["players"].values())
        for measure, what in about.get("measures", {}).items():
            scores = [own["scores"][measure] for own in players if measure in own.get("scores", {})]
            if scores:
                spread = f"{min(scores):.3f} to {max(scores):.3f}"
                mean = f"{sum(scores) / len(scores):.3f}"
                rows.append([f"`zoo:{recipe}`", cell(str(what)), str(len(scores)), mean, spread])
    if not rows:
        return []
    headings = ["recipe", "measure", "seeds", "mean", "range"]
    return [
        f"### In the zoo\n\n{table(headings, rows, right=3)}\n"
        f"`comity zoo` lists the players, with what training each cost."
    ]


def _cost(name: str) -> list[str]:
    """How long an iteration takes beside one of A2C."""
    data = json.loads((ROOT / "benchmarks" / "results" / "shaping.json").read_text(encoding="utf-8"))
    own = data["rows"].get(name)
    if own is None or "of_a2c" not in own:
        return []
    return [
        f"An iteration takes {own['of_a2c']:.1f} times as long as one of A2C (prisoner's dilemma of "
        f"{data['steps']} steps, {data['batch']} games, {data['network']['kind'].upper()} of "
        f"{data['network']['width']}; [benchmark](../../benchmarks/results/shaping.json))."
    ]


def code(name: str) -> str:
    """Where the algorithm is in the source."""
    from comity.agents.registry import AGENTS

    target = AGENTS.rows()[name].target
    module, _, cls = target.partition(":")
    found = next(own for own in modules() if own.name == module)
    shelf = ".".join(found.path.parent.relative_to(ROOT / "src").parts)
    member = next(own for own in found.members if isinstance(own, Class) and own.name == cls)
    where = found.path.relative_to(ROOT)
    link = f"[`{cls}`](../reference/{shelf}.md#{module}.{cls}) in [{where}](../../{where})"
    return f"## Code\n\n{link}: {cell(member.doc.splitlines()[0])}"
