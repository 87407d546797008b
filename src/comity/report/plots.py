"""Figures as SVG text, drawn with Matplotlib."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import EngFormatter, MaxNLocator

from comity.core import palette
from comity.evaluate.curves import Curve as Curve
from comity.evaluate.statistics import Interval
from comity.report.svg import STYLE, to_svg

LINE_LENGTH = 62  # letters of a legend's line
LEAST_SCALE = 0.75  # of a figure of numbers
SIZE = (5.4, 3.1)  # inches: its text can be read on a narrow page, where it fills the width


def learning_curves(
    curves: Mapping[str, Curve | None],
    ylabel: str,
    lines: Mapping[str, float] | None = None,
    xlabel: str = "iteration",
) -> str:
    """Curves with confidence bands, and labelled horizontal lines for orientation.

    A name without a curve keeps its colour, so that a name has the same colour in all figures.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        for colour, (name, curve) in zip(palette.series(len(curves)), curves.items(), strict=True):
            if curve is None:
                continue
            dot = "o" if len(curve.x) == 1 else ""
            axes.plot(curve.x, curve.mean, color=colour, label=name, linewidth=1.8, marker=dot)
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        for name, y in (lines or {}).items():
            axes.axhline(y, color=palette.GUIDE, linewidth=0.9, linestyle=(0, (4, 3)))
            axes.annotate(
                name, (1.0, y), xycoords=("axes fraction", "data"), xytext=(-2, 2), fontsize=8,
                textcoords="offset points", ha="right", color=palette.FAINT,
            )  # fmt: skip
        axes.set_xlabel(xlabel)
        if xlabel == "iteration":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_ylabel(ylabel)
        if len(curves) > 1:
            _legend(axes, len(curves))
        return _svg(figure)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    xlabel: str,
    ylabel: str,
    marker: str = "",
    logarithmic: bool = False,
) -> str:
    """Points joined by lines, one colour for each name; a name without points keeps its colour."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        for colour, (name, line) in zip(palette.series(len(series)), series.items(), strict=True):
            if line:
                x, y = zip(*line, strict=True)
                axes.plot(x, y, color=colour, label=name, marker=marker, linewidth=1.6)
        axes.set_xlabel(xlabel)
        if logarithmic:
            axes.set_xscale("log")
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(ylabel)
        axes.set_ylim(bottom=0)
        _legend(axes, len(series))
        return _svg(figure)


def profiles(thresholds: np.ndarray, shares: Mapping[str, np.ndarray], xlabel: str) -> str:
    """Performance profiles: the share of runs above each threshold, as steps."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        for colour, (name, share) in zip(palette.series(len(shares)), shares.items(), strict=True):
            axes.step(thresholds, share, color=colour, label=name, linewidth=1.8, where="post")
        axes.set_xlabel(xlabel)
        axes.set_ylabel("share of runs above it")
        axes.set_ylim(-0.03, 1.06)
        _legend(axes, len(shares))
        return _svg(figure)


def intervals(
    series: Mapping[str, Mapping[str | float, Interval]], xlabel: str, ylabel: str, best: str | float | None
) -> str:
    """Means with intervals against a setting: at their place if it is a number, else one by one.

    `best` is ringed in the first series.
    """
    values = list(dict.fromkeys(value for points in series.values() for value in points))
    numeric = all(isinstance(value, float) for value in values)
    numbers = np.asarray(values, np.float64) if numeric else np.arange(len(values))
    spread = bool(numeric and (numbers > 0).all() and numbers.max() / max(numbers.min(), 1e-300) > 20)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        for k, (colour, (name, points)) in enumerate(
            zip(palette.series(len(series)), series.items(), strict=True)
        ):
            order = sorted(points, key=lambda value: numbers[values.index(value)])
            x = np.asarray([numbers[values.index(value)] for value in order])
            if not numeric:
                x = x + (k - (len(series) - 1) / 2) * 0.12
            mean, low, high = np.asarray([points[value] for value in order]).T
            axes.errorbar(
                x, mean, yerr=(np.maximum(mean - low, 0), np.maximum(high - mean, 0)), color=colour,
                label=name, marker="o", markersize=5, linewidth=1.6 if numeric else 0, elinewidth=1.4,
                capsize=3,
            )  # fmt: skip
            if k == 0 and best in order:
                at = order.index(best)
                axes.plot(x[at], mean[at], "o", markersize=13, markerfacecolor="none", color=palette.INK)
        if not numeric:
            axes.set_xticks(range(len(values)), [str(value) for value in values])
            axes.set_xlim(-0.6, len(values) - 0.4)
        elif spread:
            axes.set_xscale("log")
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        if len(series) > 1:
            _legend(axes, len(series))
        return _svg(figure)


