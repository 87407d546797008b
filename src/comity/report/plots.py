"""Figures as SVG text, drawn with Matplotlib."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

from comity.core import palette

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": palette.EDGE,
    "axes.labelcolor": palette.LABEL,
    "xtick.color": palette.SOFT,
    "ytick.color": palette.SOFT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": palette.LINE,
    "svg.fonttype": "none",
    "svg.hashsalt": "comity",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


class Curve:
    """A line with a band: x, mean, low and high."""

    def __init__(self, x: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self.x, self.mean, self.low, self.high = x, mean, low, high


def learning_curves(
    curves: Mapping[str, Curve | None], ylabel: str, lines: Mapping[str, float] | None = None
) -> str:
    """Curves with confidence bands, and labelled horizontal lines for orientation.

    A name without a curve keeps its colour, so that a name has the same colour in all figures.
    """
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
        for colour, (name, curve) in zip(palette.series(len(curves)), curves.items(), strict=True):
            if curve is None:
                continue
            axes.plot(curve.x, curve.mean, color=colour, label=name, linewidth=1.8)
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        for name, y in (lines or {}).items():
            axes.axhline(y, color=palette.GUIDE, linewidth=0.9, linestyle=(0, (4, 3)))
            axes.annotate(
                name, (1.0, y), xycoords=("axes fraction", "data"), xytext=(-2, 2), fontsize=8,
                textcoords="offset points", ha="right", color=palette.FAINT,
            )  # fmt: skip
        axes.set_xlabel("iteration")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel(ylabel)
        if len(curves) > 1:
            axes.legend(frameon=False, fontsize=9)
        return _svg(figure)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    xlabel: str,
    ylabel: str,
    marker: str = "",
    logarithmic: bool = False,
) -> str:
    """Points joined by lines, one colour for each name; a name without points keeps its colour."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
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
        axes.legend(frameon=False, fontsize=9)
        return _svg(figure)


def heat_map(
    names: Sequence[str], mean: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None
) -> str:
    """A league's matrix: the row player's reward per step against the column player."""
    size = 1.6 + 0.62 * len(names)
    spread = float(np.max(np.abs(mean - np.median(mean)))) or 1.0
    centre = float(np.median(mean))
    with plt.rc_context({**_STYLE, "axes.grid": False}):
        figure, axes = plt.subplots(figsize=(size + 1.2, size), layout="constrained")
        image = axes.imshow(
            mean, cmap=palette.DIVERGING, vmin=centre - spread, vmax=centre + spread, aspect="auto"
        )
        shade = image.to_rgba(mean)[..., :3] @ np.asarray([0.299, 0.587, 0.114])
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
        axes.set_yticks(range(len(names)), names)
        axes.spines[:].set_visible(False)
        for i in range(len(names)):
            for j in range(len(names)):
                colour = palette.INK if shade[i, j] > 0.45 else palette.PAPER
                axes.text(
                    j, i - 0.06, f"{mean[i, j]:.2f}", ha="center", va="center", fontsize=9, color=colour
                )
                if low is not None and high is not None:
                    half = (high[i, j] - low[i, j]) / 2
                    axes.text(
                        j, i + 0.26, f"±{half:.2f}", ha="center", va="center", fontsize=6.5, color=colour
                    )
        axes.set_xlabel("against")
        axes.set_ylabel("what the row player earns per step")
        axes.tick_params(length=0)
        return _svg(figure)


def state_bars(states: Sequence[str], series: Mapping[str, np.ndarray], ylabel: str) -> str:
    """Grouped bars, one group per state; a state that was never met has no bar."""
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
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
            axes.legend(frameon=False, fontsize=8, ncols=min(len(series), 4), loc="lower center",
                        bbox_to_anchor=(0.5, 1.0))  # fmt: skip
        return _svg(figure)


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
