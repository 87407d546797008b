"""Docstrings as Markdown, tables, and mathematics as MathML, which browsers show by themselves."""

import html
import re

from latex2mathml.converter import convert

DISPLAY = re.compile(r"^\.\. math::[ ]*(.*(?:\n(?:[ ]{2,}.*|(?=\n[ ]{4})))*)", re.MULTILINE)
INLINE = re.compile(r":math:`([^`]+)`")
ARITHMATEX = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)
UNKNOWN = {r"\arg\max": r"\operatorname{arg\,max}", r"\textstyle": "", r"\tfrac": r"\frac"}


def from_docstring(text: str) -> str:
    """A docstring as Markdown: its formulas between dollars, its indented blocks as code."""
    text = DISPLAY.sub(lambda found: f"$$\n{' '.join(found[1].split())}\n$$", text)
    text = INLINE.sub(lambda found: f"${' '.join(found[1].split())}$", text)
    parts = re.split(r"(\$\$\n.*?\n\$\$|\$[^$\n]+\$|`[^`]*`)", text, flags=re.DOTALL)
    # between formulas, names of arrays with an underscore or an asterisk are no emphasis, and < is no tag
    plain = [part if i % 2 else _plain(part) for i, part in enumerate(parts)]
    return "".join(plain)


def _plain(text: str) -> str:
    text = re.sub(r"(?m)^( {4,})(?=\S)", "    ", text)
    lines = [
        line if line.startswith("    ") else re.sub(r"([*_<\[\]])", r"\\\1", line)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return re.sub(r"([*_<\[\]|])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A text as code in a cell of a table."""
    text = " ".join(text.split())
    if "|" in text:  # would end the cell, and within backticks it cannot be escaped
        return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""


def table(headings: list[str], rows: list[list[str]], right: int = 0) -> str:
    """A table without columns in which nothing stands; the last `right` columns are numbers."""
    kept = [i for i in range(len(headings)) if not rows or any(row[i].strip() for row in rows)]
    right = sum(i >= len(headings) - right for i in kept)
    headings, rows = [headings[i] for i in kept], [[row[i] for i in kept] for row in rows]
    rule = ["---"] * (len(headings) - right) + ["---:"] * right
    lines = [headings, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def mathml(page: str) -> tuple[str, list[str]]:
    """The HTML with its formulas as MathML, and the formulas that could not be written so."""
    failed: list[str] = []

    def formula(found: re.Match[str]) -> str:
        latex = html.unescape(found[2]).strip()
        display = latex.startswith("\\[")
        latex = latex.removeprefix("\\[").removeprefix("\\(").removesuffix("\\]").removesuffix("\\)").strip()
        latex = re.sub(
            r"\\[bB]ig[lr]?\\\|", r"\\|", latex
        )  # latex2mathml has large brackets, but no large norms
        for unknown, known in UNKNOWN.items():
            latex = latex.replace(unknown, known)
        written: str = convert(latex, display="block" if display else "inline")
        if "\\" in written:
            failed.append(latex)
        return f'<div class="formula">{written}</div>' if display else written

    return ARITHMATEX.sub(formula, page), failed
