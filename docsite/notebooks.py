"""Notebooks as pages: text as it is, code with what it printed and showed."""

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Page(NamedTuple):
    """A notebook as Markdown, and its pictures by name."""

    text: str
    pictures: dict[str, bytes]


def page(path: Path) -> Page:
    """The page of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    pictures: dict[str, bytes] = {}
    parts: list[str] = []
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif text.strip():
            parts.append(f"```python\n{text}\n```")
            shown = [
                _output(own, f"{path.stem}-{number}-{i}", pictures) for i, own in enumerate(cell["outputs"])
            ]
            parts += [own for own in shown if own]
    note = (
        f'\n!!! note "This page is a notebook"\n    Get it as [{path.name}]({path.name}); beside it in the '
        f"repository stands `{path.stem}.py`, the same cells as a program.\n"
    )
    title, _, rest = parts[0].partition("\n")
    return Page("\n\n".join([title, note, rest, *parts[1:]]) + "\n", pictures)


def _output(output: dict[str, Any], name: str, pictures: dict[str, bytes]) -> str:
    """What a cell shows: a picture, HTML, or text."""
    if output["output_type"] == "stream":
        return _text("".join(output["text"]))
    data = output.get("data", {})
    for kind, ending in (("image/png", "png"), ("image/gif", "gif")):
        if kind in data:
            pictures[f"{name}.{ending}"] = base64.b64decode("".join(data[kind]))
            return f"![shown by the cell above]({name}.{ending})"
    if "image/svg+xml" in data:
        pictures[f"{name}.svg"] = "".join(data["image/svg+xml"]).encode()
        return f"![shown by the cell above]({name}.svg)"
    if "text/html" in data:
        shown = "".join(data["text/html"])
        kept = "\n".join(line for line in shown.splitlines() if line.strip())
        return f'<div class="shown">\n{kept}\n</div>'
    return _text("".join(data.get("text/plain", "")))


def _text(text: str) -> str:
    text = ANSI.sub("", text).rstrip()
    return f"```text\n{text}\n```" if text else ""
