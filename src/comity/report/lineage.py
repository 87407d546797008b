"""A population's lineage as a picture: generations from left to right, lines from parents to children."""

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from comity.core import palette
from comity.report.svg import STYLE


def draw_lineage(lineage: Mapping[str, Any]) -> Figure:
    """The figure of a lineage as data (`population.json`); the line of the fittest last member stands out.

    Height is fitness, so that one sees what copies came to; members without fitness yet are left out.
    """
    generations = [
        [own for own in generation if own["fitness"] is not None] for generation in lineage["generations"]
    ]
    generations = [generation for generation in generations if generation]
    places = {
        own["name"]: (number, own["fitness"])
        for number, generation in enumerate(generations)
        for own in generation
    }
    parents = {own["name"]: own["parent"] for generation in generations for own in generation}
    line = set()
    name = max(generations[-1], key=lambda own: own["fitness"])["name"] if generations else None
    while name is not None:
        line.add(name)
        name = parents.get(name)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.6), layout="constrained")
        axes = figure.subplots()
        for name, parent in parents.items():
            if parent in places:
                best = name in line
                xs, ys = np.transpose([places[parent], places[name]])
                colour = palette.VERMILION if best else palette.GUIDE
                axes.plot(xs, ys, color=colour, linewidth=2.0 if best else 0.8, zorder=2 if best else 1)
        for name, (x, y) in places.items():
            axes.scatter([x], [y], s=18, color=palette.VERMILION if name in line else palette.BLUE, zorder=3)
        axes.set_xlabel("generation")
        axes.set_ylabel(lineage["measure"])
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
