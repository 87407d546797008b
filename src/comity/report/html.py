"""One self-contained HTML page: no network, no scripts, pictures inside."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from comity.core import palette

_COLOURS = (
    f":root {{ color-scheme: light; --paper: {palette.PAPER}; --ink: {palette.INK}; --soft: {palette.SOFT}; "
    f"--line: {palette.LINE}; --wash: {palette.WASH}; }}"
)
_CSS = """
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink);
       background: var(--paper); margin: 0 auto; padding: 2.2rem 1.2rem 4rem; max-width: 62rem; }
h1 { font-size: 1.9rem; letter-spacing: -.01em; margin: 0 0 .2rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; max-width: 46rem; } .lead { color: var(--soft); font-size: 1.05rem; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .88rem; max-width: 46rem; }
table { border-collapse: collapse; font-size: .92rem; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .34rem .8rem .34rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: var(--wash); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; font-size: .86rem; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; }
.cards { display: grid; gap: .8rem; margin: 1.2rem 0;
         grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); }
.card { background: var(--wash); border-radius: 8px; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .88rem; }
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; }
"""


def page(title: str, lead: str, sections: Iterable[str]) -> str:
    """The whole page."""
    body = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_COLOURS}{_CSS}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
{body}
<footer>Made with Comity.</footer>
</body>
</html>
"""


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    return f"<section>\n<h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{escape(text)}</p>"


def figure(svg: str, caption: str = "") -> str:
    """A picture with a caption."""
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{text}</figure>"


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers stand to the right."""
    rows = [list(row) for row in rows]
    numeric = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(headings))]
    head = "".join(_cell("th", name, right) for name, right in zip(headings, numeric, strict=True))
    lines = [
        "<tr>"
        + "".join(_cell("td", value, right) for value, right in zip(row, numeric, strict=True))
        + "</tr>"
        for row in rows
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


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


def _cell(tag: str, value: Any, right: bool) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    kind = ' class="number"' if right else ""
    return f"<{tag}{kind}>{escape(text)}</{tag}>"
