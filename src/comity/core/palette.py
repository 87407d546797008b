"""The colours of all pictures and pages, as plain data.

The series are seven of the colours of Okabe and Ito, "Color universal design", 2008, with a brown in place of
their yellow, which cannot be seen on white. Any two differ by at least 16 in CIELAB for people with normal
sight, protanopia, deuteranopia and tritanopia; `tests/core/test_palette.py` measures it.
"""

BLUE = "#0072b2"
VERMILION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
ORANGE = "#e69f00"
SKY = "#56b4e9"
INK = "#1c1f23"  # also the darkest text
BROWN = "#7a4b1e"

SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, INK, BROWN)  # in the order in which names take them

PAPER = "#ffffff"
LABEL = "#3c4148"  # text beside a picture, from dark to light
SOFT = "#5a6068"
FAINT = "#7a8088"
EDGE = "#8a8f98"  # lines, from dark to light
GUIDE = "#9aa0a8"
RULE = "#d5d9de"
LINE = "#e3e6ea"
WASH = "#f6f7f9"

ON_CELL = "#101214"  # text on a light cell of a picture, which stays light on a dark page

# Of pages and the pictures in them: each colour by name, and what it is on a dark page. The other series are
# seen on both; `tests/core/test_palette.py` measures these too.
DARK_PAPER = "#15181c"
THEME = {
    "paper": (PAPER, DARK_PAPER),
    "ink": (INK, "#e8eaed"),
    "label": (LABEL, "#c9ced5"),
    "soft": (SOFT, "#aab1ba"),
    "faint": (FAINT, "#8b929b"),
    "edge": (EDGE, "#737a84"),
    "guide": (GUIDE, "#6a717a"),
    "rule": (RULE, "#3c434c"),
    "line": (LINE, "#2c3239"),
    "wash": (WASH, "#1f2329"),
    "brown": (BROWN, "#a05032"),
}

SCALE = ("#f46d43", "#ffffbf", "#74add1")  # of cells: least, middle, most, light enough for ON_CELL

DIVERGING = "RdYlBu"  # Matplotlib's names of scales: around a middle, and from nothing to much
SEQUENTIAL = "Greys"


def series(count: int) -> list[str]:
    """A colour for each of `count` names; after the eighth they begin again."""
    return [SERIES[i % len(SERIES)] for i in range(count)]


def shade(value: float, low: float, high: float) -> str:
    """The colour of a cell between the least and the largest value."""
    place = 1.0 if high <= low else 2.0 * (value - low) / (high - low)
    first, last = SCALE[:2] if place < 1.0 else SCALE[1:]
    share = place if place < 1.0 else place - 1.0
    mixed = [
        round(int(first[i : i + 2], 16) * (1 - share) + int(last[i : i + 2], 16) * share) for i in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in mixed)