def heat_map(
    names: Sequence[str], mean: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None
) -> str:
    """A league's matrix: the row player's reward per step against the column player."""
    rows = "what the row player earns per step"
    return matrix(names, names, mean, "against", rows, low=low, high=high)


def matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    mean: np.ndarray,
    xlabel: str,
    ylabel: str,
    *,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    limits: tuple[float, float] | None = None,
) -> str:
    """Numbers in coloured cells, with half their intervals; a cell that is not a number stays empty."""
    known = mean[np.isfinite(mean)]
    centre = float(np.median(known)) if known.size else 0.0
    spread = float(np.max(np.abs(known - centre))) if known.size else 1.0
    bounds = (centre - (spread or 1.0), centre + (spread or 1.0)) if limits is None else limits
    with plt.rc_context({**STYLE, "axes.grid": False}):
        size = (2.8 + 0.62 * len(columns), 1.6 + 0.62 * len(rows))
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        image = axes.imshow(
            np.ma.masked_invalid(mean), cmap=palette.DIVERGING, vmin=bounds[0], vmax=bounds[1], aspect="auto"
        )
        shade = image.to_rgba(np.nan_to_num(mean, nan=centre))[..., :3] @ np.asarray([0.299, 0.587, 0.114])
        axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
        axes.set_yticks(range(len(rows)), rows)
        axes.spines[:].set_visible(False)
        for i, j in np.argwhere(np.isfinite(mean)):
            colour = palette.ON_CELL if shade[i, j] > 0.45 else palette.PAPER
            axes.text(j, i - 0.06, f"{mean[i, j]:.2f}", ha="center", va="center", fontsize=9, color=colour)
            if low is not None and high is not None:
                half = (high[i, j] - low[i, j]) / 2
                axes.text(j, i + 0.26, f"±{half:.2f}", ha="center", va="center", fontsize=7.5, color=colour)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        axes.tick_params(length=0)
        return _svg(figure, as_drawn=True)


def state_bars(states: Sequence[str], series: Mapping[str, np.ndarray], ylabel: str) -> str:
    """Grouped bars, one group per state; a state that was never met has no bar."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        width = 0.8 / max(len(series), 1)
        for k, (colour, (name, values)) in enumerate(
            zip(palette.series(len(series)), series.items(), strict=True)
        ):
            x = np.arange(len(states)) + (k - (len(series) - 1) / 2) * width
            axes.bar(x, np.nan_to_num(values), width * 0.92, color=colour, label=name)
            for place, value in zip(x, values, strict=True):
                text = "-" if np.isnan(value) else (f"{value:.2f}" if len(series) <= 2 else "")
                axes.text(
                    place, np.nan_to_num(value) + 0.02, text, ha="center", fontsize=7.5, color=palette.SOFT
                )
        axes.set_xticks(range(len(states)), list(states))
        axes.set_ylim(0, 1.12)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(ylabel)
        if len(series) > 1:
            _legend(axes, len(series))
        return _svg(figure)


def _legend(axes: Any, count: int) -> None:
    """Above the picture, where it hides nothing; long and many names make the picture higher."""
    _, names = axes.get_legend_handles_labels()
    longest = max((len(name) for name in names), default=1)
    columns = max(1, min(count, 3, int(LINE_LENGTH / (longest + 5))))
    further = -(-len(names) // columns) - 1
    figure = axes.get_figure()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + 0.18 * max(further, 0))
    axes.legend(
        frameon=False, fontsize=8.5, ncols=columns, loc="lower left", bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2, handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip


def _svg(figure: Any, as_drawn: bool = False) -> str:
    """The figure as SVG; as it is drawn, not as wide as its place, if `as_drawn`.

    On a narrow page such a figure shrinks to three quarters and is then scrolled: smaller numbers in cells
    could not be read.
    """
    svg = to_svg(figure)
    least = LEAST_SCALE * 96 * figure.get_size_inches()[0]  # pixels
    plt.close(figure)
    return (
        svg.replace("<svg", f'<svg class="as-drawn" style="min-width: {least:.0f}px"', 1) if as_drawn else svg
    )
