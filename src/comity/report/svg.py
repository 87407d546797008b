"""Matplotlib figures as SVG text that follows the page into the dark."""

import hashlib
import io
import re
from typing import Any

import matplotlib

from comity.core import palette

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": palette.INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": palette.EDGE,
    "axes.labelcolor": palette.LABEL,
    "xtick.color": palette.SOFT,
    "ytick.color": palette.SOFT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "grid.color": palette.LINE,
    "svg.fonttype": "none",
    "svg.hashsalt": "comity",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
# A ring drawn on the paper is as dark as the page; white numbers in dark cells stay white.
OPEN = f"fill: {palette.PAPER}; stroke: {palette.INK}"
_THEMED = {light: name for name, (light, _) in palette.THEME.items() if name != "paper"}
_COLOUR = re.compile("|".join(_THEMED))
_DARK = "".join(f"--{name}:{dark};" for name, (_, dark) in palette.THEME.items())
_ALONE = (
    f"<style>:root{{background:{palette.PAPER}}}@media (prefers-color-scheme: dark){{"
    f":root{{background:{palette.DARK_PAPER};{_DARK}}}}}</style>"
)


def to_svg(figure: Any) -> str:
    """The figure as SVG: the same figure gives the same text.

    Colours of the theme are variables of the page with the light colour as what they are elsewhere, and names
    within the picture are its own, so that several can stand on one page.
    """
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    own = hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", svg)
    svg = svg.replace(OPEN, OPEN.replace(palette.PAPER, f"var(--paper, {palette.PAPER})"))
    return _COLOUR.sub(lambda found: f"var(--{_THEMED[found[0]]}, {found[0]})", svg)


def as_file(svg: str) -> bytes:
    """The picture as a file of its own, with paper behind it: light or dark as its reader has it."""
    head, end, rest = svg.partition(">")
    return f"{head}{end}\n{_ALONE}{rest}".encode()
