"""Pages about results: one per study from its committed JSON, written by the study's own summary."""

import json
from typing import Any

from docsite.markup import cell, from_docstring, table
from docsite.source import ROOT

RESULTS = ROOT / "src" / "comity" / "studies" / "results"
PLACE = "src/comity/studies/results"


def names() -> list[str]:
    """The studies with committed results."""
    from comity.studies.registry import STUDIES

    return [name for name in STUDIES.rows() if (RESULTS / f"{name}.json").is_file()]


def pages() -> dict[str, str]:
    """One page for each study, by its path among the sources of the site."""
    return {f"results/{name}.md": page(name) for name in names()}


def page(name: str) -> str:
    """The page about one study."""
    found, results = study(name), read(name)
    parts = [f"# {found.title}\n", from_docstring(type(found).__doc__ or "")]
    parts += tables(name)
    parts += ["## How it was made\n", _origin(name, results)]
    return "\n\n".join(parts) + "\n"


def tables(name: str, level: str = "##") -> list[str]:
    """What a study says of its committed results, as Markdown."""
    found = []
    for part in study(name).summary(read(name)):
        if isinstance(part, str):
            found.append(cell(part))
            continue
        left = len(part.headings) if part.left is None else part.left
        headings = [cell(str(own)) for own in part.headings]
        rows = [[cell(str(own)) for own in row] for row in part.rows]
        found.append(f"{level} {cell(part.title)}\n\n{table(headings, rows, right=len(headings) - left)}")
    return found


def read(name: str) -> dict[str, Any]:
    """The committed results of a study."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def study(name: str) -> Any:
    """The study of a name, with the settings that it has by default."""
    from comity.studies.registry import STUDIES

    return STUDIES.load(name)()


def _origin(name: str, results: dict[str, Any]) -> str:
    """The command, what it takes, and where these numbers come from."""
    versions = results.get("versions", {})
    rows = [["command", f"`{results.get('command', 'comity reproduce ' + name)}`"]]
    rows.append(["training takes", cell(study(name).needs)])
    for field in ("seeds", "episodes"):
        if field in results:
            rows.append([field, str(results[field])])
    if "seconds" in results:
        rows.append(["seconds that measuring took", str(results["seconds"])])
    rows += [[cell(str(key)), cell(str(value))] for key, value in versions.items()]
    rows.append(["all numbers", f"[{name}.json](../../{PLACE}/{name}.json)"])
    return table(["", ""], rows)
