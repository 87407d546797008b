"""The reference: one page per folder of the package, with every public name, signature and docstring.

Written from the source and not by mkdocstrings, which reads neither the comments behind settings nor the
formulas of docstrings.
"""

import re
from collections import defaultdict

from docsite.markup import cell, code, from_docstring, table
from docsite.source import PACKAGE, Class, Function, Module, modules

TOP = "comity"


def pages() -> dict[str, str]:
    """All pages of the reference, by their path among the sources of the site."""
    shelves: dict[str, list[Module]] = defaultdict(list)
    for module in modules():
        shelves[_shelf(module)].append(module)
    found = {f"reference/{name}.md": _page(name, own) for name, own in shelves.items()}
    return {"reference/index.md": _index(shelves), **found}


def anchors() -> dict[str, str]:
    """Where each module stands: its page, and the anchor there."""
    return {module.name: f"reference/{_shelf(module)}.md#{module.name}" for module in modules()}


def _shelf(module: Module) -> str:
    folder = module.path.parent.relative_to(PACKAGE.parent)
    return ".".join(folder.parts)


def _index(shelves: dict[str, list[Module]]) -> str:
    from comity.cli import COMMANDS

    rows = []
    for name, own in sorted(shelves.items()):
        about = next((module.doc for module in own if module.path.name == "__init__.py"), "")
        names = sum(len(module.members) for module in own)
        rows.append([f"[`{name}`]({name}.md)", cell(_first(about)), str(len(own)), str(names)])
    commands = [[f"`comity {name}`", cell(about)] for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        [
            "# Reference\n",
            "Every public name of the package, from the source. What most programs need are the few names of "
            "[`comity`](comity.md); all else is where the [architecture](../architecture.md) says.\n",
            table(["folder", "what is in it", "modules", "names"], rows, right=2),
            "## Commands\n",
            "`comity COMMAND --help` explains a command with all its options, `comity train GAME "
            "AGENT --help` every setting of a game and an agent.\n",
            table(["command", "what it does"], commands),
            "## Games\n",
            _registry_table("comity.games.registry", "GAMES"),
            "## Scripted players\n",
            _scripted(),
        ]
    )


def _registry_table(module: str, name: str) -> str:
    import importlib

    rows = getattr(importlib.import_module(module), name).rows()
    places = anchors()
    lines = []
    for key, row in rows.items():
        place = places.get(row.target.partition(":")[0], "").removeprefix("reference/")
        lines.append([f"[`{key}`]({place})" if place else f"`{key}`", cell(row.summary)])
    return table(["name", "what it is"], lines)


def _scripted() -> str:
    from comity.agents.registry import ANY_FAMILY, SCRIPTED

    families = {"any": ANY_FAMILY, **SCRIPTED}
    rows = [
        [f"`{name}`", family, cell(row.summary)]
        for family, registry in families.items()
        for name, row in registry.rows().items()
    ]
    return table(["name", "family of games", "what it does"], rows)


def _page(name: str, own: list[Module]) -> str:
    parts = [f"---\nsearch:\n  boost: 0.5\n---\n\n# {name}\n"]
    if name == TOP:
        parts.append(_top())
    for module in own:
        if module.name != name:
            parts.append(f"## {module.name.removeprefix(name + '.')} {{ #{module.name} }}\n")
        elif name != TOP:
            parts.append(f'<span id="{module.name}"></span>\n')
        parts.append(from_docstring(module.doc) if module.name != TOP else "")
        parts += [_member(module, member) for member in module.members]
    return "\n\n".join(part for part in parts if part) + "\n"


def _top() -> str:
    """The names of `comity` itself, each with a link to where it is."""
    import comity

    places = {
        member.name: f"{_shelf(module)}.md#{module.name}.{member.name}".replace("reference/", "")
        for target in set(comity._PUBLIC.values())
        for module in modules()
        if module.name == target
        for member in module.members
    }
    summaries = {
        member.name: _first(member.doc)
        for module in modules()
        if module.name in set(comity._PUBLIC.values())
        for member in module.members
    }
    rows = [
        [f"[`comity.{name}`]({places[name]})", cell(summaries[name])]
        for name in comity.__all__
        if name in places
    ]
    return table(["name", "what it is"], rows)


def _member(module: Module, member: Class | Function) -> str:
    anchor = f"{module.name}.{member.name}"
    if isinstance(member, Function):
        return f"### {member.name} {{ #{anchor} }}\n\n{_signature(member)}\n\n{from_docstring(member.doc)}"
    bases = f"({', '.join(member.bases)})" if member.bases else ""
    parts = [
        f"### {member.name} {{ #{anchor} }}",
        f"```python\nclass {member.name}{bases}\n```",
        from_docstring(member.doc),
    ]
    if member.fields:
        rows = [
            [code(field.name), code(field.kind), code(field.default), cell(field.comment)]
            for field in member.fields
        ]
        parts.append(table(["field", "type", "default", "what it is"], rows))
    parts += [
        f"**{method.name}** {'' if method.kind == 'method' else f'({method.kind}) '}\n\n{_signature(method)}"
        + (f"\n\n{from_docstring(method.doc)}" if method.doc else "")
        for method in member.methods
        if method.doc or not _is_known(member, method)
    ]
    return "\n\n".join(parts)


def _is_known(member: Class, method: Function) -> bool:
    """Whether a method without a docstring of its own is explained by a base class."""
    return bool(member.bases)


def _signature(function: Function) -> str:
    text = f"{function.name}{function.signature}"
    if function.kind == "property":
        text = f"{function.name}{function.signature.removeprefix('()')}"
    if len(text) > 88:
        text = _wrapped(text)
    return f"```python\n{text}\n```"


def _wrapped(text: str) -> str:
    """A long signature with one argument a line."""
    opening = text.index("(")
    depth, arguments, start, end = 0, [], opening + 1, len(text)
    for place in range(opening, len(text)):
        letter = text[place]
        depth += letter in "([{"
        depth -= letter in ")]}"
        if (letter == "," and depth == 1) or depth == 0:
            arguments.append(text[start:place].strip())
            start = place + 1
        if depth == 0:
            end = place
            break
    lines = "".join(f"    {argument},\n" for argument in arguments if argument)
    return f"{text[: opening + 1]}\n{lines}{text[end:]}"


def _first(text: str) -> str:
    """The first sentence of a docstring, without its formulas."""
    text = re.sub(r":math:`[^`]*`|\.\. math::.*", "", text.split("\n\n")[0])
    return " ".join(text.split())
