"""One self-contained HTML page: no network, pictures inside, and one script, by which tables are sorted."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from comity.report.sorting import SORT
from comity.report.style import CSS

MOST_TABS = 4  # as many as the style knows
_NUMBER = re.compile(r"^[-+±]?\.?\d[\d.,]*(e[-+]?\d+)?%?( (±|\[|to ).*)?$")  # and an interval behind it


def page(title: str, verdict: str, sections: Iterable[str], lead: str = "") -> str:
    """The whole page. It begins with a verdict: what the numbers say, in a sentence or two."""
    body = "\n".join(sections)
    small = f'<p class="lead">{escape(lead)}</p>\n' if lead else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{CSS}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="verdict">{escape(verdict)}</p>
{small}{_contents(body)}{body}
<footer>Made with Comity.</footer>
<script>{SORT}</script>
</body>
</html>
"""


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return (
        f'<section id="{name}">\n<h2>{escape(title)}</h2>\n'
        + "\n".join(part for part in parts if part)
        + "\n</section>"
    )


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    """Small print."""
    return f'<p class="note">{escape(text)}</p>'


def subheading(text: str) -> str:
    """A heading within a section."""
    return f"<h3>{escape(text)}</h3>"


def figure(svg: str, caption: str = "", alt: str = "") -> str:
    """A picture with a caption; `alt` says in words what it shows, by default what the caption says."""
    words = alt or caption
    if words and svg.startswith("<svg"):
        svg = f'<svg role="img" aria-label="{escape(words)}"{svg.removeprefix("<svg")}'
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{text}</figure>"


def image(content: bytes, kind: str, caption: str, alt: str = "") -> str:
    """A picture of pixels with a caption, held in the page; `kind` is png or gif."""
    data = base64.b64encode(content).decode()
    return figure(f'<img alt="{escape(alt or caption)}" src="data:image/{kind};base64,{data}">', caption)


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], explain: Mapping[str, str] | None = None
) -> str:
    """A table; columns of numbers stand to the right. `explain` says below what columns mean."""
    rows = [list(row) for row in rows]
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(headings))]
    head = "".join(_cell("th", name, right) for name, right in zip(headings, numeric, strict=True))
    lines = [
        "<tr>"
        + "".join(_cell("td", value, right) for value, right in zip(row, numeric, strict=True))
        + "</tr>"
        for row in rows
    ]
    inner = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<div class="scroll">{inner}</div>{_explained(explain or {})}'


def cards(items: Mapping[str, str]) -> str:
    """A few large figures, each with what it means."""
    inner = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(meaning)}</span></div>'
        for meaning, value in items.items()
    )
    return f'<div class="cards">{inner}</div>'


def code(text: str) -> str:
    """Text as it would be typed."""
    return f"<pre><code>{escape(text)}</code></pre>"


def side_by_side(*parts: str) -> str:
    """Parts beside each other where the page is wide, below each other where it is not."""
    return '<div class="side-by-side">' + "".join(f"<div>{part}</div>" for part in parts) + "</div>"


def details(summary: str, *parts: str) -> str:
    """Parts that are shown when the reader asks for them."""
    return f"<details><summary>{escape(summary)}</summary>" + "\n".join(parts) + "</details>"


def tabs(name: str, panels: Mapping[str, str]) -> str:
    """Parts of which one is shown at a time, chosen by its label, without a script.

    `name` is different for all tabs of a page.
    """
    assert len(panels) <= MOST_TABS
    if len(panels) == 1:
        return next(iter(panels.values()))
    labels = "".join(
        f'<input type="radio" name="{escape(name)}" id="{escape(name)}-{i}"{" checked" * (i == 0)}>'
        f'<label for="{escape(name)}-{i}">{escape(label)}</label>'
        for i, label in enumerate(panels)
    )
    inner = "".join(f'<div class="panel">{panel}</div>' for panel in panels.values())
    return f'<div class="tabs">{labels}{inner}</div>'


def _contents(body: str) -> str:
    """Links to the sections of a page that has several."""
    found = re.findall(r'<section id="([^"]+)">\n<h2>(.*?)</h2>', body)
    if len(found) < 4:
        return ""
    return "<nav>" + "".join(f'<a href="#{name}">{title}</a>' for name, title in found) + "</nav>\n"


def _explained(meanings: Mapping[str, str]) -> str:
    if not meanings:
        return ""
    inner = "".join(f"<dt>{escape(name)}</dt><dd>: {escape(text)}</dd>" for name, text in meanings.items())
    return f'<dl class="columns">{inner}</dl>'


def _is_number(value: Any) -> bool:
    if isinstance(value, int | float):
        return True
    return value in ("-", "") or bool(_NUMBER.match(str(value)))


def _cell(tag: str, value: Any, right: bool) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    kind = ' class="number"' if right else ""
    scope = ' scope="col"' if tag == "th" else ""
    return f"<{tag}{scope}{kind}>{escape(text)}</{tag}>"
